"""Asynchronous copies: copy the next tile to shared memory directly, without registers (ours).

NVIDIA's GPUs from compute capability 8.0 on copy 4, 8 or 16 bytes from global to shared memory while the thread
continues (`cp.async`, PTX ISA). The next tile then needs its own buffer, so copies take twice the memory. See
`generator.lowering.core.later`.
"""

from __future__ import annotations

from generator.decisions.ahead import AHEAD
from generator.decisions.base import KernelDecision, Known, Offer, Row, switch
from generator.decisions.fragments import ROUNDED_LATER, tensor_depths
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.padding import PADDING
from generator.decisions.products import PRODUCTS
from generator.decisions.registers import REGISTERS
from generator.decisions.shared import SHARED
from generator.decisions.size_lists import Sizes
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.vector import VECTOR
from generator.forms import FLAG

LEAST_BYTES = 4
"""The smallest asynchronous copy."""


def _offer(known: Known) -> Offer[bool]:
    """Offered if a next tile of large enough elements is loaded ahead, and the memory is sufficient."""
    if not (known[AHEAD] and known.target.copies_asynchronously):
        return Offer((False,))
    if known[PRODUCTS] != PRODUCTS.default:
        return _on_tensor_cores(known)
    elements = known.shape.next_copies(known[INNER_TILE], known[UNCOPIED])
    if all(element * known[VECTOR] < LEAST_BYTES for element in elements):
        return Offer((False,))
    room = _bytes(known, known[SIZES].tile, False, twice=True) <= known.target.local_bytes
    return switch(room, ((AHEAD.name, True), ("room", room)))


def _on_tensor_cores(known: Known) -> Offer[bool]:
    """Offered if factors need no rounding on the way to shared memory, and two tiles fit.

    AHEAD is decided before PADDING, and so before it is known whether two tiles fit: only tiles that registers could
    hold too (`fragments.can_hold`) get here. Lowering also accepts larger ones.
    """
    room = tensor_depths(known.shape, known.target, known[PRODUCTS], known[SIZES].tile, known[PADDING], twice=True)
    fits = known[PRODUCTS] in ROUNDED_LATER and known[INNER_TILE] in room
    return switch(fits, ((AHEAD.name, True), (PRODUCTS.name, known[PRODUCTS]), ("room", fits)))


def kept_bytes(known: Known, tile: Sizes, private: bool) -> int:
    """Return the shared memory of the threads that share a `tile`, counting asynchronous copies twice.

    `private`: with private updates. For later decisions.
    """
    return _bytes(known, tile, private, known[ASYNCHRONOUS])


def _bytes(known: Known, tile: Sizes, private: bool, twice: bool) -> int:
    with_copies, others = (
        known.shape.shared_bytes(
            tile, known[INNER_TILE], known[PADDING], known[REGISTERS], copies, private, known[UNCOPIED]
        )
        for copies in (known[SHARED], False)
    )
    return with_copies + (with_copies - others if twice else 0)


ASYNCHRONOUS = KernelDecision(
    "asynchronous",
    "asynchronous copies",
    False,
    FLAG,
    _offer,
    Row(
        "no, yes",
        "copies the next tile from global to shared memory while threads compute, without using registers "
        "(`cp.async`): one barrier per tile instead of two, twice the shared memory; for elements of 4 bytes and more "
        "(on tensor cores, factors of tf32)",
        "wide, NVIDIA GPUs from compute capability 8.0 on, with the next tile ahead",
    ),
    lambda _: "",
    younger=True,
)
