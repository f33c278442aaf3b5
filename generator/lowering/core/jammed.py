"""Unroll and jam: rows of points inside the loop over columns (`generator.decisions.jam`).

The loops over a thread's points are parallel, so any order of them is legal. The order is decided before isl generates
loops, and its result is checked like that of any other order.
"""

from __future__ import annotations

from collections.abc import Mapping

from generator.decisions.walk import walked
from generator.errors import IllegalPlan
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import Points, points_of

MOST_ROWS = 64
"""The text of a row is repeated by the compiler."""


def outer_dims(plan: KernelPlan) -> tuple[int, ...]:
    """Return the dimensions whose loops over points come before those over rows; () if rows are not together.

    Raises IllegalPlan if the plan has no rows to unroll, or too many.
    """
    if not plan.jam:
        return ()
    what = f"rows together of {', '.join(plan.statements)}"
    if len(plan.tile) < 2:
        raise IllegalPlan(f"{what}: it has {len(plan.tile)} parallel dimensions; 2 are needed")
    if plan.registers or plan.streamed or plan.levels:
        raise IllegalPlan(f"{what}: not with results in registers, streaming stores or stages with a level of their "
                          "own; leave out `registers`, `streamed` and `levels`, or `jam`")
    rows = walked(len(plan.tile))
    most = max((points.count for points in points_of(plan) if points.dim == rows), default=1)
    if not 1 < most <= MOST_ROWS:
        raise IllegalPlan(f"{what}: a thread has {most} rows at once; use 2 to {MOST_ROWS} (tile size, or `walk`, "
                          "divided by block size)")
    return tuple(d for d in range(len(plan.tile)) if d != rows)


def jammed_loops(plan: KernelPlan, loops: Mapping[str, Mapping[Points, str]],
                 owned: Mapping[str, Mapping[Points, str]]) -> Mapping[str, Mapping[Points, str]]:
    """Return the loops over points that are unrolled completely, by statement: `owned`, and those over rows if these
    are together.
    """
    if not plan.jam:
        return owned
    rows = walked(len(plan.tile))
    return {statement: {points: name for points, name in found.items()
                        if points.dim == rows or points in owned.get(statement, {})}
            for statement, found in loops.items()}
