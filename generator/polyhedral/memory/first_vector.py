"""Grids of vectors that begin at a multiple of the vector: its first elements may be outside the domain.

A sweep over the inner elements of a matrix begins at element 1. Threads with four neighbours each from there on store
elements 1 to 4, 5 to 8: never a whole aligned vector. From element 0 on, all threads but the first and last do.
"""

from __future__ import annotations

from dataclasses import replace

from generator.plan import KernelPlan
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program

_ALONE = ("order", "run", "vector", "unroll", "columns", "cache")
"""The decisions beside which no part of a kernel depends on where its tiles begin."""


def from_whole_vectors(program: Program, part: KernelPart, plan: KernelPlan) -> KernelPart:
    """Return `part` with its x dimension extended downwards to a multiple of the plan's vectors of neighbours, unless
    copies, registers, stages or sums depend on where tiles begin.
    """
    if not part.parallel or plan.run == 1 or plan.vector != plan.run or part.coarse or program.stages:
        return part
    if plan.besides(*_ALONE):
        return part
    x = part.parallel[-1]
    return replace(part, parallel=(*part.parallel[:-1], replace(x, low=x.low - x.low % plan.run)))
