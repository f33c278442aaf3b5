"""The ways to tile a kernel that a beam search considers (Anderson et al. 2021, section 4.2; those for CPUs are our
own).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from generator.decisions.fractions import sub_group
from generator.decisions.registers import MAX_REGISTERS
from generator.decisions.size_lists import WIDE, cover
from generator.decisions.walk import walked
from generator.nest import Level
from metrics.costs.device import CostDevice
from metrics.costs.groups import Numbers
from metrics.costs.learned.layout import Sizes

THREADS_X, THREADS_Y, SERIAL = (16, 32, 64), (1, 2, 4, 8, 16), (1, 2, 4, 8)
"""On GPUs, as in the paper: threads along x, threads along y, and points per thread along each of them."""
HOST_X, HOST_Y, VECTOR = (64, 512, 4096), (1, 4, 16, 64), 32
"""On CPUs: points of a tile along x and y; a block has `VECTOR` threads along x, or one."""
SHORT = 16
"""Dimensions other than x and y lie wholly in a tile if they are at most this long; otherwise a tile has one point of
them.
"""


@dataclass(frozen=True, slots=True)
class Way:
    """The points and threads of a block along the parallel `axes` of the output, outermost first, and how stages are
    shared.
    """

    tile: tuple[int, ...]
    block: tuple[int, ...]
    level: Level = "block"
    walk: int = 0


def keeps_sums(way: Way, axes: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether threads can keep sums in registers: `generator.decisions.registers` offers it for few points, and
    a thread computes all points of a dimension that is not parallel. Kernels whose blocks walk keep none.
    """
    mine = prod(-(-points // threads) for points, threads in zip(way.tile, way.block, strict=True))
    return not way.walk and mine * prod(extent for d, extent in enumerate(extents) if d not in axes) <= MAX_REGISTERS


def ways(extents: Sequence[int], device: CostDevice, stages: bool) -> tuple[Way, ...]:
    """Return all ways for parallel dimensions of the given extents; `stages`: the kernel's blocks compute stages."""
    plain = dict.fromkeys(_host(extents) if device.host else _gpu(extents))
    variants: list[tuple[Level, int]] = [("block", 0)]
    if stages and len(extents) > 1:
        variants += [("block", 1), ("block", 4)]
    if stages:
        variants.append(("thread", 0))
    return tuple(Way(tile, block, level, walk) for level, walk in variants for tile, block in plain
                 if not walk or _steps(tile, block, walk))  # fmt: skip


def _steps(tile: Sequence[int], block: Sequence[int], walk: int) -> bool:
    """Return whether a walk has more than one step and each step has whole rows of threads."""
    y = walked(len(tile))
    return tile[y] > walk and walk % block[y] == 0


def _gpu(extents: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    if not extents:
        yield (), ()
        return
    *_, x = extents
    y = extents[-2] if len(extents) > 1 else 1
    outer = [_whole(extent) for extent in extents[:-2]]
    for threads_x, threads_y, serial_x, serial_y in product(THREADS_X, THREADS_Y, SERIAL, SERIAL):
        rows = [min(threads_y, cover(y))] if len(extents) > 1 else []
        block = (*(1 for _ in outer), *rows, min(threads_x, cover(x)))
        points = [min(threads_y * serial_y, cover(y))] if len(extents) > 1 else []
        tile = (*outer, *points, min(threads_x * serial_x, cover(x)))
        if prod(tile) <= WIDE.max_points:
            yield tile, block


def _host(extents: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    if not extents:
        yield (), ()
        return
    outer = [_whole(extent) for extent in extents[:-2]]
    for x, y, threads in product(HOST_X, HOST_Y, (1, VECTOR)):
        rows = [min(y, cover(extents[-2]))] if len(extents) > 1 else []
        tile = (*outer, *rows, min(x, cover(extents[-1])))
        yield tile, (*(1 for _ in tile[:-1]), min(threads, tile[-1]))


def _whole(extent: int) -> int:
    return cover(extent) if extent <= SHORT else 1


def sizes(found: Sequence[Way], axes: Sequence[int], extents: Sequence[int]) -> Sizes:
    """Return the ways `found`, which are all of one level, as arrays for an output with these extents and axes."""
    tile, block = _column(extents, len(found)), np.ones((len(extents), len(found)))
    for k, way in enumerate(found):
        for axis, points, threads in zip(axes, way.tile, way.block, strict=True):
            tile[axis, k], block[axis, k] = min(points, extents[axis]), threads
    level = found[0].level
    steps = np.array([way.walk or np.inf for way in found], dtype=float)
    step = (axes[walked(len(axes))], steps) if np.isfinite(steps).any() else None
    team = np.ones_like(block) if level == "thread" else block
    if level == "sub-group" and (lanes := sub_group(found[0].block)) is not None:
        team = np.ones_like(block)
        for axis, threads in zip(axes, lanes, strict=True):
            team[axis] = threads
    return Sizes(tile, block, team, level, step, np.array([keeps_sums(way, axes, extents) for way in found]))


def _column(extents: Sequence[int], count: int) -> Numbers:
    return np.repeat(np.array(extents, dtype=float).reshape(-1, 1), count, axis=1)
