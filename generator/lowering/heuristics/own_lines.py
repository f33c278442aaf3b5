"""Start plans for GPUs with lines of single threads: sums over cells whose bins data choose.

In global memory, every update is a load and a store of a scattered element, one after the other. In shared memory, the
lines of a thread cost no bank conflicts. Short dimensions such as colours run inside the sums, so that a thread
computes value and bin once for all of them, if enough threads are left. x is the innermost dimension: where another one
has fewer transfers, this is because of the updates, and the values of colours may come from different branches.
"""

from __future__ import annotations

from math import prod

from generator.lowering.analysis.block_parts import BlockLines
from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.target import LANES, Target

_SHORT, _WARPS, _BLOCKS, _BYTES = 4, 4, 4, 48 * 1024
"""The longest dimension that runs inside the sums; the most warps of a block; the least blocks per multiprocessor, if
blocks can be smaller; the most shared memory of a block.
"""


def lines_kernel(shape: KernelShape, target: Target) -> KernelPlan | None:
    """Return a kernel whose threads keep their lines; None for other kernels, and on CPUs."""
    if target.shares_host_cores or not isinstance(shape.updates, BlockLines):
        return None
    extents, updates = shape.extents, shape.updates
    full = target.compute_units * LANES * _WARPS
    points = [1] * len(extents)
    for d, extent in enumerate(extents[:-1]):
        if extent <= _SHORT and prod(extents) >= full * extent * prod(points):
            points[d] = 1 << (extent - 1).bit_length()
    block = [1] * len(extents)
    block[-1] = min(LANES, 1 << max(0, extents[-1] - 1).bit_length())
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


def _tile(points: list[int], block: list[int]) -> tuple[int, ...]:
    return tuple(a * b for a, b in zip(points, block, strict=True))
