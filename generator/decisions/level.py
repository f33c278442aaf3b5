"""The level of a tile: the threads that share a tile with its stages and copies (ours).

All threads of a block share one tile, or those of a sub-group (warp), or each thread has its own; a block then has
several tiles side by side. Decided for kernels that compute other stages: a block needs barriers for them, a sub-group
a weaker one, a thread none; smaller tiles overlap more.
"""

from __future__ import annotations

from typing import get_args

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.levels import LEVELS
from generator.decisions.team_room import smaller_teams
from generator.forms import one_of
from generator.nest import Level

_DEFAULT: Level = "block"


def _offer(known: Known) -> Offer[Level]:
    if not (known.wide and known.shape.computes):
        return Offer((_DEFAULT,))
    if known[IN_REGISTERS]:
        return Offer(("sub-group",))
    of_block = [name for name, _ in known[LEVELS]]
    found = (*(() if of_block else (_DEFAULT,)), *smaller_teams(known, of_block))
    return Offer(found, (("offered", " ".join(found)),))


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
