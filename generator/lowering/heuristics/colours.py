"""Threads of a GPU that compute all colours of a point.

Blocks that have one colour each would compute what their stages have in common, such as the grey values of an image,
once per colour.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.decisions.size_lists import cover
from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.program import Program
from generator.schedules.stages import Stages

_COLOURS = 4
"""The most colours; others are a dimension like any other."""
_POINTS = 8
"""The most points of a thread before."""


def with_all_colours(program: Program, shape: KernelShape, plan: KernelPlan, choice: Stages) -> KernelPlan:
    """Return `plan` with all colours of a point in a thread, if no stage that the blocks compute has colours.

    Colours are a short outermost dimension. Kernels with other dimensions as x, loops inside or many points per thread
    stay as they are.
    """
    extents = shape.extents
    if len(extents) < 3 or extents[0] > _COLOURS or shape.sequential or plan.order:
        return plan
    if not plan.tile or plan.tile[0] > 1 or plan.points_inside or prod(plan.tile) > _POINTS * prod(plan.block):
        return plan
    in_blocks = {array for array, place in choice.computed if place == "block"}
    targets = [program.statement(name).body.target for name in shape.statements]
    stages = [target for target in targets if target.array in in_blocks]
    if not stages or any(len(target.index) >= len(extents) for target in stages):
        return plan
    return replace(plan, tile=(cover(extents[0]), *plan.tile[1:]))
