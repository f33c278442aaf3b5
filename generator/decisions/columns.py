"""Block rasterization order: the order of consecutive blocks (ours)."""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.sizes import SIZES


def _offer(known: Known) -> Offer[bool]:
    """With a single row or column of blocks there is nothing to choose."""
    tile = known[SIZES].tile
    several = all(extent > size for extent, size in zip(known.shape.extents[-2:], tile[-2:], strict=True))
    return switch(known.wide and len(tile) > 1 and several)


COLUMNS = flag(
    "columns",
    "blocks along columns",
    _offer,
    Row(
        "no, yes",
        "consecutive blocks run along y (yes) instead of x; data that all blocks of a column read (in a matrix "
        "multiplication some columns of the second matrix) then stay in the caches",
        "wide",
    ),
    title="block rasterization order by columns",
)
