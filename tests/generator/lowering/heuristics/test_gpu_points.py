"""Start plans for GPUs whose threads compute a point or a vector of points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import Plan
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles
from tests.support.programs import program_of, scop
from tests.support.slow import in_turn
from tests.support.targets import HOPPER

H200 = replace(HOPPER, compute_units=132)
SWEEP = "for (int i = 1; i < 199; i++) for (int j = 1; j < {n} - 1; j++) B[i][j] = A[i][j] + A[i][j - 1] + A[i - 1][j];"
RECURRENCE = "for (int i = 1; i < 300; i++) for (int j = 0; j < {n}; j++) B[i][j] = B[i - 1][j] * A[i][j];"
TIMES = "for (int t = 0; t < 40; t++) {" + SWEEP + SWEEP.replace("A", "C").replace("B", "A").replace("C", "B") + "}"


def starts(body: str, size: int) -> tuple[Program, list[Plan]]:
    program = program_of(scop(body.replace("{n}", str(size)), f"float A[4000][{size}], B[4000][{size}];"))
    walks = PARTS.starts(program, H200, RunOptions("", Compilation(), Budget(1), level="o2"))
    return program, [walk.plan for walk in walks]


@pytest.mark.parametrize("size", [400, 120])
def test_sweeps_read_vectors(size: int) -> None:
    program, (_, plan, *_) = starts(SWEEP, size)
    (kernel,) = plan.kernels
    assert (kernel.tile, kernel.block, kernel.run, kernel.vector) == ((8, 128), (8, 32), 4, 4)
    assert "(const float4 *)&A[" in lower(program, plan, H200).source


@pytest.mark.parametrize("size", [401, 60])
def test_rows_that_are_no_multiples_of_vectors_or_short_have_none(size: int) -> None:
    _, plans = starts(SWEEP, size)
    assert all(kernel.run == 1 for plan in plans for kernel in plan.kernels)


@pytest.mark.parametrize(("size", "threads"), [(998, 8), (3000, 16), (100000, 64)])
def test_few_threads_with_loops_are_in_small_blocks(size: int, threads: int) -> None:
    """At 64 threads each, 16 blocks had all rows of adi: a device had nothing for 116 multiprocessors."""
    _, (plan, *_) = starts(RECURRENCE, size)
    (kernel,) = plan.kernels
    assert (kernel.tile, kernel.block) == ((threads,), (threads,))


@in_turn
def test_tiles_of_time_steps_are_large() -> None:
    """Tiles of 8 x 32 points computed several times as many around them."""
    _, plans = starts(TIMES, 400)
    tiles = [(plan.schedule.steps, plan.kernels[0].tile) for plan in plans
             if isinstance(plan.schedule, TimeTiles) and plan.kernels[0].level == "block"]
    assert tiles == [(2, (64, 64)), (8, (64, 64)), (16, (64, 64))]
