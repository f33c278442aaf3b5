"""Aligned copies: rows of shared copies begin and end at multiples of the elements per access (ours).

A stencil reads rows from the element before its tile to the one behind it. Their copies would be made one element at a
time: the first element is at no multiple of a vector's size, or their length is not. With up to three elements more on
either side, which the array has, rows are whole vectors. See `generator.lowering.memory.staging`.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.products import PRODUCTS
from generator.decisions.registers import REGISTERS
from generator.decisions.shape import Shape
from generator.decisions.shared import SHARED
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.vector import VECTOR
from generator.forms import COUNT


def _offer(known: Known) -> Offer[int]:
    """Offered if rows of a copy become whole vectors, and all copies fit then."""
    lanes, tile, inner = known[VECTOR], known[SIZES].tile, known[INNER_TILE]
    if lanes == 1 or not known[SHARED] or known[PRODUCTS] != PRODUCTS.default:
        return Offer((0,))
    wider = known.shape.aligned(lanes)
    size, plain = (shape.shared_bytes(tile, inner, registers=known[REGISTERS], uncopied=known[UNCOPIED])
                   for shape in (wider, known.shape))
    offered = (0, lanes) if plain < size <= known.target.local_bytes else (0,)
    return Offer(offered, ((VECTOR.name, lanes), ("offered", offered)))


class _Aligned(KernelDecision[int]):
    """Later decisions see the kernel with such copies."""

    def turned(self, shape: Shape, value: int) -> Shape:
        """See KernelDecision."""
        return shape.aligned(value) if value else shape


ALIGNED = _Aligned(
    "aligned",
    "aligned copies",
    0,
    COUNT,
    _offer,
    Row(
        "0, 1 (as many as elements per access)",
        "rows of shared copies begin and end at multiples of so many elements, with up to one less on either side that "
        "nothing reads, so that they are copied in vectors; for arrays whose rows are multiples, too "
        "([more](copies.md#aligned-copies))",
        "wide, on GPUs, copies that are not aligned otherwise, as those of stencils",
    ),
    younger=True,
)
