"""Parameters of a beam search that users write."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from experiments.search.guides.guided import GuidedSpace
from experiments.search.guides.settings import BeamSettings, beam_settings, settings_text
from experiments.search.guides.stage_guide import StageGuide
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from explorer.beam import Beam
from explorer.beam_pass import BeamOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from tests.support.costs import kwhz_program
from tests.support.suite import TARGET

OPTIONS = RunOptions("a.py", Compilation(), Budget(evaluations=1), explorer="beam", space="pipeline")


def test_what_is_left_out_is_as_in_the_paper() -> None:
    assert beam_settings("") == beam_settings(" , ") == BeamSettings()
    every = "width=16, passes=3,turns=0,dropout=0.5 ,sampling=off,freezing=off,memory=off"
    assert beam_settings(every) == BeamSettings(BeamOptions(16, 3, False, False, 0, 0.5), memory=False)
    assert beam_settings("freezing=7,memory=on") == BeamSettings(many=7)
    assert beam_settings("freezing=off,freezing=0").options.freezing


def test_equal_settings_have_one_text() -> None:
    """By which the job of a folder is known."""
    assert settings_text(beam_settings("")) is settings_text(beam_settings("width=32,sampling=on")) is None
    text = settings_text(beam_settings("memory=off,width=16"))
    assert text == settings_text(beam_settings(" width=16 ,passes=5, memory=off"))
    assert text is not None and beam_settings(text) == beam_settings("width=16,memory=off")


@pytest.mark.parametrize("word", ["width", "width=0", "width=-1", "width=1e3", "passes=0", "turns=-1", "dropout=0",
                                  "dropout=1.5", "dropout=nan", "dropout=0_1", "sampling=7",
                                  "memory=7", "freezing=-1", "width=9999999", "speed=3"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(InputError, match=f"--beam: '{re.escape(word)}' is none of width=N, "):
        beam_settings(f"passes=2,{word}")


def test_a_run_searches_with_its_parameters() -> None:
    program = kwhz_program((64, 48))
    asked = replace(OPTIONS, beam="width=2,passes=2,sampling=off,freezing=1,memory=off")
    plain, given = (PARTS.make_space(program, TARGET, options) for options in (OPTIONS, asked))
    assert isinstance(plain, GuidedSpace) and isinstance(given, GuidedSpace)
    assert (plain.beam, given.beam) == (BeamOptions(), BeamOptions(2, 2, sampling=False))
    assert isinstance(plain.guide, StageGuide) and isinstance(given.guide, StageGuide)
    assert plain.guide.coarse() is None and given.guide.coarse() is not None, "four stages are frozen only if asked"
    [_] = Beam(given, 0).ask(1)
    assert given.guide.tables.made > 0
    before = given.guide.tables.made
    [_] = Beam(given, 0).ask(1)
    assert given.guide.tables.made == 2 * before, "without memory, kernels are judged again"
