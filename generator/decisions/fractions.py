"""Which fractions of a warp's tile in registers are worth an offer: they differ, and the tile fits the device."""

from __future__ import annotations

from math import prod

from generator.decisions.asynchronous import kept_bytes
from generator.decisions.base import Known
from generator.decisions.combine import COMBINE, parts_bytes
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.padding import PADDING
from generator.decisions.points_inside import POINTS_INSIDE
from generator.decisions.registers import REGISTERS
from generator.decisions.run import RUN
from generator.decisions.shared import SHARED
from generator.decisions.size_lists import Sizes
from generator.decisions.sizes import SIZES
from generator.decisions.vector import VECTOR
from generator.decisions.walk import WALK

TENTHS = range(11)
MOST_WORDS = 64
"""32-bit registers that parts of tiles take, so that compilers have enough of 255 left for the rest."""


def in_registers(points: int, tenths: int) -> int:
    """How many of the `points` that a lane has along x are in registers: tenths, rounded to whole points."""
    return (points * tenths + 5) // 10


def team_tile(known: Known, threads: Sizes) -> Sizes:
    """The tile of a team of so many threads."""
    sizes = known[SIZES]
    return tuple(t // b * n for t, b, n in zip(sizes.tile, sizes.block, threads, strict=True))


def fitting_tenths(known: Known, lanes: Sizes) -> tuple[int, ...]:
    """The tenths of the tile of each warp (`lanes` in each dimension) that may be in registers, so that a block fits
    the device. 0 among them: all of it may be in shared memory.
    """
    tile, teams = team_tile(known, lanes), prod(known[SIZES].block) // prod(lanes)
    most = (known.target.local_bytes - parts_bytes(known)) // teams
    found, counts = list[int](), {0}
    if kept_bytes(known, tile, known[COMBINE] == "private") <= most:
        found.append(0)
    for tenths in TENTHS if _may_be_split(known) else ():
        count = in_registers(tile[-1] // lanes[-1], tenths)
        room = None if count in counts else known.shape.lane_room(tile, lanes, count, known[PADDING])
        if room and room.words <= MOST_WORDS and room.bytes <= most:
            found.append(tenths)
            counts.add(count)
    return tuple(found)


def _may_be_split(known: Known) -> bool:
    """Whether a lane has several points along x, and nothing was decided that goes with whole tiles only."""
    sizes = known[SIZES]
    whole = known[WALK] or known[SHARED] or known[REGISTERS] or known[POINTS_INSIDE] or known[INNER_TILE] > 1
    plain = known[RUN] == 1 and known[VECTOR] == 1 and known[COMBINE] == COMBINE.default
    return plain and not whole and sizes.tile[-1] > sizes.block[-1]
