"""Tenths of the tile of a warp in registers (Jangda & Guha 2020, hybrid tiling).

Of what a kernel computes besides, the right part along x lies in registers, one value per lane, and lanes get values
from each other by shuffles; the left part and what overlaps lie in shared memory. Less shared memory per block lets a
device run more of them at once.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.combine import COMBINE
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.level import LEVEL, sub_group
from generator.decisions.points_inside import POINTS_INSIDE
from generator.decisions.registers import REGISTERS
from generator.decisions.run import RUN
from generator.decisions.shared import SHARED
from generator.decisions.sizes import SIZES
from generator.decisions.vector import VECTOR
from generator.decisions.walk import WALK
from generator.forms import Form

TENTHS = range(11)
MOST_WORDS = 64
"""32-bit registers that parts of tiles take, so that compilers have enough of 255 left for the rest."""


def in_registers(points: int, tenths: int) -> int:
    """How many of the `points` that a lane has along x are in registers: tenths, rounded to whole points."""
    return (points * tenths + 5) // 10


def _offer(known: Known) -> Offer[int]:
    """Where a warp has a tile of its own and several points along x: fractions that differ, and that fit."""
    sizes, nothing = known[SIZES], Offer((0,))
    if known[LEVEL] != "sub-group" or known[WALK] or known[RUN] > 1 or known[VECTOR] > 1 or known[INNER_TILE] > 1:
        return nothing
    if known[SHARED] or known[REGISTERS] or known[POINTS_INSIDE] or known[COMBINE] != COMBINE.default:
        return nothing
    lanes, points = sub_group(sizes.block), sizes.tile[-1] // sizes.block[-1]
    if lanes is None or points == 1:
        return nothing
    tile = tuple(t // b * n for t, b, n in zip(sizes.tile, sizes.block, lanes, strict=True))
    found, counts = [0], {0}
    for tenths in TENTHS:
        count = in_registers(points, tenths)
        words = None if count in counts else known.shape.split_words(tile, lanes, count)
        if words is not None and words <= MOST_WORDS:
            found.append(tenths)
            counts.add(count)
    return Offer(tuple(found), (("offered", tuple(found)),))


def _is_tenths(value: object) -> bool:
    return type(value) is int and value in TENTHS


IN_REGISTERS = KernelDecision(
    "in_registers",
    "tenths of the tile in registers",
    0,
    Form(_is_tenths, "a number of tenths from 0 to 10"),
    _offer,
    Row(
        "0, 1, .. 10, those that make a difference",
        "the right part of a warp's tile lies in registers, one value per lane, and lanes exchange values by shuffles; "
        "the left part and what overlaps lie in shared memory ([warps.md](warps.md))",
        "wide, tiles shared by a sub-group, several points along x, stages at constant distances",
    ),
    younger=True,
)
