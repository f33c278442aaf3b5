"""Tenths of the tile of a warp in registers (Jangda & Guha 2020, hybrid tiling).

Of what a kernel computes besides, the right part along x lies in registers, one value per lane, and lanes get values
from each other by shuffles; the left part and what overlaps lie in shared memory. Less shared memory per block lets a
device run more of them at once.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.fractions import TENTHS, fitting_tenths
from generator.decisions.level import LEVEL, sub_group
from generator.decisions.sizes import SIZES
from generator.forms import Form


def _offer(known: Known) -> Offer[int]:
    """Where a warp has a tile of its own: fractions that differ, and that fit."""
    lanes = sub_group(known[SIZES].block) if known[LEVEL] == "sub-group" else None
    if lanes is None:
        return Offer((0,))
    found = fitting_tenths(known, lanes)
    return Offer(found, (("offered", found),))


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
