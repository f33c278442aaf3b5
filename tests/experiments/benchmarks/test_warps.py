"""The benchmark of tiles of warps: which plans it compares, and its table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer

from experiments.benchmarks.warp_results import KINDS, Kind, Line, Results
from experiments.benchmarks.warps import IN_BLOCKS, kind_of, measure, plans_of, row, table, tiled_stages
from generator.lowering import lower
from generator.schedules.time_tiles import TimeTiles
from tests.support.slow import in_turn
from tests.support.suite import pipeline_program, polybench_program
from tests.support.targets import HOPPER


def test_each_kind_of_tile_has_the_same_sizes() -> None:
    program = pipeline_program("harris", "medium")
    found = list(plans_of(program, HOPPER, tiled_stages("harris"), 3, np.random.default_rng(1)))
    assert all(list(plans) == [kind for kind in KINDS if kind in plans] for plans in found)
    for plans in found:
        sizes = {kind: {(k.tile, k.block) for k in plan.kernels} for kind, plan in plans.items()}
        assert len({frozenset(one) for one in sizes.values()}) == 1
    hybrid = [plans["hybrid"] for plans in found if "hybrid" in plans]
    assert {kind_of(kernel) for plan in hybrid for kernel in plan.kernels} == {"hybrid"}
    assert lower(program, hybrid[-1], HOPPER).kernels


def test_time_steps_have_all_kinds_of_tiles() -> None:
    program = polybench_program("jacobi-2d", ("N=300", "TSTEPS=8"))
    found = list(plans_of(program, HOPPER, TimeTiles(2), 6, np.random.default_rng(1)))
    assert {kind for plans in found for kind in plans} == {"block", "warp", "hybrid"}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_BLOCKS)
def test_all_pipelines_have_hybrid_tiles(name: str) -> None:
    program = pipeline_program(name, "medium")
    found = plans_of(program, HOPPER, tiled_stages(name), 6, np.random.default_rng(1))
    assert any("hybrid" in plans for plans in found)


def line(kind: Kind, ms: float | None, plan: str = "p") -> Line:
    return Line("a 5x5", "some GPU", kind, plan, ms, "" if ms else "it crashed", "2026-11-25T10:00:00+00:00")


def test_the_table_compares_with_tiles_of_blocks() -> None:
    lines = [line("block", 3.0), line("block", 2.0, "q"), line("warp", 1.0), line("hybrid", None)]
    assert row("a", lines).failed == ("hybrid: it crashed",)
    assert table([row("a", lines)]).splitlines()[2] == "| a | 2, 1, 0 | 2.00 ms | 1.00 ms | 2x | - | - |"


@pytest.mark.parametrize("cut", [1, 5, 60, 1000])
def test_what_was_measured_is_kept(tmp_path: Path, cut: int) -> None:
    """Also where a line was cut off after so many characters: it stays, and the next one is on a line of its own."""
    file = tmp_path / "times.jsonl"
    results = Results.read(file)
    results.add(line("block", 2.0))
    results.add(line("warp", None))
    last = file.read_text().splitlines()[-1]
    file.write_text(file.read_text() + last.replace("warp", "hybrid")[:cut])
    text = file.read_text()
    again = Results.read(file)
    known = [line("block", 2.0), line("warp", None), *([line("hybrid", None)] if cut == 1000 else [])]
    assert list(again.known.values()) == known and file.read_text() == text
    again.add(line("block", 3.0, "q"))
    assert list(Results.read(file).known.values()) == [*known, line("block", 3.0, "q")]
    assert file.read_text().startswith(text + "\n")


WHOLE = '{"program": "a 5x5", "device": "GPU", "kind": "warp", "plan": "p", "ms": 1.5, "words": "", "at": "today"}'


@pytest.mark.parametrize(
    ("text", "words"),
    [("my notes", "line 1 is not a JSON object"), ("[1]\n", "line 1 must be an object with"),
     (WHOLE + "\nmy notes", "line 2 is not a JSON object"), ('{"name": "a"}', "unknown field 'name'"),
     (WHOLE.replace('"p"', '["a"]'), r'line 1\.plan is \["a"\]; use a text'),
     (WHOLE.replace("1.5", '"fast"'), r'line 1\.ms is "fast"; use a number of milliseconds, or null'),
     (WHOLE.replace("1.5", "NaN"), r"line 1\.ms is NaN"), (WHOLE.replace("1.5", "true"), r"line 1\.ms is true"),
     (WHOLE.replace("warp", "grid"), r'line 1\.kind is "grid"; use one of block, warp, hybrid'),
     (WHOLE.replace('"warp"', "[]"), r"line 1\.kind is \[\]"), (WHOLE.replace(', "at": "today"', ""), "'at'")],
)  # fmt: skip
def test_other_files_are_refused_and_stay_as_they_are(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "times.jsonl"
    file.write_text(text)
    with pytest.raises(typer.BadParameter, match=rf"times\.jsonl holds no times of this benchmark: .*{words}"):
        Results.read(file)
    assert file.read_text() == text


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match=r"missing/times\.jsonl cannot be written \(.*; name another file"):
        Results.read(tmp_path / "missing" / "times.jsonl").add(line("block", 1.0))


@in_turn
def test_a_second_run_measures_nothing_again(tmp_path: Path) -> None:
    """With the runner that draws times from a plan's digest."""
    results = Results.read(tmp_path / "times.jsonl")
    first = measure("jacobi-1d", "deterministic", 4, "SMALL", results)
    text = (tmp_path / "times.jsonl").read_text()
    assert text and first.sizes["block"]
    assert measure("jacobi-1d", "deterministic", 4, "SMALL", Results.read(tmp_path / "times.jsonl")) == first
    assert (tmp_path / "times.jsonl").read_text() == text


@in_turn
def test_other_code_is_measured_again(tmp_path: Path) -> None:
    """Lines of another code stay, also those of files that do not say which one it was."""
    file = tmp_path / "times.jsonl"
    first = measure("jacobi-1d", "deterministic", 4, "SMALL", Results.read(file))
    lines = [json.loads(one) for one in file.read_text().splitlines()]
    assert len({one["code"] for one in lines}) > 1
    for number, one in enumerate(lines):
        one |= {"code": "of yesterday", "ms": 1e-9, "words": ""}
        if number % 2:
            del one["code"]
    old = "".join(json.dumps(one) + "\n" for one in lines)
    file.write_text(old)
    assert measure("jacobi-1d", "deterministic", 4, "SMALL", Results.read(file)) == first
    assert file.read_text().startswith(old) and len(file.read_text().splitlines()) == 2 * len(lines)
