"""`antune suite polybench --levels`: one explorer at several levels side by side, and the paper's figures beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.store import read_store
from experiments.studies.side_by_side.paper import PAPER, PAPER_WORDS
from experiments.studies.side_by_side.polybench import PolyBench, at_levels, split_levels
from experiments.studies.side_by_side.table import means, published, tables
from experiments.studies.side_by_side.wanted import SuiteOptions
from experiments.values.options import LevelName
from generator.errors import InputError
from tests.support.cli import Antune, antune_command
from tests.support.runs import ToyRunner
from tests.support.side_by_side import suite
from tests.support.slow import in_turn

WANTED = SuiteOptions(("gemm",), PolyBench("MINI"), ("random", "colony@o1", "colony", "colony@o3"), evaluations=6)


@pytest.fixture
def antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return antune_command(monkeypatch, "suite", "polybench")


@in_turn
def test_levels_are_ways_that_are_added_to_what_is_there(
    tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "--programs",
        "mvt",
        "--size",
        "mini",
        "--budget",
        8,
        "--device",
        "deterministic",
        "--out",
        tmp_path / "suite",
    )
    assert antune(*words, "--explorer", "random,colony") == 0
    folder = tmp_path / "suite" / "deterministic" / "mvt-mini-float-o2"
    before = {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("*/run.sqlite")}
    assert (
        antune(*words, "--explorer", "random@o2,colony", "--levels", "o3,o2,o1", "--json", tmp_path / "found.json") == 0
    )
    assert "1.58x" in (shown := capsys.readouterr()).out and "colony o3 : colony o1" in shown.out
    searched = {}
    for path in folder.glob("*/run.sqlite"):
        with read_store(path.parent) as store:
            options, walks = store.info().options, list(store.walks().values())
        searched[path.parent.name] = options.level
        assert options.explorer == (
            "exhaustive" if path.parent.name == "tiles" else path.parent.name.partition("-")[0].partition("@")[0]
        )
        assert len(walks) > 1
    assert searched == {"tiles": "o1", "random-0": "o2", "colony@o1-0": "o1", "colony-0": "o2", "colony@o3-0": "o3"}
    assert before == {
        name: (folder / name / "run.sqlite").stat().st_mtime_ns for name in before
    }  # nothing was searched again
    (row,) = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert [way["name"] for way in row["ways"]] == ["tiles", "random", "colony", "colony@o1", "colony@o3"]
    text = (tmp_path / "suite" / "table.md").read_text()
    assert "level o2 (and ways at o1, o3), 8 evaluations" in text and "colony@" not in text and "| colony o3 |" in text


@in_turn
def test_who_is_compared_with_whom(tmp_path: Path) -> None:
    wanted = replace(WANTED, explorers=(*WANTED.explorers, "random@o3"))
    (section,), _ = suite(tmp_path, wanted)
    assert section.levels == ("o1", "o2", "o3") and section.title.count("o2") == 1
    assert set(section.duels) == {
        ("colony@o3", "colony"), ("colony@o3", "colony@o1"), ("colony", "colony@o1"), ("random@o3", "random"),
        ("colony@o3", "random@o3"), ("colony", "random"),
        *((name, "tiles") for name in wanted.explorers)}
    for head, lines in tables(section):
        assert sum(max(map(len, column)) + 3 for column in zip(head, *lines, strict=True)) < 120


@pytest.mark.slow
def test_the_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, WANTED)
    ((head, lines),) = published(section)
    assert head == ("means over the default plan", "o1", "o2", "o3", "random o2") and len(lines) == 1 + len(PAPER)
    found = {mean.name: mean.mean for mean in means(section)}
    names = ("colony o1", "colony o2", "colony o3", "random o2")
    assert lines[0] == ("colony, here", *(f"{found[f'{name} : default plan']:.3g}x" for name in names))
    assert lines[1] == ("Coding Ants, GT 755M", "2.85x", "3.02x", "2.44x", "2.03x")
    assert PAPER_WORDS in (tmp_path / "table.md").read_text()
    (plain,), _ = suite(tmp_path / "plain", replace(WANTED, explorers=("random", "colony")))
    assert published(plain) == () and plain.words("colony") == "colony" and "(and" not in plain.title
    (higher,), _ = suite(tmp_path / "two", replace(WANTED, explorers=("colony", "colony@o3")))
    assert published(higher)[0][1][0][1:] == ("-", *(published(higher)[0][1][0][2:4]), "-")


def test_one_level_of_another_name_is_said(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, replace(WANTED, explorers=("colony@o1",)))
    assert section.words("colony@o1") == "colony o1" and "colony@" not in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize(("level", "levels", "main", "ways"), [
    (None, None, "o2", ("random", "colony@o1")), ("o3", None, "o3", ("random", "colony@o1")),
    (None, "o3,o1, o2", "o2", ("random@o1", "random", "random@o3", "colony@o1")),
    (None, "o1,o3", "o3", ("random@o1", "random", "colony@o1")), (None, "o1", "o1", ("random", "colony")),
])
def test_the_level_of_the_suite_needs_no_name(level: LevelName | None, levels: str | None, main: LevelName,
                                              ways: tuple[str, ...]) -> None:
    found, several = split_levels(level, levels)
    assert (found, at_levels(("random", "colony@o1"), found, several)) == (main, ways)


def test_bad_levels_are_one_line(tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    bad = (
        (["--levels", "o4"], "no level 'o4'"),
        (["--levels", ","], "names none"),
        (["--levels", "o1", "--level", "o2"], "both"),
        (["--explorer", "colony@o7"], "colony@o7: there is no level 'o7'"),
        (["--explorer", "magic@o1"], "unknown explorer 'magic'"),
        (["--explorer", "tiles@o1"], "unknown explorer 'tiles'"),
    )
    for words, message in bad:
        assert antune("--device", "deterministic", "--out", tmp_path / "out", *words) == 2, words
        err = capsys.readouterr().err
        assert message in err and "Traceback" not in err and err.count("antune:") == 1
    with pytest.raises(InputError, match="no level 'o0'"):
        replace(WANTED, explorers=("colony@o0",))


@pytest.mark.slow
def test_a_finished_suite_with_levels_has_nothing_to_do(tmp_path: Path) -> None:
    before, _ = suite(tmp_path, WANTED)
    runner = ToyRunner()
    assert suite(tmp_path, WANTED, runner)[0] == before and (runner.evaluated, runner.sittings) == ([], [])
