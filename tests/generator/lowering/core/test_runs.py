"""Runs of neighbours: which points a thread computes, in which registers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.schedules.time_tiles import TimeTiles
from tests.support.slow import in_turn
from tests.support.space_plans import random_plans
from tests.support.suite import polybench_program
from tests.support.targets import HOPPER

OUTER = KernelPlan((), (32, 64), (4, 8), shared=True, inner_tile=8, points_inside=True, registers=True)


def text(sizes: tuple[str, ...], kernel: KernelPlan) -> str:
    """gemm's kernel by a plan."""
    program = polybench_program("gemm", sizes)
    plan = default_plan(program, HOPPER)
    return lower(program, replace(plan, kernels=tuple(replace(kernel, statements=k.statements) for k in plan.kernels)),
                 HOPPER).source


def test_neighbours_are_a_loop_of_their_own() -> None:
    """Two runs of four, 32 points apart; each has registers of its own."""
    code = text(("NI=64", "NJ=128", "NK=32"), replace(OUTER, run=4))
    assert "double C_here[8][2][4];" in code
    assert "for (int j_next = 0; j_next <= 3; ++j_next) { // neighbours of this thread along j" in code
    assert "B_shared[k - 8 * k_tile][4 * t1 + 32 * j_point + j_next]" in code


def test_a_single_run_is_one_loop() -> None:
    code = text(("NI=64", "NJ=128", "NK=32"), replace(OUTER, tile=(32, 32), run=4))
    assert "double C_here[8][4];" in code and "B_shared[k - 8 * k_tile][4 * t1 + j_next]" in code


def test_whole_runs_exist_or_none_of_them_where_rows_are_whole_runs() -> None:
    """100 = 25 runs of 4: what exists is a question about runs, so that no run is cut."""
    assert "16 * b1 + t1 + 8 * C_1 <= 24" in text(("NI=60", "NJ=100", "NK=32"), replace(OUTER, run=4))


def test_without_runs_nothing_changes() -> None:
    plan = Plan(default_plan(polybench_program("gemm", ("MINI_DATASET",)), HOPPER).schedule,
                (KernelPlan(("S0",), (32,), (8,)),))
    assert '"run"' not in plan.to_json()
    changed = replace(plan, kernels=(replace(plan.kernels[0], run=2),))
    assert plan_from_json(changed.to_json()) == changed and changed.digest != plan.digest


@pytest.mark.parametrize("run", [3, 16])
def test_runs_divide_the_points(run: int) -> None:
    with pytest.raises(IllegalPlan, match=f"{run} neighbours in a row of S0, S1: a thread has 8 points along x"):
        text(("MINI_DATASET",), replace(OUTER, run=run))


@in_turn
def test_kernels_of_several_time_steps_are_offered_neither_runs_nor_vectors() -> None:
    program = polybench_program("jacobi-1d", ("N=3000", "TSTEPS=20"))
    plans = [plan for plan in random_plans(program, HOPPER, "o1", 40, 3) if isinstance(plan.schedule, TimeTiles)]
    assert plans and all(lower(program, plan, HOPPER) for plan in plans)
