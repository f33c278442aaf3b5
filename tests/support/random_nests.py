"""Random kernels for one schedule of the whole program: lowered, run in Python and compared with the original."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.core.assemble import lower
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from generator.variant import Variant
from tests.support.interpreter import Device, run_original
from tests.support.plans import lowered_kernels

TARGET = Target("test", "opencl", 256, (256, 256, 256), 1 << 20, 4, True, True)


def random_choice(rng: np.random.Generator) -> ScheduleChoice:
    first, second, third, fourth = (bool(rng.integers(2)) for _ in range(4))
    return ScheduleChoice("feautrier" if first else "pluto", second, third, fourth)


def random_kernel(shape: KernelShape, rng: np.random.Generator) -> KernelPlan:
    block = tuple(int(rng.integers(1, 4)) for _ in shape.extents)
    tile = tuple(b * int(rng.integers(1, 4)) for b in block)
    return KernelPlan(shape.statements, tile, block, shared=bool(rng.integers(2)), inner_tile=int(rng.integers(1, 4)),
                      points_inside=bool(rng.integers(2)))


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


def check(program: Program, rng: np.random.Generator) -> str:
    """Lower with a random plan, run, and compare; return `same`, or `isl` if isl itself fails."""
    choice = random_choice(rng)
    try:
        plan, variant = lowered_plan(program, choice, rng)
    except IllegalPlan as error:
        assert "isl " in str(error) or "was given up" in str(error)  # no schedule, no loops, or incomplete loops
        return "isl"
    kernels = lowered_kernels(program, plan)
    device = Device(program, kernels, rng)
    device.run(variant.host, {})
    assert device.memory.global_values(program) == run_original(program).global_values(program), plan.to_json()
    return "same"
