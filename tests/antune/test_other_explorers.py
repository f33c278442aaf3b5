"""Explorers of other people in every command: wherever antune's own run, and each mistake in them is one sentence."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import antune
from antune.kernel_tuner import tune_kernel
from experiments.store import read_store
from explorer.colony import Colony, ColonyOptions, Starts
from explorer.random_walk import RandomWalk
from explorer.registry import make_explorer
from generator.errors import InputError
from graph.space import Space
from tests.support.cli import Antune, antune_command
from tests.support.programs import SUMS_OF_ROWS
from tests.support.recordings import VALUES, cache, write
from tests.support.spaces import FlatSpace

PACKAGE = """
from dataclasses import replace
from explorer.random_walk import RandomWalk

class Good(RandomWalk):
    def __init__(self, space, seed, starts):
        super().__init__(space, seed)

class colony(Good): pass

class TooMany(Good):
    def ask(self, count):
        return super().ask(3 * count)

class Nothing(Good):
    def ask(self, count):
        return None

class Iterator(Good):
    def ask(self, count):
        return iter(super().ask(count))

class Texts(Good):
    def ask(self, count):
        return ["a walk"]

class One(Good):
    def ask(self, count):
        return super().ask(1)[0]

class Strange(Good):
    def ask(self, count):
        first, second = super().ask(2)
        return [replace(first, choices=second.choices)]

class Again(Good):
    def ask(self, count):
        self.walk = getattr(self, "walk", None) or super().ask(1)[0]
        return [self.walk] * count

class Raises(Good):
    def tell(self, walk, outcome):
        raise KeyError("cost")  # here

class Stops(Good):
    def ask(self, count):
        return [1 / 0]
"""
NAMES = ("Good", "colony", "TooMany", "Nothing", "Iterator", "Texts", "One", "Strange", "Again", "Raises", "Stops")
LINE = 1 + PACKAGE.splitlines().index("        raise KeyError(\"cost\")  # here")
BREACHES = [("TooMany", "returned 12 walks;"), ("Nothing", "returned None;"),
            ("Iterator", r"returned <list_iterator object at \w+> \(list_iterator\);"),
            ("Texts", r"returned 'a walk' \(str\) as a walk;"), ("One", r"returned Walk\(.* \(graph\.walk\.Walk\);"),
            ("Strange", "returned a walk whose choices do not lead to its plan;")]
QUICK = ("--evaluations", 4, "--ants", 4, "--device", "deterministic")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a C file and a recording, and an installed package with explorers."""
    site = tmp_path / "site"
    info = site / "strangers-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "strangers.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    lines = "".join(f"{name} = strangers:{name}\n" for name in NAMES)
    (info / "entry_points.txt").write_text(f"[antune.explorers]\n{lines}")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blur.c").write_text(f"#define N 64\n{SUMS_OF_ROWS}")
    write(tmp_path / "toy.json.gz", cache())
    yield tmp_path
    sys.modules.pop("strangers", None)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Antune:
    return antune_command(monkeypatch)


def of_cache(strategy: str, **changes: Any) -> list[Any]:
    """Search on the cache alone, as scripts for Kernel Tuner do."""
    write(Path("toy.json"), cache())
    text = "__kernel void toy(__global float *c) { c[get_global_id(0)] = block + tile + sizeof(#mode); }"
    given = {"restrictions": ["block > 8 or tile < 4"], "cache": "toy", "simulation_mode": True, "quiet": True,
             "strategy_options": {"max_fevals": 4, "popsize": 4}, "tune_params": VALUES, **changes}
    return tune_kernel("toy", text, (64, 64), [np.zeros(64, np.float32)], strategy=strategy, **given)[0]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_they_search_recordings(workers: int, command: Antune, folder: Path) -> None:
    assert command("suite", "recorded", "toy.json.gz", "--explorers", "Good,random", "--seeds", 2, "--workers", workers,
                   "--budgets", 4, "--json", "out.json") == 0
    good, own = json.loads((folder / "out.json").read_text())["rows"]
    assert good["explorer"] == "Good" and (good["mean"], good["sd"]) == (own["mean"], own["sd"])


def test_they_are_strategies_of_kernel_tuner_scripts() -> None:
    assert [entry["time"] for entry in of_cache("Good")] == [entry["time"] for entry in of_cache("random")]


def test_their_mistakes_end_other_searches_in_one_sentence(command: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    for search in (lambda: of_cache("Raises"), lambda: antune.tune("blur.c", explorer="Raises", ants=4, evaluations=4,
                                                                   device="deterministic", reporter="silent")):
        with pytest.raises(InputError, match=r"\(strangers:Raises\): its `tell` raised KeyError: 'cost'; mend it: "):
            search()
    assert command("suite", "recorded", "toy.json.gz", "--explorers", "TooMany", "--seeds", 1, "--workers", 1) == 2
    assert "antune: the explorer 'TooMany' (strangers:TooMany): its `ask(10)` returned" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "what"), BREACHES)
