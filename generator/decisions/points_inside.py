"""Points inside: run the loops over a thread's points inside its sequential loops instead of around them (ours)."""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.sizes import SIZES


def _offer(known: Known) -> Offer[bool]:
    return switch(known.wide and known.shape.sequential and known[SIZES].several_points)


POINTS_INSIDE = flag(
    "points_inside", "points inside sequential loops", _offer,
    Row("no, yes", "yes: the loop over a thread's points is inside the sequential loops, so all points reuse the data"
                   " loaded in a step", "wide"))
