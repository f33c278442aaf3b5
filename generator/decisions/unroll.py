"""The unroll factor of the innermost loops."""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.room import has_outer_sums
from generator.decisions.shape import Shape
from generator.decisions.size_lists import INNER_TILES, Sizes
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK
from generator.decisions.whole import WHOLE
from generator.forms import POSITIVE
from generator.target import Target

FACTORS = (1, 2, 4, 8)
WHOLE_TILE = 16
"""On GPUs also a factor as large as an inner tile: then no loop is left in it."""


def _offer(known: Known) -> Offer[int]:
    """Offered if a thread has a loop, also one over its points: the factors with which the stages of a block fit with
    some inner tile.

    In the wide space not for loops over points alone on CPUs, whose compilers unroll before they vectorize, and then
    find few vectors (docs/compilers.md).
    """
    loops = known.shape.sequential or known[SIZES].several_points
    if not loops or (known.wide and only_points(known.shape, known.target)):
        return Offer((1,))
    if has_outer_sums(known.shape, known.wide, known.target):
        return Offer((*FACTORS, WHOLE_TILE), (("sums", True),))
    if not known.shape.computes or known[WALK]:
        return Offer(FACTORS)
    factors = tuple(factor for factor in FACTORS if any(_fits(known, t) for t in inner_tiles(known, factor)))
    offered = factors or FACTORS[:1]
    return Offer(offered, () if offered == FACTORS else (("offered", offered),))


def only_points(shape: Shape, target: Target) -> bool:
    """Return whether a CPU runs a kernel whose loops are over points and elements of stages: they can all be vectors.

    Sums of stages that its blocks compute do not count.
    """
    updates = shape.reduces or shape.privatizes
    return target.shares_host_cores and not (shape.sequential or updates or shape.summed > 1)


def inner_tiles(known: Known, unroll: int) -> Sizes:
    """Return the useful tile sizes of sequential loops: no factor is larger, and only the largest is as large. With
    stages of the whole tile, they are tiled, as nothing would be inside else.
    """
    if known[WALK] or not known.shape.sequential or known.shape.skewed:
        return (1,)
    return tuple(t for t in INNER_TILES if t > unroll or t == unroll == WHOLE_TILE or (t == 1 and not known[WHOLE]))


def _fits(known: Known, inner_tile: int) -> bool:
    return known.shape.shared_bytes(known[SIZES].tile, inner_tile, copies=False) <= known.target.local_bytes


UNROLL = KernelDecision(
    "unroll", "unroll factor", 1, POSITIVE, _offer,
    Row("1, 2, 4, 8; on GPUs, for sums in registers, 16",
        "unrolls the innermost loops; a factor of 16 may be a whole inner tile. On CPUs, kernels without sums or other "
        "loops of the program have no factor (wide): it would prevent vectors"))
