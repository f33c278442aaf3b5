"""Tile and block sizes of a kernel's parallel dimensions: the sizes that are useful and can be completed.

A block size divides the tile size. The limits on the points of a
tile and the threads of a block are limits on products over all dimensions. An option is offered only if the remaining
dimensions can complete it within them, so no choice of sizes leads to a dead end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from operator import le

from generator.decisions.size_lists import MIN_THREADS, CandidateSizes, Sizes, cover
from generator.target import Target


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """The sizes on offer for one kernel, per parallel dimension, x first. Compared by identity: `geometry` makes it
    once.

    `rest[d]` holds the products (tile sizes, block sizes) that the dimensions from d on can contribute.
    """

    tiles: tuple[Sizes, ...]
    blocks: tuple[Sizes, ...]
    rest: tuple[frozenset[tuple[int, int]], ...]
    max_points: int
    min_threads: int
    max_threads: int

    def tile_options(self, dim: int, points: int, threads: int, whole: bool = False) -> Sizes:
        """Return tile sizes of dimension `dim` if the earlier ones make `points` per tile and `threads` per block.

        `whole`: only those that may also be block sizes; 1 if there is none.
        """
        return _tile_options(self, dim, points, threads, whole)

    def block_options(self, dim: int, tile: int, points: int, threads: int) -> Sizes:
        """Return block sizes of dimension `dim` with tile size `tile`; `points` and `threads` as for `tile_options`."""
        blocks = (block for block in self.blocks[dim] if tile % block == 0)
        return tuple(block for block in blocks if self._completes(dim + 1, points * tile, threads * block))

    def smallest(self, dim: int, points: int, threads: int, whole: bool = False) -> tuple[Sizes, ...]:
        """Return the smallest tile sizes of the dimensions from `dim` on that bring the products within the limits.

        None of them is as large as another in every dimension. The arguments are as for `tile_options`.
        """
        return _smallest(self, dim, points, threads, whole)

    def _completes(self, dim: int, points: int, threads: int) -> bool:
        """Return whether the dimensions from `dim` on can bring these products within the limits."""
        return any(
            points * more_points <= self.max_points and self.min_threads <= threads * more <= self.max_threads
            for more_points, more in self.rest[dim]
        )


@lru_cache(maxsize=4096)
def _tile_options(offer: Geometry, dim: int, points: int, threads: int, whole: bool) -> Sizes:
    """Cached, because the walks of a search repeat the same calls."""
    options = {tile: offer.block_options(dim, tile, points, threads) for tile in offer.tiles[dim]}
    if whole:
        return tuple(tile for tile, blocks in options.items() if tile in blocks) or (1,)
    return tuple(tile for tile, blocks in options.items() if blocks)


@lru_cache(maxsize=16384)
def _smallest(offer: Geometry, dim: int, points: int, threads: int, whole: bool) -> tuple[Sizes, ...]:
    """Cached, because many sizes have the same products."""
    if points > offer.max_points or threads > offer.max_threads:
        return ()
    if dim == len(offer.tiles):
        return ((),) if threads >= offer.min_threads else ()
    ways = ((tile, block) for tile in offer.tiles[dim] for block in offer.blocks[dim]
            if (block == tile if whole else tile % block == 0))
    found = {(tile, *more) for tile, block in ways
             for more in _smallest(offer, dim + 1, points * tile, threads * block, whole)}
    kept = list[Sizes]()
    for sizes in sorted(found):  # a smaller one comes first
        if not any(all(map(le, other, sizes)) for other in kept):
            kept.append(sizes)
    return tuple(kept)


def caps(extents: Sizes, candidates: CandidateSizes) -> Sizes:
    """Return the largest useful tile size per dimension: the power of two that covers the extent, or the largest
    candidate.

    >>> caps((1000, 5), WIDE)
    (512, 8)
    """
    return tuple(min(cover(extent), sizes[-1]) for extent, sizes in zip(extents, candidates.sizes, strict=False))


@lru_cache(maxsize=256)
def geometry(
    largest: Sizes, target: Target, candidates: CandidateSizes, walk: int = 0, least: int = MIN_THREADS
) -> Geometry:
    """Return the sizes on offer for a kernel whose `caps` are `largest`, x first, at most three.

    If the device allows none of the blocks, all powers of two become block sizes. If the kernel has fewer than `least`
    points, its largest block is the minimum. A CPU runs the threads of a block in sequence, vectorized if
    possible, so it needs no minimum. Blocks that `walk` down y in steps of so many rows take at least two steps, each
    of whole rows of threads.
    """
    tiles = tuple(
        tuple(size for size in sizes if size <= cap) or (cap,)
        for cap, sizes in zip(largest, candidates.sizes, strict=False)
    )
    if walk:
        tiles = (tiles[0], tuple(size for size in tiles[1] if size > walk) or (2 * walk,), *tiles[2:])
    most = (target.max_block[0], min(target.max_block[1], walk), *target.max_block[2:]) if walk else target.max_block
    blocks = tuple(
        tuple(size for size in sizes if size <= limit) for sizes, limit in zip(tiles, most, strict=False)
    )
    without_lanes = candidates.small_blocks and target.shares_host_cores
    rest = _rest(tiles, blocks)
    if without_lanes or not _thread_counts(rest[0], target, candidates):
        blocks = tuple(
            tuple(1 << n for n in range(min(sizes[-1], limit).bit_length()))
            for sizes, limit in zip(tiles, most, strict=False)
        )
        rest = _rest(tiles, blocks)
    least = 1 if without_lanes else min(least, max(_thread_counts(rest[0], target, candidates)))
    return Geometry(tiles, blocks, rest, candidates.max_points, least, target.max_threads)


def _rest(tiles: tuple[Sizes, ...], blocks: tuple[Sizes, ...]) -> tuple[frozenset[tuple[int, int]], ...]:
    rest = [frozenset({(1, 1)})]
    for sizes, smaller in zip(reversed(tiles), reversed(blocks), strict=True):
        steps = [(tile, block) for tile in sizes for block in smaller if tile % block == 0]
        rest.append(frozenset((tile * t, block * b) for tile, block in steps for t, b in rest[-1]))
    return tuple(reversed(rest))


def _thread_counts(products: frozenset[tuple[int, int]], target: Target, candidates: CandidateSizes) -> set[int]:
    """Return the numbers of threads per block within all upper limits."""
    return {
        threads
        for points, threads in products
        if points <= candidates.max_points and threads <= target.max_threads
    }
