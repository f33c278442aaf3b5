"""Tiles of a kernel on tensor cores: the sizes that warps can share in fragments, and that fit in shared memory."""

from __future__ import annotations

from collections.abc import Generator
from math import prod

from generator.decisions.base import Depends, Known, Option, Question
from generator.decisions.shape import Shape
from generator.decisions.size_lists import Sizes
from generator.precision import DEPTH, SIDE, WORD
from generator.program import ELEMENT_BYTES
from generator.target import LANES, Target

MOST_PARTS = 16
"""The most fragments of sums per warp: each takes 8 registers of every lane."""
WARPS = (1, 2, 4, 8, 16)
"""Numbers of warps per block."""
PADDINGS = (0, 8)
"""Elements added to rows; multiples of 16 bytes."""
MOST_HELD = 32
"""The most elements of the next tile that a thread holds in registers."""
ROUNDED_LATER = ("tf32",)
"""Precisions with words as large as a float: factors may be in shared memory as in the program, and warps round their
fragments after loading them.
"""


def warp_grid(rows: int, columns: int, warps: int) -> tuple[int, int] | None:
    """Return rows and columns of a grid of warps that share a tile of these elements, with the least loads per product.

    None if a warp would have no whole fragments, or too many.
    """
    down, across = rows // SIDE, columns // SIDE
    if rows % SIDE or columns % SIDE:
        return None
    found = [
        (down // i + across // (warps // i), i)
        for i in range(1, warps + 1)
        if warps % i == 0 and down % i == 0 and across % (warps // i) == 0
    ]
    if not found or down * across > MOST_PARTS * warps:
        return None
    return min(found)[1], warps // min(found)[1]


def tile_bytes(precision: str, rows: int, columns: int, depth: int, padding: int, twice: bool = False) -> int:
    """Return the shared memory of a block: both factors of a tile, `depth` terms at a time, and its sums.

    Rows of factors are counted in the longer of the two layouts. `twice`: also the factors of the next tile.
    """
    word = ELEMENT_BYTES[WORD[precision]] * (2 if twice else 1)
    factors = sum(max(depth * (n + padding), n * (depth + padding)) for n in (rows, columns))
    return word * factors + ELEMENT_BYTES["float"] * rows * (columns + padding)


def held(rows: int, columns: int, depth: int, threads: int) -> int:
    """Return the number of elements of both factors of a tile that each of `threads` copies."""
    return sum(-(-depth * n // threads) for n in (rows, columns))


def depths(precision: str) -> Sizes:
    """Return the numbers of terms of a sum that may be in shared memory at a time."""
    return tuple(size for size in (8, 16, 32, 64) if size % DEPTH[precision] == 0)


def tensor_tiles(shape: Shape, target: Target, precision: str) -> tuple[tuple[Sizes, Sizes], ...]:
    """Return the tiles and blocks on offer for a kernel on tensor cores, outermost dimension first, the smallest first.
    """
    if shape.contraction is None:
        return ()
    rows, columns = shape.contraction
    found = []
    for tile in ((m, n) for m in _sides(shape, rows) for n in _sides(shape, columns)):
        fits = tile_bytes(precision, *tile, depths(precision)[0], 0) <= target.local_bytes
        for warps in WARPS if fits else ():
            block = _block(*tile, LANES * warps)
            if warp_grid(*tile, warps) and prod(block) == LANES * warps <= target.max_threads:
                found.append((_placed(shape, tile), _placed(shape, block)))
    return tuple(found)


def tensor_depths(shape: Shape, target: Target, precision: str, tile: Sizes, padding: int = 0,
                  twice: bool = False) -> Sizes:
    """Return the numbers of terms of a tile's sums that fit in shared memory at a time, or `twice` in two places."""
    assert shape.contraction is not None
    rows, columns = (tile[d] for d in shape.contraction)
    sizes = {depth: tile_bytes(precision, rows, columns, depth, padding, twice) for depth in depths(precision)}
    return tuple(depth for depth, size in sizes.items() if size <= target.local_bytes)


def can_hold(shape: Shape, tile: Sizes, block: Sizes, depth: int) -> bool:
    """Whether the registers of a block's threads can hold the next tile, with `depth` terms."""
    assert shape.contraction is not None
    rows, columns = (tile[d] for d in shape.contraction)
    return held(rows, columns, depth, prod(block)) <= MOST_HELD


def _sides(shape: Shape, dim: int) -> Sizes:
    """Return rows or columns of a tile, up to the first size that covers all."""
    extent = shape.extents[dim]
    return tuple(size for size in (16, 32, 64, 128) if size == SIDE or size < 2 * extent)


def _block(rows: int, columns: int, threads: int) -> tuple[int, int]:
    """Return the block: as many threads along columns as a warp has, the others along rows."""
    across = min(columns, LANES)
    return min(rows, threads // across), across


def _placed(shape: Shape, sizes: tuple[int, int]) -> Sizes:
    """Return the sizes along rows and columns, and 1 along the other dimensions."""
    assert shape.contraction is not None
    return tuple(
        sizes[shape.contraction.index(d)] if d in shape.contraction else 1 for d in range(len(shape.extents))
    )


def asked_in_fragments(
    known: Known, precision: str, depends: Depends, names: tuple[tuple[str, str], ...]
) -> Generator[Question, Option, tuple[Sizes, Sizes]]:
    """Ask for a tile and a block that whole warps share, x first. `names`: those of both questions, by axis."""
    left, chosen = tensor_tiles(known.shape, known.target, precision), list[int]()
    dims = range(len(known.shape.extents))
    for dim, called in zip(reversed(dims), names, strict=False):
        for kind, name in enumerate(called):
            options = tuple(sorted({one[kind][dim] for one in left}))
            answer = yield Question(name, options, (*depends, ("offered", options)))
            assert isinstance(answer, int)
            left = tuple(one for one in left if one[kind][dim] == answer)
            chosen.append(answer)
    return tuple(chosen[-2::-2]), tuple(chosen[::-2])
