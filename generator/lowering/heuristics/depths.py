"""How many sequential loops run around the shared copies of a start plan."""

from __future__ import annotations

from generator.decisions.size_lists import Sizes
from generator.lowering.analysis.shapes import KernelShape
from generator.target import Target

_DEEP_BYTES = 48 * 1024
"""The most shared memory of copies inside several loops: more can be had with fewer of these around them."""


def least_depth(shape: KernelShape, tile: Sizes, inner_tile: int, target: Target) -> int:
    """Return the fewest loops inside which the copies fit; 0 on CPUs, and if they are large inside any."""
    depths = (0, *(() if target.shares_host_cores else shape.depths))
    for depth in depths:
        inside = shape.deeper(depth) if depth else shape
        room = _DEEP_BYTES if depth else target.local_bytes
        if inside.shareable and inside.shared_bytes(tile, inner_tile, registers=True) <= room:
            return depth
    return 0
