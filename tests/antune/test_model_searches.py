"""`antune tune` with plans that cost models choose, as a user meets it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from experiments.search.reproducing import reproduce_command
from experiments.store import read_store
from experiments.suites.image_pipelines import pipeline
from tests.support.cli import Antune, antune_command
from tests.support.slow import few, in_turn

SCALE = """
void scale(int n, double A[n], double B[n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    B[i] = 2.0 * A[i];
#pragma endscop
}
"""


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.c").write_text(SCALE)
    return antune_command(monkeypatch)


def tune_words(*more: object) -> tuple[object, ...]:
    return ("tune", pipeline("unsharp").file, "--size", "128x96", "--device", "deterministic", *more)


def asked(run: str) -> list[str]:
    """The plans of a run, in order."""
    with (Path(run) / "results.csv").open() as file:
        return [row["plan"] for row in csv.DictReader(file)]


@in_turn
def test_a_model_as_the_explorer_says_why_and_a_resumed_run_goes_on_alike(
        run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--explorer", "polymage-dp", "--ants", 4)
    assert run_antune(*tune_words(*words, "--evaluations", 12, "--out", "whole")) == 0
    out = capsys.readouterr().out
    assert re.search(r"^polymage-dp: .*unsharp in one kernel: tiles of", out, re.MULTILINE) and "% recomputed" in out
    told = re.findall(r"^\[(\d+)\] plan (\d+) of polymage-dp costs [\d.]+ % more than plan 1: \S", out, re.MULTILINE)
    assert [plan for _, plan in told[:3]] == ["2", "3", "4"] and told[0][0] == "2", "each plan that is measured"
    assert run_antune(*tune_words(*words, "--evaluations", 4, "--out", "parts")) == 0
    assert run_antune("resume", "parts", "--evaluations", 12) == 0
    assert asked("parts") == asked("whole")


@in_turn
def test_a_colony_may_begin_with_the_plans_of_models(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(*tune_words("--models", "sioutas, polymage-dp", "--evaluations", 3, "--out", "taught")) == 0
    out = capsys.readouterr().out
    assert "sioutas: " in out and "polymage-dp: " in out
    with read_store(Path("taught")) as store:
        assert "--models sioutas,polymage-dp" in reproduce_command(store.info())
    assert run_antune(*tune_words("--evaluations", 3, "--out", "plain")) == 0
    assert asked("taught")[1:] != asked("plain")[1:]


CHAIN = """
from antune import halide as hl

def build():
    x, y = hl.Var("x"), hl.Var("y")
    stage = hl.ImageParam(hl.Float(32), 2, "image")
    for number in range(21):
        after = hl.Func(f"stage_{number}")
        after[x, y] = stage[x, y] + stage[x + 1, y]
        stage = after
    return stage
"""


@in_turn
def test_a_pipeline_with_many_stages_begins_with_a_beam_unless_told_otherwise(
        run_antune: Antune, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "chain.py").write_text(CHAIN)
    words = ("tune", "chain.py", "--size", "64x32", "--device", "pocl", "--evaluations", 2)
    assert run_antune(*words, "--out", "usual") == 0
    out = capsys.readouterr().out
    assert "planning 20 stages with a cost model, for the first plans (--models none: without)" in out
    assert re.search(r"^beam: \d+ kernels?, the cheapest of", out, re.MULTILINE)
    assert run_antune(*words, "--models", "beam", "--out", "named") == 0
    assert run_antune(*words, "--beam", "width=1,passes=1", "--out", "quick") == 0
    assert run_antune("resume", "quick", "--evaluations", 3) == 0
    assert run_antune(*words, "--models", "none", "--out", "none") == 0
    assert asked("usual") == asked("named") != asked("none")
    for run, models in (("usual", "beam"), ("named", "beam"), ("quick", "beam"), ("none", "none")):
        with read_store(Path(run)) as store:
            assert f"--models {models} " in reproduce_command(store.info())


@in_turn
@pytest.mark.parametrize(("option", "model"), few([
    ("--foretell", "only:sioutas"), ("--foresee", "sioutas"), ("--foretell", "sioutas")], 1))
def test_a_colony_may_begin_with_foretold_costs_and_goes_on_alike(option: str, model: str, run_antune: Antune) -> None:
    words = (option, model, "--ants", 5, "--seed", 3)
    assert run_antune(*tune_words(*words, "--evaluations", 20, "--out", "whole")) == 0
    assert run_antune(*tune_words(*words, "--evaluations", 10, "--out", "parts")) == 0
    assert run_antune("resume", "parts", "--evaluations", 20) == 0
    assert asked("parts") == asked("whole")
    with read_store(Path("whole")) as store:
        assert f"{option} {model}" in reproduce_command(store.info())


@in_turn
def test_a_model_without_plans_is_left_out_with_the_reason(
        run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("tune", "scale.c", "--param", "n=40", "--device", "deterministic", "--space", "pipeline")
    assert run_antune(*words, "--models", "sioutas", "--evaluations", 2, "--out", "run") == 0
    line = "sioutas: the search begins without its plans: scale has no stages that the model of `sioutas` can judge: it"
    assert line in capsys.readouterr().out
    assert run_antune("resume", "run", "--evaluations", 3) == 0


@in_turn
@pytest.mark.parametrize(("words", "message"), [
    (("--foresee", "oracle", "--space", "pipeline"), "--foresee: there is no model 'oracle'; use one of sioutas, "),
    (("--foretell", "static", "--space", "pipeline"), "--foretell: there is no model 'static'; use one of sioutas, "),
    (("--foretell", "only:", "--space", "pipeline"), "--foretell: there is no model ''; use one of sioutas, "),
    (("--foretell", "only:oracle", "--space", "pipeline"), "--foretell: there is no model 'oracle'; use one of "),
    (("--foretell", "polymage"), "use --space pipeline"),
    (("--models", "sioutas", "--space", "pipeline", "--explorer", "random"),
     "--models: the explorer `random` does not use it; leave it out, or use one of the explorers colony, genetic, "),
    (("--foretell", "sioutas", "--space", "pipeline", "--explorer", "random"),
     "--foretell: the explorer `random` does not use it; leave it out, or use one of the explorers colony, genetic, "),
    (("--foretell", "only:learned", "--space", "pipeline", "--explorer", "local"),
     "--foretell: the explorer `local` does not use it; leave it out, or use one of the explorers colony, genetic, "),
    (("--foresee", "only:learned", "--space", "pipeline"), "--foresee: there is no model 'only:learned'; use one of "),
    (("--foresee", "sioutas", "--space", "pipeline", "--explorer", "genetic"),
     "--foresee: the explorer `genetic` does not use it; leave it out, or use one of the explorers colony, portfolio"),
    (("--beam", "width=2", "--models", "none", "--space", "pipeline"),
     "no effect without a beam search: add --explorer beam or --models"),
    (("--beam", "width=2"), "no effect without a beam search, and --models usual (the default) has none in the space"),
    (("--beam", "width=2", "--space", "pipeline"), "has none on GPUs: add --explorer beam or --models beam"),
    (("--beam", "width=2", "--explorer", "beam"), "in the space `wide`, where `--explorer beam` learns from measured "),
    (("--beam", "width=2", "--explorer", "beam"), "use --space pipeline (for image pipelines), or leave --beam out"),
    (("--beam", "speed=2", "--models", "beam", "--space", "pipeline"), "--beam: 'speed=2' is none of width=N, "),
    (("--explorer", "sioutas"), "`sioutas` decides where the stages of a program are computed"),
    (("--explorer", "sioutas", "--space", "pipeline"), "can judge: it computes no array between others; use another"),
    (("--models", "oracle"), "--models: there is no plan maker 'oracle'; use one of sioutas, polymage-dp")])
def test_what_models_cannot_do_is_said_in_a_sentence(words: tuple[str, ...], message: str, run_antune: Antune,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    options = ("tune", "scale.c", "--param", "n=40", "--device", "deterministic", "--evaluations", 2)
    assert run_antune(*options, *words) == 2
    assert message in capsys.readouterr().err
    assert not list(Path("antune-runs").glob("*")), "there is no run"
