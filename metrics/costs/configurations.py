"""The configurations of a kernel that `polymage.py` compares: points of a thread and threads of a block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from generator.decisions.fractions import TENTHS, in_registers, sub_group
from generator.nest import Level
from generator.target import LANES
from metrics.costs.device import CostDevice
from metrics.costs.groups import Numbers, column, distinct, parallel_dimensions

_TILE_POINTS = 16384
"""The most points of a block's tile on GPUs; on CPUs four times that. The smallest tile may have more: whole rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Configurations:
    """Tiles to compare: `points[d, k]` of a thread along dimension d, `block[d, k]` threads; `tenths[k]` of a warp's
    tile are in registers (None: all of it is in shared memory). `order`: the dimensions as blocks have them, the last
    one along x (empty: in this order).
    """

    points: Numbers
    block: Numbers
    tenths: Numbers | None = None
    order: tuple[int, ...] = ()

    @property
    def x(self) -> int:
        """The dimension along x."""
        return self.order[-1] if self.order else len(self.points) - 1

    def sharing(self, level: Level) -> Numbers:
        """Return the threads that share a tile, in each dimension."""
        return sharing_threads(self.block, level, self.order)

    @property
    def tile(self) -> Numbers:
        """The points that a block computes."""
        return self.points * self.block


@lru_cache(maxsize=64)
def candidates(extents: tuple[int, ...], device: CostDevice, hosted: int = 0) -> Configurations:
    """Return the configurations to compare; one point along the `hosted` dimensions, which host loops run.

    Points of a thread: powers of two up to 32 (the paper: all numbers); blocks: powers of two, at least 16 threads
    along x, up to 512 in all, in whole warps if the extents allow it. Of dimensions beyond the innermost two, a thread
    computes up to 4 points, or all up to 16 of short ones. On CPUs: one thread, rows of up to 2048 points. If blocks
    of a GPU do not share out x, a thread computes whole rows, and the next dimension has the most threads.
    """
    found: list[tuple[tuple[int, int], ...]] = [()]
    parallel = parallel_dimensions(len(extents), hosted)
    for d, extent in enumerate(extents):
        pairs = [(1, 1)] if d < hosted else [(extent, 1)]
        if d in parallel:
            pairs = _pairs(extent, parallel[-1] - d, device)
        found = [(*one, pair) for one in found for pair in pairs]
    threads = min(512, device.block_threads)
    found = [one for one in found if _threads(one) <= threads]
    most = max(4 * _TILE_POINTS if device.host else _TILE_POINTS, min(map(_points, found)))
    small = [one for one in found if _points(one) <= most]
    kept = [one for one in small if not _threads(one) % device.warp] or small
    points = np.array([[float(p) for p, _ in one] for one in kept]).T
    block = np.array([[float(b) for _, b in one] for one in kept]).T
    return Configurations(points, block)


@lru_cache(maxsize=64)
def split_candidates(extents: tuple[int, ...], device: CostDevice, hosted: int = 0) -> Configurations:
    """Return those of `candidates` whose blocks are whole warps, each with the fractions in registers that differ.

    Without fractions if the threads of a warp are not neighbours in x, and not known to be in rows either.
    """
    given, kept, tenths = candidates(extents, device, hosted), list[int](), list[int]()
    for k in range(given.block.shape[1]):
        block = tuple(map(int, given.block[:, k]))
        lanes = sub_group(block)
        if lanes is None or (lanes[-1] < LANES and not device.rows_in_warps):
            continue
        counts = {in_registers(int(given.points[-1, k]), n): n for n in reversed(TENTHS)}
        found = sorted(counts.values()) if given.points[-1, k] > 1 else [0]
        kept += [k] * len(found)
        tenths += found
    return Configurations(given.points[:, kept], given.block[:, kept], np.array(tenths, dtype=float))


def sharing_threads(block: Numbers, level: Level, order: tuple[int, ...] = ()) -> Numbers:
    """Return the threads that share a tile, in each dimension; `order`: see Configurations."""
    match level:
        case "block":
            return block
        case "thread":
            return np.ones_like(block)
        case "sub-group":
            left, found = np.full(block.shape[1], float(LANES)), np.ones_like(block)
            for d in reversed(order or range(len(block))):
                found[d] = np.minimum(block[d], left)
                left = left / found[d]
            return found
        case _:
            assert_never(level)


@lru_cache(maxsize=64)
def tiles_of(
    given: Configurations, level: Level, extents: tuple[int, ...]
) -> tuple[Numbers, Numbers, NDArray[np.intp]]:
    """Return the threads that share a tile, the different tiles, and for each configuration which of them it has."""
    team = given.sharing(level)
    return (team, *distinct(np.minimum(given.points * team, column(extents))))


def _points(pairs: tuple[tuple[int, int], ...]) -> int:
    return prod(points * threads for points, threads in pairs)


def _threads(pairs: tuple[tuple[int, int], ...]) -> int:
    return prod(threads for _, threads in pairs)


def _pairs(extent: int, place: int, device: CostDevice) -> list[tuple[int, int]]:
    """Return points of a thread and threads of a block, for a dimension `place` places from the innermost one."""
    cover = 1 << max(0, extent - 1).bit_length()
    if device.host:
        sizes = [8 << n for n in range(9)] if place == 0 else [1 << n for n in range(8)] if place == 1 else [1]
        short = [min(cover, 16)] if place > 1 and extent < 64 else []
        return [(size, 1) for size in short or sizes if size <= cover] or [(cover, 1)]
    if place > 1:
        return [(min(cover, 16), 1)] if extent < 64 else [(1, 1), (2, 1), (4, 1)]
    blocks = (16, 32, 64, 128, 256) if place == 0 else (1, 2, 4, 8, 16, 32)
    found = [(p, b) for b in blocks for p in (1, 2, 4, 8, 16, 32) if p * b <= cover]
    return found or [(1, cover)]
