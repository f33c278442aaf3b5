"""Neighbours per thread for images of 8 and 16 bits on GPUs.

A thread that stores a byte computes as many subscripts as one that stores four, and a warp that stores 32 bytes needs a
memory transaction of its own. A stencil in threads with several rows is different: the rows share most of their loads,
and twice as many threads hide their latency better. A stage of stencil_chain (16 bits, 5 x 5 points, 8 rows per thread)
takes an H200 12.2 us with one column per thread, 15.5 us with two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from generator.expr import loads_of
from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.program import ELEMENT_BYTES, Assignment, Program
from generator.schedules.stages import Stages

WORD = 4
"""The bytes that a thread should store at least."""
_SHARED = 4
"""So many loads per column, on average, make a stencil whose rows share most of them. With three (blur), two columns
per thread are not slower.
"""


def with_whole_words(program: Program, shape: KernelShape, plan: KernelPlan, choice: Stages) -> KernelPlan:
    """Return `plan` with so many neighbours along x per thread that it stores a word of a small element type.

    Kernels with loops inside or stages in blocks, those that have several points along x, and stencils in threads with
    several rows stay as they are.
    """
    inside = {array for array, _ in choice.computed}
    bodies = [program.statement(name).body for name in plan.statements]
    bodies = [body for body in bodies if body.target.array not in inside]
    size = min((ELEMENT_BYTES[program.array(body.target.array).type] for body in bodies), default=WORD)
    several = plan.tile[-1:] != plan.block[-1:] or plan.run > 1
    x = shape.ordered(plan.order).extents[-1:]
    if size >= WORD or shape.sequential or shape.computes or several or not x or x[0] < plan.tile[-1] * WORD // size:
        return plan
    if plan.tile[-2:-1] != plan.block[-2:-1] and _loads_per_column(bodies) >= _SHARED:
        return plan
    run = WORD // size
    return replace(plan, tile=(*plan.tile[:-1], plan.tile[-1] * run), run=run, vector=run)


def _loads_per_column(bodies: Iterable[Assignment]) -> float:
    """Return how many elements are loaded per element that is different in more than its row."""
    loads = {(load.array, load.index) for body in bodies for value in body.computed for load in loads_of(value)
             if len(load.index) > 1}
    columns = {(array, *index[:-2], index[-1]) for array, index in loads}
    return len(loads) / len(columns) if columns else 0.0
