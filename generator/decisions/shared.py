"""Shared memory: a block copies the arrays with reuse to shared (local) memory."""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.registers import REGISTERS
from generator.decisions.size_lists import InnerTiles
from generator.decisions.sizes import SIZES
from generator.decisions.unroll import UNROLL, inner_tiles


def fits(known: Known, inner_tile: InnerTiles, padding: int, copies: bool, uncopied: tuple[str, ...] = ()) -> bool:
    """Return whether a block's shared memory is sufficient for these decisions."""
    size = known.shape.shared_bytes(
        known[SIZES].tile, inner_tile, padding, known[REGISTERS], copies, uncopied=uncopied
    )
    return size <= known.target.local_bytes


def _offer(known: Known) -> Offer[bool]:
    """Offered if the copies fit with some inner tile."""
    if known[IN_REGISTERS] or not known.shape.shareable:
        return switch(False)
    return switch(any(fits(known, t, 0, True) for t in inner_tiles(known, known[UNROLL])))


SHARED = flag(
    "shared",
    "shared memory",
    _offer,
    Row(
        "no, yes",
        "copies the boxes that a block accesses to shared memory, using all threads; not possible where some threads "
        "would not reach the barriers of the copies",
    ),
)
