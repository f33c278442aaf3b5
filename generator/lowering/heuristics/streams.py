"""A plan with streaming stores where the written data do not fit into the last-level cache."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.decisions.streamed import exceeding
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import Plan
from generator.program import Program
from generator.target import Target

LEAST_SHARE = 2
"""A copy that writes half of the last-level cache reads the other half: from there on nothing stays in it."""


def with_streams(program: Program, plan: Plan, target: Target) -> Plan | None:
    """Return `plan` with streaming stores in kernels of blocks of one thread; None if they would not pay, or on GPUs.

    Raises IllegalPlan if isl gives up.
    """
    if not target.shares_host_cores:
        return None
    shapes = {shape.statements: shape for shape in kernel_shapes(program, plan.scheduled, target.language)}
    kernels = tuple(replace(kernel, streamed=exceeding(shapes[kernel.statements], target, LEAST_SHARE))
                    if prod(kernel.block) == 1 else kernel for kernel in plan.kernels)
    return replace(plan, kernels=kernels) if any(kernel.streamed for kernel in kernels) else None
