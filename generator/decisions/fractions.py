"""Warps with tiles of their own, and which fractions of such a tile in registers are worth an offer: they differ, and
the tile fits the device.
"""

from __future__ import annotations

from math import prod

from generator.decisions.base import Known
from generator.decisions.size_lists import Sizes
from generator.decisions.sizes import SIZES
from generator.target import LANES

TENTHS = range(11)
MOST_WORDS = 64
"""32-bit registers that parts of tiles take, so that compilers have enough of 255 left for the rest."""


def sub_group(block: tuple[int, ...]) -> tuple[int, ...] | None:
    """The threads of a sub-group in each dimension of a block: x first, then rows, then planes; None where the block
    has no whole ones.
    """
    left, found = LANES, list[int]()
    for size in reversed(block):
        found.append(min(size, left))
        if size % found[-1] or left % found[-1]:
            return None
        left //= found[-1]
    return tuple(reversed(found)) if left == 1 else None


def lanes_of(known: Known) -> Sizes | None:
    """The threads of a warp that can have a tile of its own, in each dimension; None where none can."""
    lanes = sub_group(known[SIZES].block) if known.target.sub_group >= LANES else None
    if lanes is None or (lanes[-1] < LANES and not known.target.language.rows_in_sub_groups):
        return None
    return lanes


def in_registers(points: int, tenths: int) -> int:
    """How many of the `points` that a lane has along x are in registers: tenths, rounded to whole points."""
    return (points * tenths + 5) // 10


def team_tile(known: Known, threads: Sizes) -> Sizes:
    """The tile of a team of so many threads."""
    sizes = known[SIZES]
    return tuple(t // b * n for t, b, n in zip(sizes.tile, sizes.block, threads, strict=True))


def fits_split(known: Known, lanes: Sizes, tenths: int, padding: int) -> bool:
    """Whether a block fits the device with so many tenths of the tile of each of its warps in registers."""
    tile, teams = team_tile(known, lanes), prod(known[SIZES].block) // prod(lanes)
    room = known.shape.lane_room(tile, lanes, in_registers(tile[-1] // lanes[-1], tenths), padding)
    return room is not None and room.words <= MOST_WORDS and teams * room.bytes <= known.target.local_bytes


def fitting_tenths(known: Known, lanes: Sizes) -> tuple[int, ...]:
    """The tenths of the tile of each warp that differ, fit, and are not 0."""
    points, found, counts = team_tile(known, lanes)[-1] // lanes[-1], list[int](), {0}
    for tenths in TENTHS if points > 1 else ():
        count = in_registers(points, tenths)
        if count not in counts and fits_split(known, lanes, tenths, 0):
            found.append(tenths)
            counts.add(count)
    return tuple(found)
