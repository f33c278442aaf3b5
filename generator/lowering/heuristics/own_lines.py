"""Start plans for kernels whose threads own lines: sums over cells whose bins data choose.

On GPUs, every update in global memory is a load and a store of a scattered element, one after the other; in shared
memory, the lines of a thread cost no bank conflicts. On all devices, short dimensions such as colours run inside the
sums, so that a thread computes value and bin once for all of them; on GPUs if enough threads are left. There, x is the
innermost dimension: where another one has fewer transfers, this is because of the updates, and the values of colours
may come from different branches. On CPUs, the bins of a row of cells are in the caches anyway.
"""

from __future__ import annotations

from math import prod

from generator.decisions.size_lists import cover
from generator.lowering.analysis.block_parts import BlockLines
from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.target import LANES, Target

_SHORT, _WARPS, _BLOCKS, _BYTES, _ROW = 4, 4, 4, 48 * 1024, 256
"""The longest dimension that runs inside the sums. On GPUs: the most warps of a block; the least blocks per
multiprocessor, if blocks can be smaller; the most shared memory of a block. On CPUs: the longest row of a block.
"""


def lines_kernel(shape: KernelShape, target: Target) -> KernelPlan | None:
    """Return such a kernel; None for other kernels, and on CPUs also if no short dimension is outside of x."""
    if not isinstance(shape.updates, BlockLines) or not shape.sequential:
        return None
    if target.shares_host_cores:
        return _on_cpus(shape)
    extents, updates = shape.extents, shape.updates
    full = target.compute_units * LANES * _WARPS
    points = [1] * len(extents)
    for d in _short(shape):
        if prod(extents) >= full * extents[d] * prod(points):
            points[d] = cover(extents[d])
    block = [1] * len(extents)
    block[-1] = min(LANES, cover(extents[-1]))
    threads = prod(extents) // prod(points)
    for d in reversed(range(len(extents))):
        while (prod(block) < LANES * _WARPS and block[d] * points[d] < extents[d]
               and threads >= 2 * prod(block) * _BLOCKS * target.compute_units
               and 2 * updates.bytes(_tile(points, block)) <= min(_BYTES, target.local_bytes)):
            block[d] *= 2
    tile = _tile(points, block)
    if updates.bytes(tile) > target.local_bytes:
        return None
    inside = tile != tuple(block)
    return KernelPlan(shape.statements, tile, tuple(block), points_inside=inside,
                      unroll=prod(points) if inside else 1, combine="private")


def _on_cpus(shape: KernelShape) -> KernelPlan | None:
    """Return a kernel whose threads run rows, with short dimensions innermost."""
    short, count = _short(shape), len(shape.extents)
    if not short:
        return None
    order = (*(d for d in range(count) if d not in short), *short)
    *outer, row = order[:-len(short)]
    whole = tuple(cover(shape.extents[d]) for d in short)
    tile = (*(1 for _ in outer), min(_ROW, cover(shape.extents[row])), *whole)
    return KernelPlan(shape.statements, tile, (1,) * count, order=order, points_inside=True, unroll=prod(whole))


def _short(shape: KernelShape) -> tuple[int, ...]:
    """Return the short dimensions outside of x."""
    return tuple(d for d, extent in enumerate(shape.extents[:-1]) if extent <= _SHORT)


def _tile(points: list[int], block: list[int]) -> tuple[int, ...]:
    return tuple(a * b for a, b in zip(points, block, strict=True))
