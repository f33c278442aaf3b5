"""Loops around copies: how many sequential loops run around the place where shared copies are filled (ours).

Of sequential loops in one another that cannot be tiled together (the three loops of a convolution's sum, whose order
must stay), only the outermost is tiled otherwise, and a copy holds everything that the inner ones read. With a depth,
as many loops run value by value around the copies, and the next one is tiled.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.shape import Shape
from generator.decisions.shared import SHARED, depths_of, fits_at
from generator.forms import COUNT


def _offer(known: Known) -> Offer[int]:
    """Offers the depths at which copies fit."""
    depths = depths_of(known)
    if not known[SHARED] or len(depths) == 1:
        return Offer((0,))
    offered = tuple(depth for depth in depths if fits_at(known, depth)) or (0,)
    return Offer(offered, (("offered", offered),))


class _Depth(KernelDecision[int]):
    """Later decisions see the kernel with copies at this place."""

    def turned(self, shape: Shape, value: int) -> Shape:
        """See KernelDecision."""
        return shape.deeper(value) if value else shape


DEPTH = _Depth(
    "depth",
    "loops around copies",
    0,
    COUNT,
    _offer,
    Row(
        "0, or more, up to all sequential loops but the innermost",
        "so many of the sequential loops run around the shared copies, value by value, and the next is tiled "
        "([more](copies.md#loops-around-copies))",
        "wide, on GPUs, sequential loops in one another that cannot be tiled together, kernels without `block` stages",
    ),
    younger=True,
)
