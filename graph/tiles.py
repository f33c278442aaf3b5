"""The space of a single tile size: the default plan, with every loop tiled by the same number.

A baseline for searches: what a user of a compiler with a single option for tile sizes can try.
"""

from __future__ import annotations

from collections.abc import Callable

from generator.errors import IllegalPlan
from generator.plan import Plan
from graph.space import Chooser, DeadEnd, Decision, Space

TILE_SIZES = (4, 8, 16, 32, 64, 128, 256)


def make_tiles_space(plan_of: Callable[[int], Plan]) -> Space:
    """Return the space of the plans `plan_of(size)` for the sizes in TILE_SIZES. An illegal size is a dead end."""

    def space(chooser: Chooser) -> Plan:
        size = chooser.choose(Decision("tile size"), TILE_SIZES)
        assert isinstance(size, int)
        try:
            return plan_of(size)
        except IllegalPlan as error:
            raise DeadEnd from error

    return space
