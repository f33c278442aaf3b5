"""Random loop nests through random plans: the lowered kernels compute what the original order computes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from tests.support.interpreter import Device, run_original
from tests.support.nests import nest_texts
from tests.support.plans import TARGET, lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.random_nests import check
from tests.support.slow import few

STENCILS = {
    "guarded": "for (i = 0; i < 9; i++) for (j = 0; j < 7; j++) A[i][j] = (i > 0 ? B[i-1][j] : 0) + "
               "(j < 6 ? B[i][j+1] : 0) + (i > 20 ? B[i-30][j] : B[i][j]);",
    "product": "for (i = 0; i < 7; i++) for (j = 0; j < 6; j++) { A[i][j] *= s; for (k = 0; k < 5; k++) "
               "A[i][j] += B[i][k] * B[k][j]; }",
    "triangle": "for (i = 0; i < 8; i++) for (j = 0; j <= i; j++) for (k = j; k < 8; k += 2) "
                "A[i][j] += B[k][i] * x[k];",
    "time": "for (k = 0; k < 3; k++) { for (i = 1; i < 8; i++) y[i] = x[i-1] + x[i+1]; "
            "for (i = 8; i > 0; i--) x[i] = y[i]; }",
}


BACKWARDS = ("for (i = 0; i < 4; i++) {"
             " for (j = 0; j < 37; j++) { A[i][j] = B[i][j] + 7; A[i][70 - j] = B[i][j] + 14; }"
             " for (j = 3 * i; j < 36; j++) if (j % 2 == 0) A[3 - i][j] = B[i][j] + 21; }")


def check_seed(seed: int) -> str:
    rng = np.random.default_rng(seed)
    try:
        program = program_of(nest_texts(seed)[0])
    except InputError:
        return "empty"  # nothing is ever executed
    return check(program, rng)


def test_random_nests() -> None:
    counts = Counter(check_seed(seed) for seed in range(10))
    assert counts["same"] >= 8


@pytest.mark.parametrize("name", few(STENCILS, 2))
def test_kernels_with_shared_copies(name: str) -> None:
    rng, program = np.random.default_rng(5), program_of(scop(STENCILS[name]))
    for _ in range(4):
        assert check(program, rng) == "same"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1600, 100))
def test_many_random_nests(first: int) -> None:
    counts = Counter(check_seed(seed) for seed in range(first, first + 100))
    assert counts["same"] + counts["empty"] + counts["isl"] == 100
    assert counts["same"] >= 85 and counts["isl"] <= 5, "few nests run nothing, or have loops that isl makes wrong"


@pytest.mark.slow
@pytest.mark.parametrize("name", STENCILS)
def test_many_plans(name: str) -> None:
    rng, program = np.random.default_rng(6), program_of(scop(STENCILS[name]))
    for _ in range(60):
        check(program, rng)


def test_loops_in_another_order_than_the_schedules_are_refused() -> None:
    """A[i][36] is first written by S1 and then by S0; in the text that isl makes, S1 comes last."""
    program = program_of(scop(BACKWARDS, "int A[4][140], B[4][70];"))
    plan = Plan(ScheduleChoice(serialize_sccs=True), (KernelPlan(("S0", "S1", "S2"), (3, 16), (1, 1)),))
    with pytest.raises(IllegalPlan, match=r"another order than the schedule's: .*S0"):
        lower(program, plan, TARGET)
    usual = replace(plan, kernels=(KernelPlan(("S0", "S1", "S2"), (32, 32), (16, 16)),))
    device = Device(program, lowered_kernels(program, usual), np.random.default_rng(1))
    device.run(lower(program, usual, TARGET).host, {})
    assert device.memory.global_values(program) == run_original(program).global_values(program)
