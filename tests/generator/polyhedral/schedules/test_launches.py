"""Whether all launches of a kernel have all blocks is seen without sets of launches, where loops are plain."""

from __future__ import annotations

from math import prod

import islpy as isl
import pytest

from generator.polyhedral.kit.members import images
from generator.polyhedral.schedules.kernels import KernelPart, dimension, has_full_launches, schedule_kernels
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import program_of, scop

SMOOTH = "A[t][i] = A[t - 1][i + 1] + A[t - 1][i - 1];"
LOOPS = {
    "plain": (f"for (i = 2; i < 9; i++) {SMOOTH}", True),
    "triangle": (f"for (i = 2; i < 9 - t; i++) {SMOOTH}", False),
    "two": (f"{{ for (i = 2; i < 9; i++) {SMOOTH} for (i = 3; i < 6; i++) B[i] += A[t][i]; }}", True),
    "strides": ("for (i = 2; i < 9; i += 2) A[t][i] = A[t - 1][i + 2] + A[t - 1][i - 2];", None),
    "diagonal": (f"for (i = t; i < t + 5; i++) {SMOOTH}", None),
}


def kernels_of(loops: str) -> list[KernelPart]:
    """The kernels with loops around launches."""
    program = program_of(scop(f"for (t = 1; t < 4; t++) {loops}", "int t, i; float A[4][12], B[12];"))
    return [part for part in schedule_kernels(program, ScheduleChoice()).kernels if part.prefix and part.parallel]


def every_launch_is_full(part: KernelPart) -> bool:
    """The oracle counts pairs of a launch and a point of the parallel loops."""
    dims = [*(dimension(member, part.domain) for member in part.prefix), *part.parallel]
    points = images(tuple(dim.member for dim in dims), part.domain, "P")
    return bool(points.count_val() == isl.Val(prod(dim.high - dim.low + 1 for dim in dims)))


@pytest.mark.parametrize("loops", LOOPS)
def test_launches_said_to_be_full_are(loops: str) -> None:
    text, expected = LOOPS[loops]
    parts = kernels_of(text)
    assert parts
    for part in parts:
        assert every_launch_is_full(part) or not has_full_launches(part)
        assert expected is None or has_full_launches(part) is expected
