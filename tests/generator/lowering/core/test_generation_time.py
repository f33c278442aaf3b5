"""Code of the schedules that are on offer is generated quickly, at the sizes of PolyBench."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.plan import Plan
from generator.program import Program
from tests.support.space_plans import random_plans
from tests.support.suite import large_program
from tests.support.targets import CPU


def seconds(program: Program, plan: Plan) -> float:
    """Processor time to lower a plan or to refuse it."""
    start = time.process_time()
    with suppress(IllegalPlan):
        lower(program, plan, CPU)
    return time.process_time() - start


@pytest.mark.parametrize(("name", "number"), [("fdtd-2d", 13), ("lu", 0)])
def test_tiles_along_wavefronts_are_checked_quickly(name: str, number: int) -> None:
    plan = random_plans(large_program(name), CPU, "o3", 16, 7)[number]  # these took 16.4 s and 2.9 s
    assert seconds(large_program(name), plan) < 2.5
