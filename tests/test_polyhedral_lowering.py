"""Random loop nests through random plans: the lowered kernels compute what the original order computes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan, InputError
from generator.lowering.assemble import lower
from generator.lowering.shapes import KernelShape, kernel_shapes
from generator.plan import KernelPlan, Plan, ScheduleChoice
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from tests.support_interpreter import Device, run_original
from tests.support_nests import nest_texts
from tests.support_plans import lowered_kernels
from tests.support_programs import program_of, scop

TARGET = Target("test", "opencl", 256, (256, 256, 256), 1 << 20, 4, True, True)
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


def random_choice(rng: np.random.Generator) -> ScheduleChoice:
    first, second, third, fourth = (bool(rng.integers(2)) for _ in range(4))
    return ScheduleChoice("feautrier" if first else "pluto", second, third, fourth)


def random_kernel(shape: KernelShape, rng: np.random.Generator) -> KernelPlan:
    block = tuple(int(rng.integers(1, 4)) for _ in shape.extents)
    tile = tuple(b * int(rng.integers(1, 4)) for b in block)
    return KernelPlan(shape.statements, tile, block, bool(rng.integers(2)), int(rng.integers(1, 4)), 1,
                      bool(rng.integers(2)))


def check(program: Program, rng: np.random.Generator) -> str:
    """Lower by a random plan, run, compare; what came of it: `same`, or `isl` where isl itself fails."""
    choice = random_choice(rng)
    try:
        plan, variant = lowered_plan(program, choice, rng)
    except IllegalPlan as error:
        assert "isl " in str(error) or "was given up" in str(error)  # no schedule, no loops, or loops that lose some
        return "isl"
    kernels = lowered_kernels(program, plan)
    device = Device(program, kernels, rng)
    device.run(variant.host, {})
    assert device.memory.global_values(program) == run_original(program).global_values(program), plan.to_json()
    return "same"


def lowered_plan(program: Program, choice: ScheduleChoice, rng: np.random.Generator) -> tuple[Plan, Variant]:
    kernels = tuple(random_kernel(shape, rng) for shape in kernel_shapes(program, choice))
    plan = Plan(choice, tuple(sorted(kernels, key=lambda k: k.statements)))
    try:
        return plan, lower(program, plan, TARGET)
    except IllegalPlan as error:
        if "a barrier would stand" not in str(error):
            raise
    plan = Plan(choice, tuple(replace(kernel, shared=False) for kernel in plan.kernels))
    return plan, lower(program, plan, TARGET)


def check_seed(seed: int) -> str:
    rng = np.random.default_rng(seed)
    try:
        program = program_of(nest_texts(seed)[0])
    except InputError:
        return "empty"  # nothing is ever executed
    return check(program, rng)


def test_random_nests() -> None:
    counts = Counter(check_seed(seed) for seed in range(30))
    assert counts["same"] >= 25


@pytest.mark.parametrize("name", STENCILS)
def test_kernels_with_shared_copies(name: str) -> None:
    rng, program = np.random.default_rng(5), program_of(scop(STENCILS[name]))
    for _ in range(4):
        assert check(program, rng) == "same"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 1600, 100))
def test_many_random_nests(first: int) -> None:
    counts = Counter(check_seed(seed) for seed in range(first, first + 100))
    assert counts["same"] >= 90
    assert counts["isl"] <= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", STENCILS)
def test_many_plans(name: str) -> None:
    rng, program = np.random.default_rng(6), program_of(scop(STENCILS[name]))
    for _ in range(60):
        check(program, rng)
