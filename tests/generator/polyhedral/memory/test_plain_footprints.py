"""Footprints that need no isl are those that isl finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from generator.errors import IllegalPlan
from generator.polyhedral.memory import footprint
from generator.polyhedral.memory.footprint import FillPoint, StagedArray, fill_points
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.schedules.kernels import KernelPart, reordered
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from tests.support.slow import few
from tests.support.stages import case
from tests.support.suite import pipeline_program, problem

PROGRAMS = ("blur", "conv_layer", "stencil_chain", "iir_blur", "gemm", "doitgen", "heat-3d", "lu", "random 5",
            "random 7")


def program_and_schedule(name: str) -> tuple[Program, Schedule]:
    if name.startswith("random"):
        return case(int(name.split()[1])).program, Stages(())
    if name in ("gemm", "doitgen", "heat-3d", "lu"):
        return problem(name).program, ScheduleChoice()
    return pipeline_program(name, "small"), Stages(())


def parts(name: str) -> Iterator[tuple[Program, KernelPart]]:
    """The kernels of a program, with all dimensions in turn as x."""
    program, schedule = program_and_schedule(name)
    for kernel in kernels_of(program, schedule):
        count = len(kernel.part.parallel)
        for x in range(count):
            yield kernel.section.program, reordered(kernel.part, (*(d for d in range(count) if d != x), x))


def arrays(points: tuple[FillPoint, ...]) -> list[tuple[StagedArray, ...]]:
    return [point.arrays for point in points]


@pytest.mark.parametrize("name", few(PROGRAMS, ("blur", "doitgen", "stencil_chain")))
def test_the_same_boxes_without_isl(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, used = footprint._plain_rows, list[bool]()

    def watched(*given: object) -> object:
        found = plain(*given)  # type: ignore[arg-type]  # passed on
        used.append(found is not None)
        return found

    for program, part in parts(name):
        for depth in (0, 1):
            with suppress(IllegalPlan):
                monkeypatch.setattr(footprint, "_plain_rows", watched)
                fast = arrays(fill_points.__wrapped__(program, part, depth))
                monkeypatch.setattr(footprint, "_plain_rows", lambda *_: None)
                assert arrays(fill_points.__wrapped__(program, part, depth)) == fast
    assert any(used) or name in ("lu", "random 5", "random 7")
