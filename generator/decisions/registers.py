"""Registers: a thread keeps the elements that it updates in registers until its end (ours)."""

from __future__ import annotations

from math import prod

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.sizes import SIZES

MAX_REGISTERS = 64


def _offer(known: Known) -> Offer[bool]:
    """Offered if elements are updated repeatedly, and a thread does not have too many of them."""
    shape, found = known.shape, known[SIZES]
    updated = [owned for owned in shape.kept if shape.sequential or 0 < len(owned) < len(shape.extents)]
    worth = any(prod(found.tile[d] // found.block[d] for d in owned) <= MAX_REGISTERS for owned in updated)
    return switch(known.wide and worth and not known[IN_REGISTERS])


REGISTERS = flag(
    "registers",
    "registers",
    _offer,
    Row(
        "no, yes",
        "a thread keeps the elements that it updates in registers until its end; partial tiles, also those along the "
        "edge of a triangle, are padded with work whose results are dropped, so that loops over points unroll "
        "completely; the sum (a parallel reduction) stays a loop around them. With points inside, the inner loop is "
        "an outer product as in a hand-written matrix multiplication",
        "wide",
    ),
)
