"""The benchmark of tiles of warps: which plans it compares, and its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer

from experiments.benchmarks.warp_results import KINDS, Kind, Line, Results
from experiments.benchmarks.warps import IN_BLOCKS, kind_of, measure, plans_of, row, table, tiled_stages
from generator.lowering import lower
from generator.schedules.time_tiles import TimeTiles
from tests.support.suite import pipeline_program, problem
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
    program = problem("jacobi-2d", ("N=300", "TSTEPS=8")).program
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


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    """Also where the last line was cut off."""
    file = tmp_path / "times.jsonl"
    results = Results.read(file)
    results.add(line("block", 2.0))
    results.add(line("warp", None))
    whole = file.read_text()
    file.write_text(whole + '{"program": "a')
    again = Results.read(file)
    assert list(again.known.values()) == [line("block", 2.0), line("warp", None)] and file.read_text() == whole
    file.write_text("[1]\n" + whole)
    with pytest.raises(typer.BadParameter, match=r"line 1 of .* is no time of this benchmark"):
        Results.read(file)


def test_a_second_run_measures_nothing_again(tmp_path: Path) -> None:
    """With the runner that draws times from a plan's digest."""
    results = Results.read(tmp_path / "times.jsonl")
    first = measure("jacobi-1d", "deterministic", 4, "SMALL", results)
    text = (tmp_path / "times.jsonl").read_text()
    assert text and first.sizes["block"]
    assert measure("jacobi-1d", "deterministic", 4, "SMALL", Results.read(tmp_path / "times.jsonl")) == first
    assert (tmp_path / "times.jsonl").read_text() == text
