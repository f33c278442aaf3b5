"""Lists of tile and block sizes, the minimum number of threads of a block, and powers of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

MIN_THREADS = 32
"""Threads per block, if the kernel has that many: fewer leave lanes of every GPU idle."""

FEWEST_THREADS = 8
"""The least threads per block of kernels with few threads that run loops: more blocks, on more multiprocessors."""

INNER_TILES = (1, 4, 8, 16, 32, 64)
"""Sizes of the tiles of sequential loops (1: untiled)."""

Sizes: TypeAlias = tuple[int, ...]

InnerTiles: TypeAlias = int | Sizes
"""The tile size of all inner loops of a kernel, or one size for each of them (1: untiled)."""


def cover(extent: int) -> int:
    """Return the least power of two that is at least `extent`."""
    return 1 << max(0, extent - 1).bit_length()


def inner_sizes(sizes: InnerTiles) -> Sizes:
    """Return the sizes; one element if all loops have the same size."""
    return (sizes,) if isinstance(sizes, int) else sizes


def smallest_inner(sizes: InnerTiles) -> int:
    """Return the smallest inner tile size; 1 if no loop is tiled."""
    return min((size for size in inner_sizes(sizes) if size > 1), default=1)


@dataclass(frozen=True, slots=True)
class CandidateSizes:
    """Tile (and block) sizes on offer in x, y and z, and the most points in a tile.

    `small_blocks`: on a device without lanes (a CPU) any power of two may be a block size, even 1.
    """

    sizes: tuple[Sizes, Sizes, Sizes]
    max_points: int
    small_blocks: bool = False


PAPER = CandidateSizes(((32, 64, 128, 256, 512), (4, 8, 16, 32), (2, 4, 8, 16)), 1024)
"""The sizes of Coding Ants (section 5.1). Its limit of 1024 threads is applied to tiles."""

WIDE = CandidateSizes(((8, 16, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32, 64, 128), (1, 2, 4, 8, 16)), 16384, True)
"""Also small tiles, and tiles of which each thread computes many points."""

OUTER = CandidateSizes(
    ((8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512), (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128), WIDE.sizes[2]),
    WIDE.max_points, True)
"""For kernels on GPUs whose threads keep sums in registers: their tiles are large. Sizes between powers of two leave
fewer threads and multiprocessors idle.
"""

HOST = CandidateSizes(((*WIDE.sizes[0], 1024, 2048, 4096), *WIDE.sizes[1:]), 65536, True)
"""For CPUs, whose threads may run whole rows of a large array: few large blocks have less scheduling overhead."""

STEPS = CandidateSizes(HOST.sizes, 4 * HOST.max_points, True)
"""For blocks on CPUs that walk down their tiles: their stages take the room of a step, and rows of large images with
all their colours are a tile of enough steps.
"""

SUMS = CandidateSizes(WIDE.sizes, 4 * WIDE.max_points, True)
"""For blocks on GPUs that sum up parts of a matrix: those with larger tiles update fewer results in memory."""

LONG = CandidateSizes(((*WIDE.sizes[0], 1024, 2048, 4096, 8192, 16384), *WIDE.sizes[1:]), 65536, True)
"""For kernels whose blocks update private copies: a copy costs the same for a small tile as for a large one."""

TILES = CandidateSizes(((1, 2, 4, 8, 16, 32), (1, 2, 4, 8), (1, 2, 4)), 256, True)
"""For kernels whose points are whole tiles of a wavefront, one per thread: few points with much work each."""
