"""Stages with levels of their own: those that a block computes for all of its tiles, before these (ours).

Halide's `compute_at` for stages of one kernel at different loops of their consumer: the first stages of a chain at the
loop over blocks, in shared memory, which all threads fill; the later ones at the loop over the tiles of sub-groups or
threads, from these boxes. Small tiles overlap much; the first stages, whose overlap is largest, then have the large
tile of a block, while later ones need no barriers. Asked before the level of the other stages, which is then that of
fewer threads.
"""

from __future__ import annotations

from math import prod

from generator.decisions.as_texts import TextsDecision
from generator.decisions.base import Known, Offer, Row
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.jam import JAM
from generator.decisions.products import PRODUCTS
from generator.decisions.sizes import SIZES
from generator.decisions.team_room import smaller_teams
from generator.decisions.whole import WHOLE
from generator.forms import Form, pairs
from generator.nest import Levels

_PAIRS = pairs("level", ("block", "sub-group"))


def _offer(known: Known) -> Offer[Levels]:
    """The first stages of chains, if they fit in shared memory and the others at a level of fewer threads."""
    plain = known[PRODUCTS] == PRODUCTS.default and not (known[IN_REGISTERS] or known[DIAGONALS] or known[JAM])
    if not (known.wide and known.shape.computes and plain) or prod(known[SIZES].block) == 1:
        return Offer(((),))
    whole = known[WHOLE]
    offered = tuple(_of_block(names) for names in known.shape.cuts
                    if not any(name in whole for name in names) and any(smaller_teams(known, names)))
    return Offer(((), *offered), (("offered", "; ".join(map(_text, offered))),))


def _of_block(names: tuple[str, ...]) -> Levels:
    return tuple((name, "block") for name in names)


def _text(levels: Levels) -> str:
    return ", ".join(f"{name} by the {level}" for name, level in levels) or "no stage"


def _are_levels(value: object) -> bool:
    return _PAIRS.holds(value) and isinstance(value, list) and value == sorted(value)


LEVELS = TextsDecision[Levels](
    "levels",
    "stages with a level of their own",
    (),
    Form(_are_levels, f"{_PAIRS.wanted}, sorted by name"),
    _offer,
    Row(
        "no stage, or the first stages of chains of `block` stages: up to three ways to cut the chains",
        "all threads of a block compute these stages, in shared memory, for the tiles of all of its sub-groups or "
        "threads, which then compute the other stages for their own tiles. By hand, in a plan: `\"levels\": "
        "[[\"gray\", \"block\"]]`, also with `sub-group` in kernels with `level` thread",
        "wide, kernels with several `block` stages, if there is room; the level of the others then has fewer threads",
    ),
    _text,
    younger=True,
)
