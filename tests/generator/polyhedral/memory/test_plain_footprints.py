"""Footprints that need no isl are those that isl finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

import pytest

from generator.errors import IllegalPlan
from generator.polyhedral.memory import footprint
from generator.polyhedral.memory.extents import plain_rows
from generator.polyhedral.memory.footprint import FillPoint, StagedArray, fill_points, fill_points_in
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.schedules.kernels import KernelPart, reordered
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.stages import case
from tests.support.suite import pipeline_program, polybench_program

PROGRAMS = ("blur", "conv_layer", "stencil_chain", "iir_blur", "gemm", "doitgen", "heat-3d", "lu", "random 5",
            "random 7", "interpolate", "pyramid_blend", "mirrored")
FAST = ("blur", "doitgen", "stencil_chain", "mirrored")
MIRRORED = """
  for (i = 0; i < 62; i++) for (j = 0; j < 32; j++) B[i][j] = A[63 - i][2 * j] + A[62 - i][2 * j + 1];
"""


def program_and_schedule(name: str) -> tuple[Program, Schedule]:
    if name.startswith("random"):
        return case(int(name.split()[1])).program, Stages(())
    if name == "mirrored":
        return program_of(scop(MIRRORED, "double A[64][64], B[62][32];")), ScheduleChoice()
    if name in ("gemm", "doitgen", "heat-3d", "lu"):
        return polybench_program(name), ScheduleChoice()
    return pipeline_program(name, "small"), Stages(())


def parts(name: str) -> Iterator[tuple[Program, KernelPart]]:
    """The kernels of a program, with all dimensions in turn as x."""
    program, schedule = program_and_schedule(name)
    for kernel in kernels_of(program, schedule):
        count = len(kernel.part.parallel)
        for x in range(count):
            yield kernel.section.program, reordered(kernel.part, (*(d for d in range(count) if d != x), x))


def arrays(find: Callable[..., tuple[FillPoint, ...]], *given: object) -> list[tuple[StagedArray, ...]] | str:
    """The boxes that `find` returns when nothing is known yet, or why there are none."""
    footprint._points.cache_clear()
    try:
        return [point.arrays for point in find(*given)]
    except IllegalPlan as refused:
        return str(refused)


def found_anew(program: Program, part: KernelPart, depth: int) -> list[tuple[StagedArray, ...]] | str:
    return arrays(fill_points.__wrapped__, program, part, depth)


@pytest.mark.parametrize("name", few(PROGRAMS, FAST))
def test_the_same_boxes_without_isl(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used = list[bool]()

    def watched(*given: object) -> object:
        found = plain_rows(*given)  # type: ignore[arg-type]  # passed on
        used.append(found is not None)
        return found

    for program, part in parts(name):
        for depth in (0, 1):
            monkeypatch.setattr(footprint, "plain_rows", watched)
            fast = found_anew(program, part, depth)
            monkeypatch.setattr(footprint, "plain_rows", lambda *_: None)
            assert found_anew(program, part, depth) == fast
    assert any(used) or name in ("lu", "random 5", "random 7")


@pytest.mark.parametrize("name", few(PROGRAMS, FAST))
def test_boxes_in_other_orders_are_those_found_there(name: str) -> None:
    program, schedule = program_and_schedule(name)
    turned = 0
    for kernel in kernels_of(program, schedule):
        own, count = kernel.section.program, len(kernel.part.parallel)
        for order in permutations(range(count)):
            for depth in (0, 1):
                there = arrays(fill_points_in.__wrapped__, own, kernel.part, order, depth)
                turned += count > 1 and any(found.boxes and found.plain for found in footprint._points(
                    own, kernel.part, depth))
                assert there == found_anew(own, reordered(kernel.part, order), depth)
    assert turned or name not in FAST
