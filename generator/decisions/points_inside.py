"""Points inside: run the loops over a thread's points inside its sequential loops, and inside the sums of inline
stages, instead of around them (ours).
"""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.sizes import SIZES

MOST_TOGETHER = 32
"""The most points of a thread whose inline sums are computed together: each needs a register of its own."""
LEAST_TERMS = 16
"""Shorter sums are computed one after the other, without a question."""


def _offer(known: Known) -> Offer[bool]:
    """Offered with sequential loops, and with long sums of inline stages if some points fit into registers."""
    sizes, inline = known[SIZES], known.shape.summed >= LEAST_TERMS
    last = next((t // b for t, b in zip(reversed(sizes.tile), reversed(sizes.block), strict=True) if t > b), 0)
    return switch(known.wide and sizes.several_points
                  and (known.shape.sequential or (inline and last <= MOST_TOGETHER)))


POINTS_INSIDE = flag(
    "points_inside", "points inside sequential loops", _offer,
    Row("no, yes", "yes: the loop over a thread's points is inside the sequential loops, so all points reuse the data"
                   " loaded in a step; also inside the sums of inline stages, for at most 32 points", "wide"))
