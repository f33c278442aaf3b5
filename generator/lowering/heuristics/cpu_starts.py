"""Kernels of start plans for CPUs: few threads, whose inner loops run along rows.

`starts.py` says what each of them is for.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.decisions.size_lists import STEPS, Sizes, cover
from generator.lowering.analysis.shapes import KernelShape
from generator.lowering.heuristics.default import fitting
from generator.lowering.heuristics.even_rows import even_size
from generator.lowering.heuristics.few_rows import even_shares, few_rows
from generator.lowering.heuristics.row_sums import updates_neighbours
from generator.lowering.heuristics.rows_together import rows_together
from generator.lowering.heuristics.styled import styled_kernel
from generator.lowering.heuristics.styles import STRIPS, VECTORS
from generator.plan import KernelPlan
from generator.program import Program
from generator.target import Target

_WHOLE: tuple[Sizes, ...] = ((), (2048,), (128, 2048), (16, 128, 2048))
"""The largest tile sizes of slabs; below, the most points of a tile and the smallest size along x."""
_SLAB_POINTS, _LEAST_X = 65536, 8
_BAND_ROWS, _LEAST_ROWS, _LEAST_BAND_X, _SHORT, _BAND_BYTES = 32, 8, 64, 16, 256 * 1024
"""For bands: the most rows, and the least before rows are split; the shortest pieces of rows; the longest dimension
that is called short; the size of a core's second-level cache.
"""

_STEPS, _PARTS = 128, 4
"""For a block that walks down its tile: its most rows, and the least number of its tiles per core."""

_ROWS_AT_ONCE, _LONGEST_ROW = 4, 4096
"""Rows of sums in each of two dimensions (so many fit into vector registers), and the largest tile size that a search
offers on CPUs.
"""


def slab_kernel(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with one part of the outermost dimension per core, whole in the others as far as blocks allow."""
    shape = shape.ordered(order)
    tile = [min(most, cover(e)) for most, e in zip(_WHOLE[len(shape.extents)], shape.extents, strict=True)]
    if tile:
        least = min(_LEAST_X, tile[0]) if len(tile) == 1 else 1
        tile[0] = min(tile[0], max(least, cover(shape.extents[0] // target.compute_units + 1) // 2))
        tile[0] = even_shares(tile[0], shape, target)
    for d in range(len(tile)):
        while prod(tile) > _SLAB_POINTS and tile[d] > 1:
            tile[d] //= 2
    fit = fitting(shape, tuple(few_rows(tile, shape)), target)
    return KernelPlan(shape.statements, fit, (1,) * len(fit), points_inside=shape.steps and prod(fit) > 1, order=order)


def band_kernel(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with whole rows, a few below each other, so that the stages of a thread stay in its cache.

    Kernels without stages are slabs.
    """
    if not shape.computes or not shape.extents:
        return slab_kernel(shape, target, order)
    shape = shape.ordered(order)
    outer = [cover(extent) for extent in shape.extents[:-1]]
    whole = (min(size, _BAND_ROWS) if d == len(outer) - 1 else size if size <= _SHORT else 1
             for d, size in enumerate(outer))
    tile = [*whole, even_size(shape.extents[-1], _WHOLE[1][0])]
    room = min(_BAND_BYTES, target.local_bytes)
    dims = range(-len(tile), 0)
    first = [(d, least) for d, least in ((-2, _LEAST_ROWS), (-1, _LEAST_BAND_X)) if d in dims]
    for d, least in (*first, *((d, 1) for d in dims)):
        while tile[d] > least and shape.shared_bytes(tuple(tile), 1, copies=False) > room:
            tile[d] //= 2
    return KernelPlan(shape.statements, tuple(tile), (1,) * len(tile), order=order,
                      points_inside=shape.steps and prod(tile) > 1)


def steps_kernel(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel that walks over whole rows: a thread keeps the rows of stages that it needs again."""
    band, shape = band_kernel(shape, target, order), shape.ordered(order)
    if not shape.walkable or shape.extents[-2] < 2:
        return band
    *outer, rows = (cover(extent) for extent in shape.extents[:-1])
    share = max(2, cover(shape.extents[-2] // (_PARTS * target.compute_units) + 1))
    tile = (*(size if size <= _SHORT else 1 for size in outer), min(rows, share, _STEPS),
            even_size(shape.extents[-1], _WHOLE[1][0]))
    while prod(tile) > STEPS.max_points and tile[-2] > 2:
        tile = (*tile[:-2], tile[-2] // 2, tile[-1])
    shape, room = shape.walking(1), min(_BAND_BYTES, target.local_bytes)
    while tile[-1] > _LEAST_BAND_X and shape.shared_bytes(tile, 1) > room:
        tile = (*tile[:-1], tile[-1] // 2)
    if shape.shared_bytes(tile, 1) > target.local_bytes:
        return band
    return replace(band, tile=tile, block=(1,) * len(tile), walk=1)


def together_kernel(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel that walks over whole rows, several at once (see `rows_together`)."""
    return rows_together(steps_kernel(shape, target, order), shape.ordered(order), target)


def vectors_kernel(program: Program, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel whose threads keep vectors in registers; kernels without repeated updates of neighbours are
    slabs.
    """
    updates = shape.sequential and shape.kept and any(updates_neighbours(program.statement(name))
                                                      for name in shape.statements)
    return styled_kernel(VECTORS, shape, target, order) if updates else slab_kernel(shape, target, order)


def sums_kernel(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel whose threads sum up some rows of maximal length.

    Kernels without such sums keep results in registers, or are slabs.
    """
    count, owned = len(shape.extents), {d for kept in shape.kept for d in kept}
    summed = [d for d in range(count) if d not in owned]
    if not owned or not summed:
        return (styled_kernel(STRIPS, shape, target, order) if shape.sequential and shape.kept
                else slab_kernel(shape, target, order))
    x = summed[-1]
    order = () if x == count - 1 else (*(d for d in range(count) if d != x), x)
    several = sorted(owned)[-2:]
    sizes = [_LONGEST_ROW if d == x else _ROWS_AT_ONCE if d in several else 1 for d in order or range(count)]
    shape = shape.ordered(order)
    tile = fitting(shape, tuple(min(size, cover(e)) for size, e in zip(sizes, shape.extents, strict=True)), target)
    return KernelPlan(shape.statements, tile, (1,) * count, order=order, registers=True)