def test_what_ask_returns_is_checked(name: str, what: str) -> None:
    whose = rf"^the explorer '{name}' \(strangers:{name}\)"
    expected = "let it return a list or a tuple of at most 4 walks"
    with pytest.raises(InputError, match=rf"{whose}: its `ask\(4\)` {what} {expected} of its space"):
        make_explorer(name, FlatSpace((3, 4)), 0).ask(4)


def test_a_mended_explorer_goes_on(command: Antune, capsys: pytest.CaptureFixture[str], folder: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("tune", "blur.c", "--explorer", "Raises", *QUICK, "--out", "run") == 2
    told = capsys.readouterr().err
    assert f"raised KeyError: 'cost'; mend it: {folder / 'site' / 'strangers.py'}:{LINE}; then `antune resume " in told
    assert "Traceback" not in told and (folder / "run" / "summary.json").is_file()
    assert command("report", "run") == 0
    capsys.readouterr()
    monkeypatch.delattr(sys.modules["strangers"].Raises, "tell")
    assert command("resume", "run", "--evaluations", 8) == 0
    with read_store(Path("run")) as store:
        assert len(store.results()) == 9
    assert command("tune", "blur.c", "--explorer", "Stops", *QUICK) == 2
    assert "its `ask` raised ZeroDivisionError: division by zero; mend it: " in capsys.readouterr().err


def test_repeated_plans_are_counted_in_a_note(command: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    note = "the explorer Again asked for plans again: 3 of 4 evaluations repeat an earlier one and have its result"
    assert command("tune", "blur.c", "--explorer", "Again", *QUICK) == 0
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count(note) == 1
    assert command("suite", "recorded", "toy.json.gz", "--explorers", "Again,random", "--seeds", 1, "--workers", 1,
                   "--budgets", 4) == 0
    assert f"note: {note}" in capsys.readouterr().err
    of_cache("Again", quiet=False)
    assert f"note: {note}" in capsys.readouterr().out
    of_cache("Again")
    assert capsys.readouterr().out == ""


def test_the_names_of_antunes_own_stay_theirs(command: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    words = "'colony' is antune's own explorer; that of the package strangers (strangers:colony) has the same name"
    assert command("tune", "blur.c", "--explorer", "colony", *QUICK) == 0
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count(f"warning: {words}") == 1
    assert command("tune", "blur.c", "--explorer", "random", *QUICK) == 0
    captured = capsys.readouterr()
    assert words not in captured.out + captured.err
    of_cache("colony", quiet=False)
    assert f"note: {words}" in capsys.readouterr().out


def test_parameters_without_effect_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    note = "note: neither the kernel nor its launch uses the parameter `{}`: its values make no difference"
    text = "__kernel void toy(__global float *c) { c[get_global_id(0)] = tile; }"
    usual = {"cache": "toy", "simulation_mode": True, "tune_params": VALUES, "strategy_options": {"max_fevals": 2},
             "strategy": "random", "restrictions": ["block > 8 or tile < 4"]}
    for changes, unused in ((usual, ["block", "mode"]), ({**usual, "grid_div_x": ["block"]}, ["mode"]),
                            ({**usual, "grid_div_x": lambda p: p["block"]}, [])):
        write(Path("toy.json"), cache())
        tune_kernel("toy", text, (64, 64), [np.zeros(64, np.float32)], **changes)  # type: ignore[arg-type]  # mixed
        assert re.findall("note: .*", capsys.readouterr().out) == [note.format(name) for name in unused]


def no_tree(space: Space, seed: int, starts: Starts) -> Colony:
    """A variant of the colony, as docs/python.md has one."""
    return Colony(space, seed, ColonyOptions(tree=False), starts)


def other_names(one: Space, two: int, three: Starts) -> Colony:
    """No maker by the names of its parameters: a run that somebody else made could name any function."""
    return Colony(one, two, ColonyOptions(), three)


def test_a_function_can_be_the_explorer() -> None:
    result = antune.tune("blur.c", explorer=no_tree, evaluations=3, device="deterministic", reporter="silent")
    assert result.summary.explorer == f"{__name__}:no_tree"
    assert antune.resume(result.directory, evaluations=5, reporter="silent").summary.evaluations == 5


@pytest.mark.parametrize("given", [lambda space, seed, starts: no_tree(space, seed, starts), other_names, 3,
                                   type("Local", (RandomWalk,), {"__module__": __name__})])
def test_what_no_run_can_store_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"function `def NAME\(space, seed, starts\)` that returns an explorer, both"):
        antune.tune("blur.c", explorer=given, evaluations=3, device="deterministic", reporter="silent")
    with pytest.raises(InputError, match="go on from a program that imports it"):
        make_explorer(f"{__name__}:other_names", FlatSpace((3, 3)), 0)
