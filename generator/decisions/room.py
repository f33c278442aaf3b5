"""Room for the stages of a block: the walks and sizes with which they can fit in its shared memory.

Walks and sizes are decided one after the other. An option is offered only if some choice of the remaining sizes is
legal and fits: with enough threads, and within the limits on points and threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from generator.decisions.candidate_sizes import Geometry, caps, geometry
from generator.decisions.shape import Shape
from generator.decisions.size_lists import (
    FEWEST_THREADS,
    HOST,
    INNER_TILES,
    LONG,
    MIN_THREADS,
    OUTER,
    PAPER,
    STEPS,
    SUMS,
    TILES,
    WIDE,
    CandidateSizes,
    Sizes,
)
from generator.target import Target


@dataclass(frozen=True, slots=True)
class Room:
    """The sizes on offer for a kernel, and the shared memory that its stages need with them.

    `whole`: a block has as many threads as its tile has points, along each dimension.
    """

    shape: Shape
    offer: Geometry
    whole: bool
    bytes: int

    def tile_options(self, chosen: Sizes, points: int, threads: int) -> Sizes:
        """Return the tile sizes of the next dimension if the earlier ones, x first, are `chosen`, with so many points
        per tile and threads per block; without room for any of them, the smallest.
        """
        options = self.offer.tile_options(len(chosen), points, threads, self.whole)
        return _fitting_tiles(self, options, chosen, points, threads) if self.shape.computes else options

    def block_options(self, chosen: Sizes, tile: int, points: int, threads: int) -> Sizes:
        """Return the block sizes of the next dimension with tile size `tile`; the rest as for `tile_options`."""
        options = self.fitting_threads(len(chosen), tile, points, threads)
        if not self.shape.computes:
            return options
        return _fitting_blocks(self, options, (*chosen, tile), points * tile, threads)

    def completes(self, chosen: Sizes, points: int, threads: int) -> bool:
        """Return whether some sizes of the remaining dimensions are legal and fit."""
        inner = min(t for t in INNER_TILES if t > 1) if self.shape.sequential and not self.shape.skewed else 1
        return any(self.shape.shared_bytes((*chosen, *more)[::-1], inner, copies=False) <= self.bytes
                   for more in self.offer.smallest(len(chosen), points, threads, self.whole))

    def fitting_threads(self, dim: int, tile: int, points: int, threads: int) -> Sizes:
        """Return the block sizes of dimension `dim` with tile size `tile`, whatever shared memory they need."""
        return (tile,) if self.whole else self.offer.block_options(dim, tile, points, threads)


@lru_cache(maxsize=4096)
def _fitting_tiles(room: Room, options: Sizes, chosen: Sizes, points: int, threads: int) -> Sizes:
    """Return the `options` for which there is room, else the smallest; cached, because walks repeat the same calls."""
    def fits(tile: int) -> bool:
        blocks = room.fitting_threads(len(chosen), tile, points, threads)
        return any(room.completes((*chosen, tile), points * tile, threads * block) for block in blocks)

    return tuple(tile for tile in options if fits(tile)) or options[:1]


@lru_cache(maxsize=4096)
def _fitting_blocks(room: Room, options: Sizes, chosen: Sizes, points: int, threads: int) -> Sizes:
    """Return the `options` for which there is room, else all; cached as `_fitting_tiles`."""
    return tuple(block for block in options if room.completes(chosen, points, threads * block)) or options


def room_of(shape: Shape, target: Target, wide: bool, walk: int) -> Room:
    """Return the sizes for a kernel that walks so many rows at a time (0: it does not)."""
    largest = largest_tiles(shape, wide, target)
    whole = shape.coarse or (shape.skewed and len(largest) > 1)  # one point per thread: see Shape.skewed
    least = FEWEST_THREADS if wide and has_few_threads(shape, target) else MIN_THREADS
    offer = geometry(largest, target, candidates_of(shape, wide, target, walk), walk, least)
    return Room(shape, offer, whole, target.local_bytes)


def largest_tiles(shape: Shape, wide: bool, target: Target) -> Sizes:
    """Return the largest useful tile sizes, x first."""
    return caps(shape.extents[::-1], candidates_of(shape, wide, target))


def candidates_of(shape: Shape, wide: bool, target: Target, walk: int = 0) -> CandidateSizes:
    """Return the tile and block sizes for this kind of kernel, which walks so many rows at a time (0: it does not)."""
    if shape.coarse or is_long(shape, wide):
        return TILES if shape.coarse else LONG
    if not wide:
        return PAPER
    if target.shares_host_cores:
        return STEPS if walk else HOST
    return SUMS if shape.reduces else OUTER if has_outer_sums(shape, wide, target) else WIDE


def has_outer_sums(shape: Shape, wide: bool, target: Target) -> bool:
    """Return whether threads of a GPU can keep sums in registers that depend on two or more parallel dimensions."""
    plain = shape.sequential and not (shape.computes or shape.skewed or shape.timed or shape.diagonals)
    return wide and not target.shares_host_cores and plain and any(len(dims) > 1 for dims in shape.kept)


def has_few_threads(shape: Shape, target: Target) -> bool:
    """Return whether there are fewer threads than a warp per multiprocessor, and each runs a loop: its latency counts.
    """
    few = len(shape.extents) == 1 and shape.extents[0] < target.compute_units * MIN_THREADS
    return few and shape.sequential and not (shape.coarse or shape.computes or shape.diagonals)


def is_long(shape: Shape, wide: bool) -> bool:
    """Return whether larger tiles are on offer, for private copies."""
    return shape.privatizes and shape.reduces and wide and not shape.coarse
