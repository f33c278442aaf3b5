"""The inner tile size: the tile size of the sequential members of a kernel's band (1: untiled).

In a block that runs the diagonals of a tile, an inner tile is what a thread runs between two barriers.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.fragments import tensor_depths
from generator.decisions.products import PRODUCTS
from generator.decisions.shared import SHARED, fits
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.unroll import UNROLL, inner_tiles
from generator.forms import POSITIVE

_IN_DIAGONALS = (2, 4)
"""Inner tiles of diagonals: larger ones leave few threads busy."""


def _offer(known: Known) -> Offer[int]:
    """Offers the sizes with which the copies, if any, and the stages of a block fit."""
    if known[PRODUCTS] != PRODUCTS.default:
        options = tensor_depths(known.shape, known.target, known[PRODUCTS], known[SIZES].tile)
        return Offer(options, ((PRODUCTS.name, known[PRODUCTS]), ("offered", options)))
    if known[DIAGONALS]:
        return _in_diagonals(known)
    inner = inner_tiles(known, known[UNROLL])
    options = tuple(t for t in inner if fits(known, t, 0, known[SHARED], known[UNCOPIED])) or inner[:1]
    return Offer(options, (("offered", options),))


def _in_diagonals(known: Known) -> Offer[int]:
    """Offers the sizes whose diagonals are legal, with an inner tile for each thread along a row.

    Their number is compared first: the test of the diagonals takes long.
    """
    rows = tuple(zip(known[SIZES].block, known.shape.diagonals, strict=True))
    options = (1, *(size for size in _IN_DIAGONALS if all(n <= points // min(size, points) for n, points in rows)
                    and known.shape.inner_diagonals(size)))
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
        "many terms of a sum; with diagonals 2 or 4: a thread runs inner tiles of a diagonal instead of single points, "
        "so there are fewer barriers)",
    ),
)
