"""The level of a tile: who shares it, and what of arrays is kept for it (ours).

All threads of a block, or those of a sub-group (warp), or each thread has one of its own; a block has several such
tiles side by side then. Asked where a kernel computes stages besides: shared by a block they need barriers, in a
sub-group a weaker one, in a thread none; smaller tiles overlap more.
"""

from __future__ import annotations

from math import prod
from typing import get_args

from generator.decisions.asynchronous import kept_bytes
from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.combine import COMBINE
from generator.decisions.fractions import fitting_tenths, team_tile
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK, walked
from generator.forms import one_of
from generator.nest import Level
from generator.target import LANES

_DEFAULT: Level = "block"
THREAD_BYTES, HOST_THREAD_BYTES = 256, 32 * 1024
"""What a thread may keep of the arrays: 64 registers of a GPU; on a CPU, what its first-level cache holds."""


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


def _offer(known: Known) -> Offer[Level]:
    if not (known.wide and known.shape.computes):
        return Offer((_DEFAULT,))
    block, language = known[SIZES].block, known.target.language
    found: list[Level] = [_DEFAULT]
    lanes = sub_group(block) if known.target.sub_group >= LANES else None
    lanes = lanes if lanes is None or _whole_steps(known, lanes) else None
    rows = lanes is not None and (lanes[-1] == LANES or language.rows_in_sub_groups)
    tenths = fitting_tenths(known, lanes) if lanes is not None and rows else ()
    if any(tenths) or (tenths and prod(block) > LANES):
        found.append("sub-group")  # a block that is one warp: only with parts in registers
    most, one = HOST_THREAD_BYTES if known.target.shares_host_cores else THREAD_BYTES, (1,) * len(block)
    if kept_bytes(known, team_tile(known, one), known[COMBINE] == "private") <= most and _whole_steps(known, one):
        found.append("thread")
    return Offer(tuple(found), (("offered", " ".join(found)),))


def _whole_steps(known: Known, threads: tuple[int, ...]) -> bool:
    """Whether the tile of a team of so many threads is a whole number of its steps, each of whole rows of threads."""
    if not (walk := known[WALK]):
        return True
    d = walked(len(threads))
    return walk % threads[d] == 0 and known[SIZES].tile[d] // known[SIZES].block[d] * threads[d] % walk == 0


LEVEL = KernelDecision(
    "level",
    "tiles shared by",
    _DEFAULT,
    one_of(get_args(Level)),
    _offer,
    Row(
        "block, sub-group, thread",
        "who shares a tile, and what of stages and copies is kept for it: all threads of a block, those of a "
        "sub-group (warp), or each thread has a tile of its own; then a block has several of them side by side",
        "wide, kernels that compute stages besides",
    ),
    lambda level: f"a {level}",
    younger=True,
)
