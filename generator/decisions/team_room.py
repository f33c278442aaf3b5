"""The levels of tiles that fit a device, if the block computes some stages for all of its tiles."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from math import prod

from generator.decisions.asynchronous import kept_bytes
from generator.decisions.base import Known
from generator.decisions.combine import COMBINE, parts_bytes
from generator.decisions.fractions import lanes_of, team_tile
from generator.decisions.padding import PADDING
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK, walked
from generator.nest import Level
from generator.target import LANES

THREAD_BYTES, HOST_THREAD_BYTES = 256, 32 * 1024
"""The most bytes of arrays that a thread may keep: 64 registers of a GPU; on a CPU, the size of its first-level cache.
"""


def smaller_teams(known: Known, of_block: Collection[str] = ()) -> Iterator[Level]:
    """Yield the levels with fewer threads than a block whose tiles fit, if the block computes the stages `of_block`."""
    block, private = known[SIZES].block, known[COMBINE] == "private"
    room = known.target.local_bytes
    if of_block:
        apart, shared = known.shape.without(tuple(sorted(of_block)), known[SIZES].tile, known[PADDING])
        known, room = replace(known, shape=apart), room - shared
    lanes = lanes_of(known)
    if (lanes is not None and prod(block) > LANES and _whole_steps(known, lanes)
            and kept_bytes(known, team_tile(known, lanes), private) + parts_bytes(known, lanes)
            <= room // (prod(block) // LANES)):
        yield "sub-group"  # a block that is one warp needs no other level
    most, one = HOST_THREAD_BYTES if known.target.shares_host_cores else THREAD_BYTES, (1,) * len(block)
    fits = kept_bytes(known, team_tile(known, one), private) <= most and (room >= 0 or not of_block)
    if fits and _whole_steps(known, one):
        yield "thread"


def _whole_steps(known: Known, threads: tuple[int, ...]) -> bool:
    """Return whether the tile of a team of so many threads has at least two whole steps, each of whole rows of threads.
    """
    if not (walk := known[WALK]):
        return True
    d = walked(len(threads))
    rows = team_tile(known, threads)[d]
    return walk % threads[d] == 0 and rows > walk and rows % walk == 0
