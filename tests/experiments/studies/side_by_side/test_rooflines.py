"""The tables of suites: how near every way comes to the roofline of its device."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.ceilings.files import keep_ceilings
from experiments.ceilings.placed import program_roof
from experiments.studies.side_by_side.pipelines import Pipelines
from experiments.studies.side_by_side.polybench import PolyBench
from experiments.studies.side_by_side.table import ROOFLINE, ROOFLINE_WORDS, Section, means, shares
from experiments.studies.side_by_side.wanted import BEST, SuiteOptions
from experiments.words import describe_ms
from generator.facts import Demand, Operations
from generator.problem import Problem
from metrics.roofline import Bandwidth, Ceilings, arithmetic, roof
from runners.deterministic import DEVICE as DETERMINISTIC
from tests.support.cli import antune_command
from tests.support.runs import DEFAULT, DEVICE, PROGRAM, REFERENCE, ToyRunner, toy_parts
from tests.support.side_by_side import Shown
from tests.support.side_by_side import suite as toy_suite
from tests.support.slow import in_turn

WANTED = SuiteOptions(("gemm", "mvt"), PolyBench("MINI"), evaluations=8)
RATES = (("double", 1e5),)
"""The toy's program, of which it can be counted what it must do: eight multiplications and additions on 72 bytes in, 64
out.
"""
CEILINGS = Ceilings(DEVICE.key, DEVICE.driver, "2026-01-01", RATES, (Bandwidth(1 << 10, 1e9),))


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def suite(folder: Path, wanted: SuiteOptions, runner: ToyRunner | None = None) -> tuple[tuple[Section, ...], Shown]:
    parts = replace(toy_parts(runner or ToyRunner()), read_problem=lambda *_: Problem(PROGRAM, REFERENCE))
    return toy_suite(folder, wanted, parts=replace(parts, inlined_plan=lambda _program, _target: DEFAULT))


@in_turn
def test_every_way_is_placed_below_the_roofline(tmp_path: Path) -> None:
    keep_ceilings(CEILINGS)
    expected = program_roof(PROGRAM, CEILINGS)
    (section,), shown = suite(tmp_path / "suite", WANTED)
    assert expected is not None and expected.ms == pytest.approx(0.16) and expected.limit == "compute"
    assert [entry.roof for entry in (*section.entries, *shown.entries)] == [expected] * 4
    ((head, lines),) = shares(section)
    assert head == (ROOFLINE, "least time", "limited by", "default plan", "best tile size", "random", "colony")
    gemm = section.entries[0]
    assert lines[0][:3] == ("gemm", describe_ms(expected.ms), expected.limit)
    assert gemm.default_ms and gemm.default_share == pytest.approx(expected.ms / gemm.default_ms)
    for row in json.loads((tmp_path / "suite" / "table.json").read_text())["rows"]:
        assert (row["roof"]["ms"], row["roof"]["limit"]) == (expected.ms, expected.limit)
        assert row["roof"]["default_share"] == pytest.approx(expected.ms / row["default_ms"])
        assert row["roof"]["shares"] == {way["name"]: pytest.approx(expected.ms / way["ms"]) for way in row["ways"]}
    colony = gemm.way("colony")
    (mean,) = [mean for mean in means(section) if mean.name == "colony : roofline"]
    assert colony and colony.ms and mean.mean == pytest.approx(expected.ms / colony.ms) and mean.programs == 2
    text = (tmp_path / "suite" / "table.md").read_text()
    assert f"| {' | '.join(head)} |" in text and ROOFLINE_WORDS[1:] in text
    assert not any("suite roofline" in note for note in shown.notes)


@pytest.mark.slow
def test_ceilings_may_be_measured_when_the_suite_is_done(tmp_path: Path) -> None:
    wanted = replace(WANTED, programs=("gemm",))
    (before,), shown = suite(tmp_path / "suite", wanted)
    assert shares(before) == () and "antune suite roofline --device toy" in shown.notes[0]
    assert json.loads((tmp_path / "suite" / "table.json").read_text())["rows"][0]["roof"] is None
    assert ROOFLINE not in (tmp_path / "suite" / "table.md").read_text()
    keep_ceilings(CEILINGS)
    runner = ToyRunner()
    (after,), shown = suite(tmp_path / "suite", wanted, runner)
    assert after.entries[0].roof and (runner.evaluated, runner.sittings, shown.notes) == ([], [], [])
    keep_ceilings(replace(CEILINGS, driver="another"))
    assert suite(tmp_path / "suite", wanted)[0] == (before,)


@pytest.mark.slow
def test_an_entry_whose_runs_cannot_be_read_has_no_roof(tmp_path: Path) -> None:
    keep_ceilings(CEILINGS)
    suite(tmp_path, replace(WANTED, programs=("gemm",)))
    for store in (tmp_path / "toy" / "gemm-mini-float-o2").glob("*/run.sqlite"):
        store.write_bytes(b"damaged")
    (section,), _ = suite(tmp_path, replace(WANTED, programs=("mvt",)))
    assert [entry.roof is None for entry in section.entries] == [True, False]
    assert shares(section)[0][1][0] == ("gemm", "-", "-", "-", "-", "-", "-")


def test_pipelines_are_placed_too(tmp_path: Path) -> None:
    keep_ceilings(CEILINGS)
    (section,), _ = suite(tmp_path / "suite", SuiteOptions(("blur",), Pipelines("small"), ("colony", "random"), 4))
    ((head, ((_, *cells),)),) = shares(section)
    best = section.entries[0].share_of_roof(BEST)
    assert head[3:] == ("all-root plan", "all inlined", "best of all", "colony", "random")
    assert best and cells[4] == f"{100 * best:.{0 if best >= 0.1 else 1}f} %"


@in_turn
def test_the_deterministic_device_has_no_ceilings_and_none_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    antune = antune_command(monkeypatch, "suite", "polybench")
    assert (
        antune(
            "--programs",
            "mvt",
            "--size",
            "mini",
            "--budget",
            1,
            "--explorer",
            "random",
            "--device",
            DETERMINISTIC.key,
            "--out",
            tmp_path,
        )
        == 0
    )
    shown = capsys.readouterr()
    assert "roofline" not in shown.out + shown.err


def test_integers_may_be_computed_in_any_type() -> None:
    """A stage that stores bytes may compute in floating point, or not at all: then its data are what bounds it."""
    both = replace(CEILINGS, operations_per_s=(("float", 4e5), ("double", 1e5)))
    assert arithmetic("double", both) == ("double", 1e5) and arithmetic("unsigned char", both) == ("float", 4e5)
    assert arithmetic("float", CEILINGS) is None
    bytes_only = roof(Demand(Operations(integer=1e9), 1e6, 1e6, 2e6, "unsigned short"), both)
    mixed = roof(Demand(Operations(adds=4e5), 1e6, 1e6, 2e6, "unsigned char"), both)
    assert bytes_only and bytes_only.ms == pytest.approx(2.0) and bytes_only.limit == "memory"
    assert mixed and mixed.ms == pytest.approx(1000.0) and mixed.limit == "compute"
