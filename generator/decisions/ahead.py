"""Next tile ahead: load the data of the next tile of sequential loops while computing the current one (ours).

The data stay in registers until all threads have read the copies of the current tile. So the latency of global memory
overlaps with arithmetic, without a second copy in shared memory. See `generator.lowering.core.ahead`, and for tensor
cores `generator.lowering.core.tile_rounds`.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row, switch
from generator.decisions.fragments import can_hold
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.products import PRODUCTS
from generator.decisions.shared import SHARED
from generator.decisions.size_lists import smallest_inner
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.forms import FLAG


def _offer(known: Known) -> Offer[bool]:
    """Offered if arrays are copied tile by tile of a sequential loop."""
    if known[PRODUCTS] != PRODUCTS.default:
        sizes = known[SIZES]
        fits = known.wide and can_hold(known.shape, sizes.tile, sizes.block, smallest_inner(known[INNER_TILE]))
        return switch(fits, ((PRODUCTS.name, known[PRODUCTS]), ("fits", fits)))
    offered = (
        known.wide
        and not known.target.shares_host_cores
        and known[SHARED]
        and smallest_inner(known[INNER_TILE]) > 1
        and bool(known.shape.next_copies(known[INNER_TILE], known[UNCOPIED]))
    )
    return switch(offered, ((SHARED.name, known[SHARED]), (INNER_TILE.name, known[INNER_TILE])))


AHEAD = KernelDecision(
    "ahead",
    "next tile ahead",
    False,
    FLAG,
    _offer,
    Row(
        "no, yes",
        "each thread loads its part of the next tile into registers before it computes with the current one, and "
        "stores it afterwards; for arrays that the kernel does not write, and at most 32 elements per thread",
        "wide, on GPUs, arrays that are copied tile by tile of a sequential loop, factors on tensor cores",
    ),
    lambda _: "",
    younger=True,
)
