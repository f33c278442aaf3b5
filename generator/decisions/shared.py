"""Shared memory: a block copies the arrays with reuse to shared (local) memory."""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.registers import REGISTERS
from generator.decisions.size_lists import InnerTiles, Sizes
from generator.decisions.sizes import SIZES
from generator.decisions.unroll import UNROLL, inner_tiles


def fits(known: Known, inner_tile: InnerTiles, padding: int, copies: bool, uncopied: tuple[str, ...] = ()) -> bool:
    """Return whether a block's shared memory is sufficient for these decisions."""
    size = known.shape.shared_bytes(
        known[SIZES].tile, inner_tile, padding, known[REGISTERS], copies, uncopied=uncopied
    )
    return size <= known.target.local_bytes


def depths_of(known: Known) -> Sizes:
    """Return the numbers of loops that may run around copies (generator.decisions.depth)."""
    return (0, *(known.shape.depths if known.wide and not known.target.shares_host_cores else ()))


def fits_at(known: Known, depth: int) -> bool:
    """Return whether there are copies inside so many loops that fit with some inner tile."""
    shape = known.shape.deeper(depth) if depth else known.shape
    return bool(shape.shareable) and any(
        shape.shared_bytes(known[SIZES].tile, inner, registers=known[REGISTERS]) <= known.target.local_bytes
        for inner in inner_tiles(known, known[UNROLL]))


def _offer(known: Known) -> Offer[bool]:
    """Offered if the copies fit with some inner tile, at some depth in the wide space of GPUs."""
    if known[IN_REGISTERS]:
        return switch(False)
    return switch(any(fits_at(known, depth) for depth in depths_of(known)))


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
