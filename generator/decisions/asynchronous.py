"""Asynchronous copies: whether the next tile goes to shared memory by itself, past the registers of threads (ours).

NVIDIA's GPUs from compute capability 8.0 on copy 4, 8 or 16 bytes from global to shared memory while the thread goes on
(`cp.async`, PTX ISA). The next tile needs a place of its own then, so that copies take twice the room. See
`generator.lowering.core.later`.
"""

from __future__ import annotations

from generator.decisions.ahead import AHEAD
from generator.decisions.base import KernelDecision, Known, Offer, Row, switch
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.padding import PADDING
from generator.decisions.registers import REGISTERS
from generator.decisions.sizes import SIZES
from generator.forms import FLAG


def _offer(known: Known) -> Offer[bool]:
    """Where the next tile is ahead, and there is room for it."""
    if not (known[AHEAD] and known.target.copies_asynchronously):
        return Offer((False,))
    tile, inner = known[SIZES].tile, known[INNER_TILE]
    copies, others = (
        known.shape.shared_bytes(tile, inner, known[PADDING], known[REGISTERS], copies=with_copies)
        for with_copies in (True, False)
    )
    room = 2 * copies - others <= known.target.local_bytes
    return switch(room, ((AHEAD.name, True), ("room", room)))


ASYNCHRONOUS = KernelDecision(
    "asynchronous",
    "asynchronous copies",
    False,
    FLAG,
    _offer,
    Row(
        "no, yes",
        "the next tile goes from global to shared memory while threads compute, not through their registers "
        "(`cp.async`): one barrier per tile instead of two, twice the shared memory; for elements of 4 bytes and more",
        "wide, NVIDIA GPUs from compute capability 8.0 on, with the next tile ahead",
    ),
    lambda _: "",
    younger=True,
)
