"""The loops of a thread are found for the smallest sizes that have the same ones."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.suites.image_pipelines import pipeline
from generator.decisions.thread_loops import Loops
from generator.lowering.analysis import thread_loops
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.analysis.thread_loops import alike
from generator.polyhedral.schedules.kernels import is_even
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from tests.support.slow import few
from tests.support.suite import polybench_program, small_problem

SIZES = (1, 2, 4, 8, 32, 64)


def drawn(shape: KernelShape, rng: np.random.Generator) -> Loops:
    """Sizes that also exceed the dimensions, and leave a thread one point."""
    count = len(shape.extents)
    run = int(rng.choice((1, 2, 4)))
    block = [int(rng.choice(SIZES)) for _ in range(count)]
    tile = [size * int(rng.choice(SIZES[:4])) for size in block]
    tile[-1] *= run
    return Loops(tuple(tile), tuple(block), run, int(rng.choice((1, 8, 64))), bool(rng.integers(2)),
                 bool(shape.shareable) and bool(rng.integers(2)), (), (), 0)


@pytest.mark.parametrize(("name", "schedule"), few([
    ("gemm", ScheduleChoice()), ("syrk", ScheduleChoice()), ("gemver", ScheduleChoice()),
    ("jacobi-2d", ScheduleChoice()), ("blur", Stages((("blur_x", "block"),))), ("blur", Stages())],
    (("gemm", ScheduleChoice()), ("blur", Stages()))))
def test_the_smallest_sizes_have_the_same_loops(name: str, schedule: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(name)
    rng = np.random.default_rng(5)
    shapes = [shape for shape in kernel_shapes(program, schedule, LANGUAGES["cuda"]) if shape.extents and shape.threads]
    for shape in shapes:
        cases = [drawn(shape, rng) for _ in range(20)]
        found = [shape.loops(case) for case in cases]
        with monkeypatch.context() as patched:
            patched.setattr(thread_loops, "alike", lambda _, decided: decided)
            assert found == [shape.loops(case) for case in cases]
    assert any(len(loops) > 1 for loops in found)


def test_many_sizes_have_the_loops_of_the_same_smallest_ones() -> None:
    [shape] = kernel_shapes(program_of("gemm"), ScheduleChoice(), LANGUAGES["cuda"])
    assert shape.threads is not None and is_even(shape.threads.part)
    rng = np.random.default_rng(6)
    cases = {drawn(shape, rng) for _ in range(200)}
    smallest = {alike(shape.threads.part, case) for case in cases}
    assert len(smallest) <= 4 * 2 * 3 * 2 * 2 < len(cases)


def test_kernels_with_gaps_or_triangles_are_not_even() -> None:
    [shape] = kernel_shapes(program_of("syrk"), ScheduleChoice(), LANGUAGES["cuda"])
    assert shape.threads is not None and not is_even(shape.threads.part)


def program_of(name: str) -> Program:
    """Return a program with small sizes."""
    if name == "blur":
        return small_problem(pipeline(name))[0].program
    return polybench_program(name, ("SMALL_DATASET", "DATA_TYPE_IS_FLOAT"))
