"""The inner tile size: the tile size of the sequential members of a kernel's band (1: untiled)."""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.fragments import tensor_depths
from generator.decisions.products import PRODUCTS
from generator.decisions.shared import SHARED, fits, inner_tiles
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.walk import WALK
from generator.decisions.whole import WHOLE
from generator.forms import POSITIVE


def _offer(known: Known) -> Offer[int]:
    """Offers the sizes with which the copies, if any, and the stages of a block fit."""
    if known[PRODUCTS] != PRODUCTS.default:
        options = tensor_depths(known.shape, known.target, known[PRODUCTS], known[SIZES].tile)
        return Offer(options, ((PRODUCTS.name, known[PRODUCTS]), ("offered", options)))
    inner = inner_tiles(known) if not known[WALK] else (1,)
    inner = tuple(t for t in inner if t > 1) or inner if known[WHOLE] else inner  # else nothing is inside
    options = tuple(t for t in inner if fits(known, t, 0, known[SHARED], known[UNCOPIED])) or inner[:1]
    return Offer(options, (("offered", options),))


INNER_TILE = KernelDecision(
    "inner_tile",
    "inner tile size",
    1,
    POSITIVE,
    _offer,
    Row(
        "1, 4, 8, 16, 32, 64 above the unroll factor",
        "tile size of the sequential loops; sets how much is copied to shared memory at a time (on tensor cores: how "
        "many terms of a sum)",
    ),
)
