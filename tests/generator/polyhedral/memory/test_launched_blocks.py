"""The blocks of each launch: against all tiles with instances, launch by launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any, TypeAlias

import islpy as isl
import pytest

from generator.explain import explain
from generator.expr import evaluate
from generator.lowered_kernel import LoweredKernel
from generator.lowering import lower
from generator.lowering.core.kernel import lower_kernel
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.memory.first_vector import from_whole_vectors
from generator.polyhedral.memory.mapping import tile_member
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.schedules.kernels import KernelPart, dimension, reordered
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.time_tiles import TimeTiles
from runners.host_program import launches
from tests.support.hyperplanes import SEIDEL_TILES
from tests.support.slow import counted
from tests.support.space_plans import random_plans
from tests.support.suite import ODD_SIZES, large_program, polybench_program
from tests.support.targets import CUDA

Place: TypeAlias = tuple[int, ...]
NAMES = ("lu", "seidel-2d", "cholesky", "jacobi-2d", "adi", "nussinov", "heat-3d", "trisolv", "gramschmidt", "ludcmp")


def blocks_at(part: KernelPart, tile: tuple[int, ...]) -> Mapping[Place, list[Place]]:
    """By launch, the blocks with instances; none for the first and the last launch if these have no work."""
    members = (*part.prefix, *(tile_member(d, size) for d, size in zip(part.parallel, tile, strict=True)))
    ranges = [dimension(member, part.domain) for member in part.prefix]
    found = {tuple(one.low for one in ranges): list[Place](), tuple(one.high for one in ranges): list[Place]()}

    def add(point: Any) -> None:
        values = [int(point.get_coordinate_val(isl.dim_type.set, d).to_python()) for d in range(len(members))]
        found.setdefault(tuple(values[:len(ranges)]), []).append(tuple(values[len(ranges):]))

    isl.Set.from_union_set(values_at(members, part.domain).range()).foreach_point(add)
    return found


def check(part: KernelPart, plan: KernelPlan, kernel: LoweredKernel) -> None:
    """Check the blocks of all launches of a kernel that has `parts`."""
    launched, needed, found = 0, 0, blocks_at(part, plan.tile)
    for values, blocks in found.items():
        names = dict(zip(kernel.iterators, values, strict=True))
        parts = [(evaluate(one.first, names), evaluate(one.count, names)) for one in reversed(kernel.parts)]
        places = [(min(axis), max(axis)) for axis in zip(*blocks, strict=True)]
        for (least, most), (first, number), count in zip(places, parts, reversed(kernel.grid), strict=False):
            assert 0 <= first <= least and most < first + number <= count, (plan, values)
        launched += prod(max(0, number) for _, number in parts)
        needed += prod(most - least + 1 for least, most in places) if blocks else 0
    assert launched <= 1.5 * needed + len(found), plan


@pytest.mark.parametrize(("name", "count"), counted(NAMES, ("lu", "seidel-2d"), 5, 30))
def test_all_blocks_with_work_are_launched_and_few_others(name: str, count: int) -> None:
    program, checked = polybench_program(name, ODD_SIZES[name]), 0
    plans = [default_plan(program, CUDA), *random_plans(program, CUDA, "o3", count, seed=5)]
    for plan in (plan for plan in plans if not isinstance(plan.schedule, TimeTiles)):
        for one in kernels_of(program, plan.scheduled):
            kernel_plan = plan.kernel(one.statements)
            kernel = lower_kernel(one, kernel_plan, CUDA.language)
            if kernel.parts:
                part = from_whole_vectors(program, reordered(one.part, kernel_plan.order), kernel_plan)
                check(part, kernel_plan, kernel)
                checked += 1
    assert checked or name in ("adi", "heat-3d")


def test_launches_of_a_wavefront_have_the_blocks_between_the_first_and_the_last_with_work() -> None:
    """The largest grid has 157 x 79 blocks; 815 blocks have work in the median launch, 1869 at most."""
    kernel = KernelPlan(("S0",), (1, 1), (8, 32), diagonals=True)
    schedule = Hyperplanes((replace(SEIDEL_TILES, wavefront=(8, 32, 32)),))
    variant = lower(large_program("seidel-2d"), Plan(schedule, (kernel,)), CUDA)
    blocks = [prod(n // b for n, b in zip(one.items, one.block, strict=True)) for one in launches(variant)]
    assert len(blocks) == 297 and max(blocks) < 157 * 79 / 3 and sum(blocks) < 297 * 157 * 79 / 7


def test_right_looking_factorizations_launch_what_is_left() -> None:
    program = large_program("lu")
    variant = lower(program, default_plan(program, CUDA), CUDA)
    grids = [one.items for one in launches(variant) if len(one.items) == 2]
    assert grids[0] == (63 * 16, 63 * 32) and grids[-1] == (16, 32)


def test_other_launches_have_the_whole_grid() -> None:
    program = large_program("jacobi-2d")
    variant = lower(program, default_plan(program, CUDA), CUDA)
    assert {one.items for one in launches(variant)} == {(41 * 16, 41 * 32)}
    assert "b0 = blockIdx.y;" in variant.source


def test_explain_shows_them_as_factors() -> None:
    program = polybench_program("lu", ("N=120",))
    assert "kernel1(j) on (4 - j / 32) x (4 - j / 32) blocks" in explain(program, default_plan(program, CUDA), CUDA)
