"""The tiles of a GPU's kernel of outer products that keep its multiprocessors busiest.

Large tiles need fewer loads per multiplication, small ones make more blocks: a result of 1000 x 1100 elements has 72
tiles of 128 x 128 elements, which leave 60 of an H200's 132 multiprocessors idle. What counts is the multiprocessor
with the most blocks, and in it the scheduler with the most warps: a block of 6 warps leaves two of its 4 schedulers
idle for half of the time, unless another block runs beside it. Lanes without a thread, and points of a tile beyond the
result, are idle all the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import ceil, prod

from generator.decisions.size_lists import Sizes
from generator.target import LANES, Target

_ROWS, _COLUMNS = (16, 32, 48, 64, 96, 128), (32, 48, 64, 96, 128)
"""The sides of tiles."""
_POINTS: tuple[tuple[int, int], ...] = ((8, 8), (8, 4), (4, 8), (6, 8), (4, 4))
"""The points of a thread."""
_THREADS = range(64, 513)
"""The threads of a block: fewer share what they copy with few others, more leave no room for a second block."""
_WIDTH = 4
"""The elements of a load from shared memory."""
_FOLDED = 8
"""The rows of a thread that may be four of two neighbours in another dimension."""
_ERROR = 1.07
"""The error of the score, measured on an H200."""
_SCHEDULERS, _REGISTERS = 4, 65536
"""Those of a multiprocessor. AMD's compute units have 4, too, and more registers."""
_PER_POINT, _FURTHER = 2, 40
"""Registers of a thread: those per point, which hold its sum and elements of a factor, and the others. NVRTC 13.5 uses
158 to 175 for 64 points, 96 to 115 for 32 points.
"""
_COPY = 16
"""Instructions per vector that a thread copies to shared memory, with its addresses and conditions (sm_90: 15 to 25).
Copies ahead have no conditions now, and need fewer.
"""


@lru_cache(maxsize=256)
def filling(extents: Sizes, target: Target) -> tuple[tuple[Sizes, Sizes], tuple[Sizes, Sizes]]:
    """Return the best tile and block sizes for `extents`: those with the greatest share of multiplications in the time
    of the device's last multiprocessor. Then the best ones with a tile of at most half or at least twice as many
    points.

    Tiles have rows and columns of the last two dimensions, or rows of two neighbours in the dimension before, if their
    score is better by more than its error.
    """
    flat = [(tile, block) for rows, columns, points in product(_ROWS, _COLUMNS, _POINTS)
            if (block := _block(tile := (rows, columns), points)) and prod(block) in _THREADS]
    ones = (1,) * (len(extents) - 2)
    offered = [((*ones, *tile), (*ones, *block), 1.0) for tile, block in flat]
    if ones:
        offered += [((*ones[1:], 2, rows // 2, columns), (*ones, *block), _ERROR) for (rows, columns), block in flat
                    if rows == _FOLDED * block[0]]
    offered.sort(key=lambda one: -_score(one[0], one[1], extents, target) / one[2])
    ranked = [(tile, block) for tile, block, _ in offered]
    best, points = ranked[0], prod(ranked[0][0])
    return best, next(one for one in ranked if prod(one[0]) <= points // 2 or prod(one[0]) >= 2 * points)


def _block(tile: tuple[int, int], points: tuple[int, int]) -> Sizes:
    """Return the threads along both sides of a tile; () if the points do not divide it."""
    if any(size % count for size, count in zip(tile, points, strict=True)):
        return ()
    return tile[0] // points[0], tile[1] // points[1]


def _score(tile: Sizes, block: Sizes, extents: Sizes, target: Target) -> float:
    """Return multiplications per instruction that a scheduler could run."""
    points = [size // threads for size, threads in zip(tile, block, strict=True)]
    each, threads = prod(points), prod(block)
    copied = _sides(tile) / threads / _WIDTH * _COPY
    share = each / (each + _sides(points) / _WIDTH + copied)
    blocks = prod(ceil(extent / size) for extent, size in zip(extents, tile, strict=True))
    rounds = ceil(blocks / target.compute_units)
    steps = _steps(rounds, ceil(threads / LANES), each)
    return share * prod(extents) / (target.compute_units * _SCHEDULERS * LANES * steps * each)


def _sides(sizes: Sequence[int]) -> int:
    """Return the number of rows, in all dimensions but the last, and of columns."""
    return prod(sizes[:-1]) + sizes[-1]


def _steps(blocks: int, warps: int, points: int) -> int:
    """Return the number of warps that one scheduler runs for so many blocks, as many at a time as registers allow."""
    together = max(1, _REGISTERS // ((_PER_POINT * points + _FURTHER) * LANES * warps))
    whole, rest = divmod(blocks, together)
    return whole * ceil(together * warps / _SCHEDULERS) + ceil(rest * warps / _SCHEDULERS)
