"""Code of the schedules that are on offer is generated quickly, at the sizes of PolyBench and of the pipelines."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.errors import IllegalPlan
from generator.frontend_py.problem import read_pipeline
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.slow import in_turn
from tests.support.space_plans import random_plans
from tests.support.suite import large_program
from tests.support.targets import CPU


def seconds(program: Program, plan: Plan) -> float:
    """Processor time to lower a plan or to refuse it."""
    start = time.process_time()
    with suppress(IllegalPlan):
        lower(program, plan, CPU)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), [("fdtd-2d", 13), ("lu", 0)])
def test_tiles_along_wavefronts_are_checked_quickly(name: str, number: int) -> None:
    plan = random_plans(large_program(name), CPU, "o3", 16, 7)[number]  # these took 16.4 s and 2.9 s
    assert seconds(large_program(name), plan) < 2.5


@in_turn
def test_boxes_behind_chains_of_inline_stages_are_found_quickly() -> None:
    """What a tile reads by way of them has thousands of parts, one for each way through clamps and steps of 2^k."""
    program = read_pipeline(pipeline("max_filter").file, None, {"width": 60, "height": 50, "channels": 3}, 7).program
    inline, block = ("repeat_edge", "running_1", "running_2"), ("running_3", "running_4", "running_5")
    schedule = Stages((*((array, "inline") for array in inline), *((array, "block") for array in block)))
    (kernel,) = kernels_of(program, schedule)
    plan = KernelPlan(kernel.statements, (16, 32, 4), (2, 1, 1), order=(1, 2, 0), walk=8)
    assert seconds(program, Plan(schedule, (plan,))) < 2.5, "it took 28 s"
