"""Tenths of the tile of a warp in registers (Jangda & Guha 2020, hybrid tiling).

Of the stages that a kernel computes, the right part along x is in registers, one value per lane, and lanes exchange
values by shuffles; the left part and the overlap are in shared memory. With less shared memory per block, a device can
run more blocks at once.

Decided right after sizes: with parts in registers, tiles are those of warps, and are neither copied nor walked. Decided
at the end, few plans could have any.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.fractions import TENTHS, fitting_tenths, lanes_of
from generator.decisions.walk import WALK
from generator.decisions.whole import WHOLE
from generator.forms import Form


def _offer(known: Known) -> Offer[int]:
    """Offered if a warp can have its own tile: the distinct fractions that fit."""
    if not (known.wide and known.shape.computes) or known[WALK] or known[DIAGONALS] or known[WHOLE]:
        return Offer((0,))
    lanes = lanes_of(known)
    found = (0, *fitting_tenths(known, lanes)) if lanes is not None else (0,)
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
        "the right part of a warp's tile is in registers, one value per lane, and lanes exchange values by shuffles; "
        "the left part and the overlap are in shared memory ([warps.md](warps.md))",
        "wide, kernels with `block` stages at constant distances, several points along x; then a sub-group shares the"
        " tile",
    ),
    younger=True,
)
