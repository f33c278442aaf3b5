"""A start kernel whose stages are in tiles of warps, half of each in registers (`in_registers`)."""

from __future__ import annotations

from math import prod

from generator.decisions.fractions import MOST_WORDS, TENTHS, in_registers, sub_group
from generator.decisions.size_lists import cover
from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.target import LANES, Target

Sizes = tuple[int, ...]
_HALF, _WARPS = 5, 4
_POINTS: tuple[Sizes, ...] = ((), (8,), (2, 4), (1, 2, 4))
"""Points of a lane, outermost first."""


def warps_kernel(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan | None:
    """Return a kernel with blocks of 4 warps below each other, each with rows of 32 lanes.

    None if lanes cannot hold the stages for each other, or a block has no room for them.
    """
    count = len(shape.extents)
    if target.sub_group < LANES or not shape.computes or not 0 < count < len(_POINTS):
        return None
    shape = shape.ordered(order)
    whole = tuple(cover(extent) for extent in shape.extents)
    rows = (min(_WARPS, whole[-2]),) if count > 1 else ()
    block = (*(1,) * (count - 2), *rows, LANES) if count > 1 else (LANES * min(_WARPS, max(1, whole[0] // LANES)),)
    lanes = sub_group(block)
    if lanes is None or prod(block) > target.max_threads:
        return None
    points = [min(n, size // b) for n, size, b in zip(_POINTS[count], whole, block, strict=True)]
    teams = prod(block) // LANES
    while points[-1] > 1:
        tile = tuple(n * threads for n, threads in zip(points, lanes, strict=True))
        held = in_registers(points[-1], _HALF)
        room = shape.lane_room(tile, lanes, held, 0)
        if room and room.words <= MOST_WORDS and teams * room.bytes <= target.local_bytes:
            sizes = tuple(n * threads for n, threads in zip(points, block, strict=True))
            tenths = next(n for n in TENTHS if in_registers(points[-1], n) == held)
            return KernelPlan(shape.statements, sizes, block, order=order, level="sub-group", in_registers=tenths)
        points[points.index(max(points))] //= 2
    return None
