"""The level of a tile: who shares it, and what of arrays is kept for it (ours).

All threads of a block, or those of a sub-group (warp), or each thread has one of its own; a block has several such
tiles side by side then. No space offers more than blocks yet.
"""

from __future__ import annotations

from typing import get_args

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.forms import one_of
from generator.nest import Level

_DEFAULT: Level = "block"


def _offer(_: Known) -> Offer[Level]:
    return Offer((_DEFAULT,))


LEVEL = KernelDecision(
    "level",
    "tiles shared by",
    _DEFAULT,
    one_of(get_args(Level)),
    _offer,
    Row(
        "block, sub-group, thread",
        "who shares a tile, and what of arrays is kept for it: all threads of a block, those of a sub-group "
        "(warp), or each thread has a tile of its own; then a block has several of them side by side",
        "plans by hand",
    ),
    lambda level: f"a {level}",
    younger=True,
)
