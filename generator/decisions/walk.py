"""Rows per step: a block walks down its tile, and computes each row of its stages once (ours).

This is Halide's `compute_at` the loop over the rows of a tile with `store_at` the loop around it: the rows of a stage
that a step shares with the previous step are still stored (a sliding window). Decided before sizes: a block then keeps
a few rows of its stages, whatever the size of its tile.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.room import room_of
from generator.decisions.shape import Shape
from generator.forms import COUNT

STEPS = (1, 2, 4, 8)


def walked(dimensions: int) -> int:
    """Return the number of the parallel dimension along which blocks walk (y), of so many, outermost first."""
    return dimensions - 2


def _offer(known: Known) -> Offer[int]:
    """Offered if blocks compute stages and have at least two steps: the numbers of rows with which some sizes fit.

    (Blocks that walk do not tile sequential loops.)
    """
    shape = known.shape
    if not (known.wide and shape.walkable):
        return Offer((0,))
    rows = shape.extents[walked(len(shape.extents))]
    offered = tuple(step for step in (0, *STEPS) if rows > step and _fits(known, step)) or (0,)
    return Offer(offered, (("offered", offered),))


def _fits(known: Known, step: int) -> bool:
    """Return whether the stages fit in shared memory, with so many rows at a time (0: all)."""
    shape = known.shape.walking(step) if step else known.shape
    return room_of(shape, known.target, known.wide, step).completes((), 1, 1)


class _Walk(KernelDecision[int]):
    """Later decisions see the kernel with boxes for one step."""

    def turned(self, shape: Shape, value: int) -> Shape:
        """See KernelDecision."""
        return shape.walking(value) if value else shape


WALK = _Walk(
    "walk",
    "rows per step",
    0,
    COUNT,
    _offer,
    Row(
        "0, 1, 2, 4, 8",
        "sliding window: a block processes its tile in steps of this many rows. It keeps the rows of each stage that "
        "the next step needs, and computes every row once (0: the whole tile at once)",
        "wide, kernels with `block` stages",
    ),
    younger=True,
)
