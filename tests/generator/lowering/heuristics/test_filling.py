"""The tiles of outer products that keep a GPU's multiprocessors busy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil, prod

import pytest

from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.common_passes import first_values
from generator.lowering.heuristics.filling import filling
from generator.lowering.heuristics.starts import start_plans
from graph.o1 import make_o1_space
from graph.reaching import walk_to
from tests.support.slow import few, in_turn
from tests.support.space_plans import first_walks
from tests.support.suite import NAMES, ODD_SIZES, TARGET, polybench_program

UNITS = 132
GPU = replace(TARGET, compute_units=UNITS, capability=(9, 0), dialect="cuda")


def idle(tile: tuple[int, ...], extents: tuple[int, ...]) -> float:
    """The share of points that multiprocessors could compute, but do not, while the last one is busy."""
    sizes = (*(1,) * (len(extents) - len(tile)), *tile)
    blocks = prod(ceil(extent / size) for extent, size in zip(extents, sizes, strict=True))
    return 1 - prod(extents) / (UNITS * ceil(blocks / UNITS) * prod(tile))


@pytest.mark.parametrize("extents", [(2000, 2300), (1000, 1100), (4096, 4096), (150, 140, 160), (800, 900)])
def test_few_multiprocessors_are_idle(extents: tuple[int, ...]) -> None:
    """Tiles of 128 x 128 points leave 27 % of them idle for 2000 x 2300 points, 69 % for 150 x 140 x 160."""
    (tile, block), (other, _) = filling(extents, GPU)
    assert idle(tile, extents) < 0.15
    assert all(size % threads == 0 for size, threads in zip(tile, block, strict=True))
    assert 2 * prod(other) <= prod(tile) or prod(other) >= 2 * prod(tile)


def test_large_results_have_many_points_per_thread() -> None:
    (tile, block), _ = filling((4096, 4096), GPU)
    assert prod(tile) // prod(block) == 64


def test_warps_share_the_schedulers_evenly() -> None:
    """With one block per multiprocessor, 6 warps would leave two of 4 schedulers idle half of the time."""
    (_, block), _ = filling((132 * 128, 128), GPU)
    assert prod(block) % 128 == 0


def test_plans_with_such_tiles_are_in_the_space_with_a_whole_tile_of_the_sum_unrolled() -> None:
    program = polybench_program("gemm", ("NI=1000", "NJ=1100", "NK=1200"))
    space = make_o1_space(partial(kernel_shapes, program), GPU)
    found = [plan for plan in start_plans(program, GPU) if plan.kernels[0].unroll == plan.kernels[0].inner_tile == 16]
    assert any(size % 3 == 0 for plan in found for size in plan.kernels[0].tile)
    for plan in found:
        assert walk_to(space, plan).plan == plan
        assert lower(program, plan, GPU).kernels


@in_turn
@pytest.mark.parametrize("name", few(["doitgen", *NAMES], 1))
def test_sums_get_their_first_values_in_registers(name: str) -> None:
    """The kernel of doitgen's sums sets them to 0; S3, which only the last sum needs, is a kernel of its own."""
    program = polybench_program(name, ODD_SIZES[name])
    plans = first_walks(program, "o2", TARGET)
    groups = [set(kernel.statements) for kernel in plans[0].kernels]
    if name == "doitgen":
        assert groups == [{"S0", "S1"}, {"S2"}, {"S3"}] and ("S0", "S1") in first_values(program)
        assert any(kernel.registers for kernel in plans[1].kernels)
    assert all(lower(program, plan, TARGET).kernels for plan in plans)


def test_only_sums_have_first_values() -> None:
    assert first_values(polybench_program("gemm", ODD_SIZES["gemm"])) == (("S0", "S1"),)
    assert not first_values(polybench_program("jacobi-2d", ODD_SIZES["jacobi-2d"]))
