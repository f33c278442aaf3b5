"""The kernel of a style (`styles.py`), as far as the loops of the kernel and the limits of the device allow it."""

from __future__ import annotations

from math import prod

from generator.decisions.points_inside import LEAST_TERMS
from generator.decisions.size_lists import MIN_THREADS, Sizes, cover
from generator.decisions.unroll import only_points
from generator.lowering.analysis.shapes import KernelShape
from generator.lowering.heuristics.default import fitting, within_limits
from generator.lowering.heuristics.depths import least_depth
from generator.lowering.heuristics.styles import INNER_TILE, STRIPS, SUMS, Style
from generator.plan import KernelPlan
from generator.target import Target

_UNROLLED_AROUND = 4

_MOST_IN_TILE = 256
"""The most threads of a block that runs one tile of a wavefront."""


def styled_kernel(style: Style, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return the kernel of a style with the order of dimensions `order`; a wavefront on GPUs runs its diagonals."""
    if shape.diagonals and not target.shares_host_cores:
        return _in_tiles(shape, target)
    shape = shape.ordered(order)
    style = SUMS if style is STRIPS and shape.summed >= LEAST_TERMS and not shape.sequential else style
    count, whole = len(shape.extents), tuple(cover(e) for e in shape.extents)
    usual = tuple(min(t, e) for t, e in zip(style.tiles[count], whole, strict=True))
    tile = fitting(shape, _grown(usual, whole, target), target)
    block = _threads(tuple(min(b, t) for b, t in zip(style.blocks[count], tile, strict=True)), tile, target)
    depth = least_depth(shape, tile, INNER_TILE, target) if style.shared else 0
    shape = shape.deeper(depth) if depth else shape
    shared = (style.shared and bool(shape.shareable)
              and shape.shared_bytes(tile, INNER_TILE, registers=True) <= target.local_bytes)
    inside = style.inside and (style == SUMS or shape.steps_on(target)) and tile != block
    registers = style.registers and shape.sequential and bool(shape.kept)
    run = style.neighbours if tile and tile[-1] // block[-1] % style.neighbours == 0 else 1
    most = _UNROLLED_AROUND if depth else style.unroll  # the text repeats what is inside all loops within the copies
    unrolled = (shape.sequential or tile != block) and not only_points(shape, target)
    unroll = min(style.unroll, most) if unrolled else 1
    return KernelPlan(
        shape.statements, tile, block, order=order, unroll=unroll,
        points_inside=inside,
        registers=registers,
        shared=shared,
        depth=depth,
        prologue=shared and bool(shape.operated),
        inner_tile=INNER_TILE if shared and shape.sequential else 1,
        columns=style.columns and count > 1,
        run=run,
        ahead=style.neighbours > 1 and shared and shape.sequential,
        vector=style.neighbours if shared or max(run, unroll) >= style.neighbours else 1,
    )


def _in_tiles(shape: KernelShape, target: Target) -> KernelPlan:
    """Return a kernel that runs the diagonals of a wavefront's tile, with a thread per place along its rows if
    possible.
    """
    block = list(shape.diagonals)
    while prod(block) > min(_MOST_IN_TILE, target.max_threads):
        block[block.index(max(block))] //= 2
    return KernelPlan(shape.statements, (1,) * len(block), within_limits(tuple(block), target), diagonals=True)


def _threads(block: Sizes, tile: Sizes, target: Target) -> Sizes:
    """Return `block` within the device's limits; on GPUs with at least MIN_THREADS, if the tile has enough points."""
    most = tuple(min(size, limit) for size, limit in zip(reversed(tile), target.max_block, strict=False))[::-1]
    return _grown(within_limits(block, target), most, target)


def _grown(sizes: Sizes, most: Sizes, target: Target) -> Sizes:
    """Return `sizes` with a product of at least MIN_THREADS on GPUs, grown along x first, if `most` allows it."""
    found = list(sizes)
    for d in reversed(range(len(found))):
        while not target.shares_host_cores and prod(found) < MIN_THREADS and 2 * found[d] <= most[d]:
            found[d] *= 2
    return tuple(found)
