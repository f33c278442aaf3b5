"""The benchmark of tiles of warps: which plans it compares, and its table."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.benchmarks.warps import IN_BLOCKS, KINDS, Row, kind_of, plans_of, table, tiled_stages
from generator.lowering import lower
from generator.schedules.time_tiles import TimeTiles
from tests.support.suite import pipeline_program, problem
from tests.support.targets import HOPPER


def test_each_kind_of_tile_has_the_same_sizes() -> None:
    program = pipeline_program("harris", "medium")
    found = list(plans_of(program, HOPPER, tiled_stages("harris"), 3, np.random.default_rng(1)))
    sizes = {kind: {(k.tile, k.block) for one, plan in found if one == kind for k in plan.kernels} for kind in KINDS}
    assert sizes["block"] >= sizes["warp"] >= sizes["hybrid"] != set()
    assert {kind_of(kernel) for kind, plan in found if kind == "hybrid" for kernel in plan.kernels} == {"hybrid"}
    assert lower(program, found[-1][1], HOPPER).kernels


def test_time_steps_have_tiles_of_warps_in_shared_memory() -> None:
    program = problem("jacobi-2d", ("N=300", "TSTEPS=8")).program
    found = list(plans_of(program, HOPPER, TimeTiles(2), 3, np.random.default_rng(1)))
    assert {kind for kind, _ in found} == {"block", "warp"}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_BLOCKS)
def test_all_pipelines_have_hybrid_tiles(name: str) -> None:
    program = pipeline_program(name, "medium")
    assert "hybrid" in {kind for kind, _ in plans_of(program, HOPPER, tiled_stages(name), 6, np.random.default_rng(1))}


def test_the_table_compares_with_tiles_of_blocks() -> None:
    assert table([Row("a", {"block": 2.0, "warp": 1.0}, 5, ())]).splitlines()[2] == (
        "| a | 5 | 2.00 ms | 1.00 ms | 2x | - | - |")  # fmt: skip
