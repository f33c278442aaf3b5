"""The level of a tile: the threads that share a tile with its stages and copies (ours).

All threads of a block share one tile, or those of a sub-group (warp), or each thread has its own; a block then has
several tiles side by side. Decided for kernels that compute other stages: a block needs barriers for them, a sub-group
a weaker one, a thread none; smaller tiles overlap more.
"""

from __future__ import annotations

from math import prod
from typing import get_args

from generator.decisions.asynchronous import kept_bytes
from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.combine import COMBINE, parts_bytes
from generator.decisions.fractions import lanes_of, team_tile
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK, walked
from generator.forms import one_of
from generator.nest import Level
from generator.target import LANES

_DEFAULT: Level = "block"
THREAD_BYTES, HOST_THREAD_BYTES = 256, 32 * 1024
"""The most bytes of arrays that a thread may keep: 64 registers of a GPU; on a CPU, the size of its first-level cache.
"""


def _offer(known: Known) -> Offer[Level]:
    if not (known.wide and known.shape.computes):
        return Offer((_DEFAULT,))
    if known[IN_REGISTERS]:
        return Offer(("sub-group",))
    block, private = known[SIZES].block, known[COMBINE] == "private"
    found: list[Level] = [_DEFAULT]
    lanes = lanes_of(known)
    if lanes is not None and prod(block) > LANES and _whole_steps(known, lanes):
        room = (known.target.local_bytes - parts_bytes(known)) // (prod(block) // LANES)
        if kept_bytes(known, team_tile(known, lanes), private) <= room:
            found.append("sub-group")  # a block that is one warp needs no other level
    most, one = HOST_THREAD_BYTES if known.target.shares_host_cores else THREAD_BYTES, (1,) * len(block)
    if kept_bytes(known, team_tile(known, one), private) <= most and _whole_steps(known, one):
        found.append("thread")
    return Offer(tuple(found), (("offered", " ".join(found)),))


def _whole_steps(known: Known, threads: tuple[int, ...]) -> bool:
    """Return whether the tile of a team of so many threads has at least two whole steps, each of whole rows of threads.
    """
    if not (walk := known[WALK]):
        return True
    d = walked(len(threads))
    rows = team_tile(known, threads)[d]
    return walk % threads[d] == 0 and rows > walk and rows % walk == 0


LEVEL = KernelDecision(
    "level",
    "tiles shared by",
    _DEFAULT,
    one_of(get_args(Level)),
    _offer,
    Row(
        "block, sub-group, thread",
        "the threads that share a tile with its stages and copies: all threads of a block, the threads of a sub-group"
        " (warp), or a single thread; a block then has several tiles side by side",
        "wide, kernels with overlapping tiles",
    ),
    lambda level: f"a {level}",
    younger=True,
)
