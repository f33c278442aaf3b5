"""Warps with their own tiles, and the useful fractions of such a tile in registers: distinct ones that fit the device.
"""

from __future__ import annotations

from math import prod

from generator.decisions.base import Known
from generator.decisions.size_lists import Sizes
from generator.decisions.sizes import SIZES
from generator.target import LANES

TENTHS = range(11)
MOST_WORDS = 64
"""The most 32-bit registers for parts of tiles; the rest of 255 is left to compilers."""


def sub_group(block: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the threads of a sub-group in each dimension of a block, x first; None if the block has no whole
    sub-groups.
    """
    left, found = LANES, list[int]()
    for size in reversed(block):
        found.append(min(size, left))
        if size % found[-1] or left % found[-1]:
            return None
        left //= found[-1]
    return tuple(reversed(found)) if left == 1 else None


def lanes_of(known: Known) -> Sizes | None:
    """Return the threads of a warp with its own tile, in each dimension; None if there is none."""
    lanes = sub_group(known[SIZES].block) if known.target.sub_group >= LANES else None
    if lanes is None or (lanes[-1] < LANES and not known.target.language.rows_in_sub_groups):
        return None
    return lanes


def in_registers(points: int, tenths: int) -> int:
    """Return how many of a lane's `points` along x are in registers: tenths, rounded to whole points."""
    return (points * tenths + 5) // 10


def team_tile(known: Known, threads: Sizes) -> Sizes:
    """Return the tile of a team of so many threads."""
    sizes = known[SIZES]
    return tuple(t // b * n for t, b, n in zip(sizes.tile, sizes.block, threads, strict=True))


def fits_split(known: Known, lanes: Sizes, tenths: int, padding: int) -> bool:
    """Return whether a block fits the device with so many tenths of each warp's tile in registers."""
    tile, teams = team_tile(known, lanes), prod(known[SIZES].block) // prod(lanes)
    room = known.shape.lane_room(tile, lanes, in_registers(tile[-1] // lanes[-1], tenths), padding)
    return room is not None and room.words <= MOST_WORDS and teams * room.bytes <= known.target.local_bytes


def fitting_tenths(known: Known, lanes: Sizes) -> tuple[int, ...]:
    """Return the distinct tenths of each warp's tile that fit, without 0."""
    points, found, counts = team_tile(known, lanes)[-1] // lanes[-1], list[int](), {0}
    for tenths in TENTHS if points > 1 else ():
        count = in_registers(points, tenths)
        if count not in counts and fits_split(known, lanes, tenths, 0):
            found.append(tenths)
            counts.add(count)
    return tuple(found)
