"""Values that live within an iteration are variables of a thread: kernels are given no array for them, and results stay
right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.nest import Declare, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import Dialect
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_plan, run_plan
from tests.support.programs import program_of, scop
from tests.support.scalars import DECLARATIONS, scalar_nest
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET

BODIES = "float x[37], y[37], z[37], m[37], ax[37], ay[37], az[37];"
N_BODY = """for (i = 0; i < 37; i++) {
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
  for (j = 0; j < 37; j++) {
    float dx = x[j] - x[i]; float dy = y[j] - y[i]; float dz = z[j] - z[i];
    float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
    float inv = 1.0f / (r2 * r2); float s = m[j] * inv;
    fx += s * dx; fy += s * dy; fz += s * dz;
  }
  ax[i] = fx; ay[i] = fy; az[i] = fz;
}"""
OWN = ["ax", "ay", "az", "m", "x", "y", "z"]
SHAPES = ((1, 1), (8, 2), (16, 1))


def program(body: str, declarations: str = DECLARATIONS) -> Program:
    """The expanded program of a SCoP, as it is lowered."""
    return expand(program_of(scop(body, declarations)))


def right(made: Program, plan: Plan, seed: int) -> None:
    """The kernels of `plan` compute what the loops compute."""
    wrong = differences(made, run_plan(made, plan, np.random.default_rng(seed)), run_original(made))
    assert not wrong, (plan.to_json(), dict(list(wrong.items())[:3]))


@in_turn
@pytest.mark.parametrize("dialect", ["opencl", "cuda"])
@pytest.mark.parametrize("inside", few([True, False], 1))
@pytest.mark.parametrize("registers", few([True, False], 1))
def test_an_n_body_kernel_has_the_arrays_of_the_program_alone(dialect: Dialect, inside: bool, registers: bool) -> None:
    made = program(N_BODY.replace("37", "19"), BODIES.replace("37", "19"))
    [kernel] = default_plan(made, TARGET).kernels
    for number, (tile, block) in enumerate(SHAPES):
        own = replace(
            kernel,
            tile=(tile,),
            block=(block,),
            points_inside=inside,
            registers=registers,
            unroll=2,
            shared=False,
            inner_tile=1,
        )
        plan = Plan(default_plan(made, TARGET).schedule, (own,))
        [lowered] = lower(made, plan, replace(TARGET, dialect=dialect)).kernels
        assert sorted((*lowered.arrays, *lowered.scalars)) == OWN
        if dialect == "opencl":
            right(made, plan, number)


def test_text_of_n_body(golden: Callable[[str, str], None]) -> None:
    made = program(N_BODY, BODIES)
    golden("n-body.cl", lower(made, default_plan(made, TARGET), TARGET).source)


LIVE = {
    "an earlier iteration's value": "for (i = 0; i < 9; i++) { w[i + 1] = B[i][0]; A[i][1] = w[i]; }",
    "read before it is written": "for (i = 0; i < 9; i++) { A[i][1] = w[i]; w[i] = B[i][0]; A[i][2] = w[i]; }",
    "read by a later nest": "for (i = 0; i < 9; i++) w[i] = B[i][0]; for (i = 0; i < 9; i++) for (j = 0; j < 9; j++) "
        "A[i][j] = w[j];",
    "written under a condition": "for (i = 0; i < 9; i++) { if (B[i][0] > 2) w[i] = B[i][1]; A[i][1] = w[i]; }",
}


@pytest.mark.parametrize("case", LIVE)
def test_what_others_see_stays_an_array(case: str) -> None:
    made = program(f"double w[64]; {LIVE[case]}")
    plan = default_plan(made, TARGET)
    assert any("w" in kernel.arrays for kernel in lower(made, plan, TARGET).kernels)
    right(made, plan, 3)


def test_each_plan_decides_by_its_kernels() -> None:
    made = program("double w; for (i = 0; i < 9; i++) { w = B[i][0]; A[i][1] = w * w; }")
    together, apart = default_plan(made, TARGET), Plan(
        ScheduleChoice(serialize_sccs=True), tuple(KernelPlan((s,), (4,), (4,)) for s in ("S0", "S1")))
    assert [k.arrays for k in lower(made, together, TARGET).kernels] == [("A", "B")]
    assert all("w" in k.arrays for k in lower(made, apart, TARGET).kernels)
    for plan in (together, apart):
        right(made, plan, 1)


def check_random(seed: int) -> Counter[str]:
    """A random program that passes values in scalars, through random plans."""
    made, rng, counts = program(scalar_nest(seed)), np.random.default_rng(seed), Counter[str]()
    temporary = {array.name for array in made.arrays if array.role == "temp"}
    for number in range(3):
        try:
            plan = random_plan(made, rng)
            right(made, plan, number)
        except IllegalPlan:
            counts["refused"] += 1
            continue
        for kernel in lowered_kernels(made, plan):
            given = temporary & {array.name for array in kernel.arrays}
            held = {node.name for node in walk(kernel.body) if isinstance(node, Declare)}
            counts["arrays"] += len(given)
            counts["variables"] += sum(f"{name}_here" in held and name not in given for name in temporary)
    return counts


@in_turn
@pytest.mark.parametrize("seeds", few([[1, 8], [0, 1, 2, 6, 8]], 1))
def test_random_programs(seeds: list[int]) -> None:
    counts = sum((check_random(seed) for seed in seeds), Counter[str]())
    assert counts["variables"] >= 4 and counts["arrays"] >= 4, counts


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 500, 50))
def test_many_random_programs(first: int) -> None:
    counts = sum((check_random(seed) for seed in range(first, first + 50)), Counter[str]())
    assert counts["variables"] >= 20
