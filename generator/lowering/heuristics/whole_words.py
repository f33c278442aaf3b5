"""Neighbours per thread for images of 8 and 16 bits on GPUs.

A thread that stores a byte computes as many subscripts as one that stores four, and a warp that stores 32 bytes needs a
memory transaction of its own.
"""

from __future__ import annotations

from dataclasses import replace

from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.program import ELEMENT_BYTES, Program
from generator.schedules.stages import Stages

WORD = 4
"""The bytes that a thread should store at least."""


def with_whole_words(program: Program, shape: KernelShape, plan: KernelPlan, choice: Stages) -> KernelPlan:
    """Return `plan` with so many neighbours along x per thread that it stores a word of a small element type.

    Kernels with loops inside or stages in blocks, and those that have several points along x, stay as they are.
    """
    inside = {array for array, _ in choice.computed}
    targets = {program.statement(name).body.target.array for name in plan.statements} - inside
    size = min((ELEMENT_BYTES[program.array(array).type] for array in targets), default=WORD)
    several = plan.tile[-1:] != plan.block[-1:] or plan.run > 1
    x = shape.ordered(plan.order).extents[-1:]
    if size >= WORD or shape.sequential or shape.computes or several or not x or x[0] < plan.tile[-1] * WORD // size:
        return plan
    run = WORD // size
    return replace(plan, tile=(*plan.tile[:-1], plan.tile[-1] * run), run=run, vector=run)
