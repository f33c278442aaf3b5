"""The tile of a GPU's kernel of outer products that keeps its multiprocessors busiest.

Large tiles need fewer loads per multiplication, small ones make more blocks: a result of 1000 x 1100 elements has 72
tiles of 128 x 128 elements, which leave 60 of an H200's 132 multiprocessors idle.
"""

from __future__ import annotations

from math import ceil, prod
from typing import TypeAlias

from generator.target import Target

Sizes: TypeAlias = tuple[int, ...]
_OFFERED: tuple[tuple[Sizes, Sizes], ...] = (
    ((128, 128), (16, 16)), ((128, 64), (16, 16)), ((64, 64), (8, 16)), ((32, 64), (8, 16)))
"""Tiles with blocks of 128 or 256 threads, which compute 8 x 8, 8 x 4 or 4 x 4 points each."""
_WIDTH = 4
"""The elements of a load from shared memory."""


def filling(extents: Sizes, target: Target) -> tuple[Sizes, Sizes]:
    """Return the tile and block sizes of the last two of `extents` with the greatest share of multiplications in the
    instructions and of multiprocessors that are busy until the end.
    """
    return max(_OFFERED, key=lambda one: _score(one[0], one[1], extents, target))


def _score(tile: Sizes, block: Sizes, extents: Sizes, target: Target) -> float:
    points = [size // threads for size, threads in zip(tile, block, strict=True)]
    share = prod(points) / (prod(points) + sum(points) / _WIDTH)
    sizes = (*(1,) * (len(extents) - 2), *tile)
    per_unit = prod(ceil(extent / size) for extent, size in zip(extents, sizes, strict=True)) / target.compute_units
    return share * per_unit / ceil(per_unit)
