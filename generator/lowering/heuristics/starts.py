"""Plans to measure first: shapes of hand-written kernels, for several kinds of devices.

    rows      few threads, each runs long rows of points inside its sequential loops (vectors within a thread)
    slabs     on CPUs: one thread per block, and about as many blocks as cores, of whole rows (the loops of the program)
    points    one thread per point, neighbours along x (vectors or lanes across threads); on GPUs in small blocks where
              few threads run loops (`few_threads`)
    vectors   on GPUs: four neighbours per thread, for kernels without inner loops (`wide_points`)
    strips    on CPUs: threads along x (a vector), each with several points below each other, kept in registers
    bands     on CPUs: slabs of few rows with the stages that they need, whole in short dimensions (colours)
    steps     on CPUs: bands of more rows, one after the other, which keep the rows of stages that are read again
    together  on CPUs: steps of several rows, each vector of which is loaded once (`rows_together`)
    vectors   on CPUs: strips in one thread, whose points along x are a vector (PoCL), one block below the other
    sums      on CPUs: whole rows that are summed up, several of them in one thread (vectors along the rows); on GPUs:
              split over threads (`split_sums`)
    blocked   on GPUs: shared copies and several points per thread, kept in registers, as in a textbook matrix
              multiplication
    warps     where sub-groups exchange values: tiles of stages per warp, half of each in registers
    filling   on GPUs: blocked, in runs, with vector accesses and copies a tile ahead, in registers or asynchronous
              ones; two tiles, chosen so that all multiprocessors are busy (`filling`)
    outer     on GPUs: the same with 8 x 8 points per thread
    wide      on GPUs, beside split sums: threads with four neighbours and several rows each, for kernels without inner
              loops
    down      on GPUs: threads along x, each with several points below each other, for kernels without inner loops; in
              pipelines, adjacent ones, which share the elements that stencils read

Which one is best depends on device and program; a search starts with all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod
from typing import TypeAlias

from generator.decisions.points_inside import LEAST_TERMS
from generator.decisions.size_lists import MIN_THREADS, STEPS, Sizes, cover
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.default import default_plan, fitting, within_limits
from generator.lowering.heuristics.depths import least_depth
from generator.lowering.heuristics.even_rows import even_size
from generator.lowering.heuristics.few_rows import few_rows
from generator.lowering.heuristics.few_threads import in_small_blocks
from generator.lowering.heuristics.filling import filling
from generator.lowering.heuristics.histograms import reduced_kernel
from generator.lowering.heuristics.neighbours import neighbours_along_x
from generator.lowering.heuristics.own_lines import lines_kernel
from generator.lowering.heuristics.row_sums import updates_neighbours
from generator.lowering.heuristics.rows_together import rows_together
from generator.lowering.heuristics.split_sums import split_kernel
from generator.lowering.heuristics.styles import (
    AROUND,
    BELOW,
    BLOCKED,
    DOWN,
    INNER_TILE,
    OUTER,
    POINTS,
    ROWS,
    STRIPS,
    SUMS,
    SURROUNDED,
    VECTORS,
    WIDE,
    Style,
)
from generator.lowering.heuristics.warps import warps_kernel
from generator.lowering.heuristics.whole_words import with_whole_words
from generator.lowering.heuristics.wide_points import wide_points
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.tree import Sequence, launches_of
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target

_Maker: TypeAlias = Callable[[KernelShape, Target, Sizes], KernelPlan]
_UNROLLED_AROUND = 4
_PLUTO = ScheduleChoice()


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

_MOST_IN_TILE = 256
"""The most threads of a block that runs one tile of a wavefront."""


def start_plans(program: Program, target: Target, choice: Schedule = _PLUTO) -> tuple[Plan, ...]:
    """Return plans to begin a search with, most promising first. Raises IllegalPlan if isl gives up."""
    shapes = kernel_shapes(program, choice, target.dialect)
    default = default_plan(program, target, choice=choice)  # for the same x
    turned = [(shape, default.kernel(shape.statements).order) for shape in shapes]
    points = _points
    ahead = (_later, _filling) if target.copies_asynchronously else (_filling,)
    makers: list[_Maker] = [
        points, *(partial(one, place=place) for one in ahead for place in (0, 1)), partial(_outer, DOWN)]
    if not any(shape.sequential or shape.computes for shape in shapes):
        makers.insert(1, partial(_wide, program))
    if isinstance(choice, Stages):
        makers[1:] = [partial(_outer, BELOW), *(partial(ahead[0], place=place) for place in (0, 1)), _filling]
        makers = [partial(_of_pipeline, program, choice, make) for make in makers]
        plain = _points_along_x(program, target, choice) if choice.reductions else default
        turned = [(shape, plain.kernel(shape.statements).order if shape.reduces else order) for shape, order in turned]
    if target.shares_host_cores:
        makers = [partial(_kernel, ROWS), _slab, points, partial(_kernel, STRIPS), partial(_vectors, program)]
        if any(shape.computes for shape in shapes):
            makers[:0] = [_steps, _together, _band]
        if any(shape.computes and shape.sequential for shape in shapes):  # sums of neighbours, side by side in a vector
            makers.insert(1, makers.pop(makers.index(points)))
        if any(shape.summed >= LEAST_TERMS for shape in shapes):
            makers.insert(0, makers.pop(-2))
    makers.append(_warps)
    lines = {s.statements: lines_kernel(s, target) for s in shapes if isinstance(choice, Stages)}
    plans = (Plan(choice, tuple(lines.get(shape.statements) or make(shape, target, order) for shape, order in turned))
             for make in makers)
    return tuple(dict.fromkeys(plans))


def vectors_plan(program: Program, target: Target, choice: Schedule = _PLUTO) -> Plan:
    """Return a plan for CPUs with one thread per block. Raises IllegalPlan if isl gives up."""
    default = default_plan(program, target, choice=choice)  # for the same x
    return Plan(choice, tuple(_vectors(program, shape, target, default.kernel(shape.statements).order)
                              for shape in kernel_shapes(program, choice, target.dialect)))


def sum_plan(program: Program, target: Target, choice: Schedule, wide: int = 1) -> Plan:
    """Return a plan that sums up rows in vectors (on GPUs: splits sums, in tiles of `wide` times the usual width),
    where `choice` lets terms be reordered. Raises IllegalPlan if isl gives up.
    """
    shapes = kernel_shapes(program, choice, target.dialect)
    if target.shares_host_cores:
        default = default_plan(program, target, choice=choice)
        return Plan(choice, tuple(_sums(shape, target, default.kernel(shape.statements).order) for shape in shapes))
    plan = _points_along_x(program, target, choice)
    orders = [(shape, plan.kernel(shape.statements).order) for shape in shapes]
    return Plan(choice, tuple(split_kernel(program, shape, target, order, wide) or _beside_sums(shape, target, order)
                              for shape, order in orders))


def _points_along_x(program: Program, target: Target, choice: Schedule) -> Plan:
    """Return a plan with the x of split sums, which have no copies."""
    points = (_kernel(POINTS, shape, target, ()) for shape in kernel_shapes(program, choice, target.dialect))
    return neighbours_along_x(program, Plan(choice, tuple(points)), target)


def _beside_sums(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel in vectors, without copies, for one without loops inside, as that which updates a matrix of
    gemver; others are `_filling`.
    """
    return _filling(shape, target, order) if shape.sequential else _kernel(WIDE, shape, target, order)


def time_plan(program: Program, target: Target, steps: int) -> Plan:
    """Return a plan with `steps` time steps per launch. Raises IllegalPlan if the program has none."""
    choice = TimeTiles(steps)
    (shape,) = kernel_shapes(program, choice, target.dialect)
    return Plan(choice, (_kernel(SURROUNDED if target.shares_host_cores else AROUND, shape, target, ()),))


def time_warps_plan(program: Program, target: Target, steps: int) -> Plan | None:
    """Return `time_plan` with tiles of warps, half of each in registers.

    None if lanes cannot hold the sweeps for each other, or a block has no room for so many steps. Raises IllegalPlan if
    the program has no time steps.
    """
    choice = TimeTiles(steps)
    (shape,) = kernel_shapes(program, choice, target.dialect)
    kernel = warps_kernel(shape, target, ())
    return None if kernel is None else Plan(choice, (kernel,))


def _slab(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with one part of the outermost dimension per core, whole in the others as far as blocks allow."""
    shape = shape.ordered(order)
    tile = [min(most, cover(e)) for most, e in zip(_WHOLE[len(shape.extents)], shape.extents, strict=True)]
    if tile:
        least = min(_LEAST_X, tile[0]) if len(tile) == 1 else 1
        tile[0] = min(tile[0], max(least, cover(shape.extents[0] // target.compute_units + 1) // 2))
    for d in range(len(tile)):
        while prod(tile) > _SLAB_POINTS and tile[d] > 1:
            tile[d] //= 2
    fit = fitting(shape, tuple(few_rows(tile, shape)), target)
    return KernelPlan(shape.statements, fit, (1,) * len(fit), points_inside=shape.steps and prod(fit) > 1, order=order)


def _band(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with whole rows, a few below each other, so that the stages of a thread stay in its cache.

    Kernels without stages are slabs.
    """
    if not shape.computes or not shape.extents:
        return _slab(shape, target, order)
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


def _steps(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel that walks over whole rows: a thread keeps the rows of stages that it needs again."""
    band, shape = _band(shape, target, order), shape.ordered(order)
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


def _together(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel that walks over whole rows, several at once (see `rows_together`)."""
    return rows_together(_steps(shape, target, order), shape.ordered(order), target)


def _vectors(program: Program, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel whose threads keep vectors in registers; kernels without repeated updates of neighbours are
    slabs.
    """
    updates = shape.sequential and shape.kept and any(updates_neighbours(program.statement(name))
                                                      for name in shape.statements)
    return _kernel(VECTORS, shape, target, order) if updates else _slab(shape, target, order)


def _sums(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel whose threads sum up some rows of maximal length.

    Kernels without such sums keep results in registers, or are slabs.
    """
    count, owned = len(shape.extents), {d for kept in shape.kept for d in kept}
    summed = [d for d in range(count) if d not in owned]
    if not owned or not summed:
        return (
            _kernel(STRIPS, shape, target, order) if shape.sequential and shape.kept else _slab(shape, target, order)
        )
    x = summed[-1]
    order = () if x == count - 1 else (*(d for d in range(count) if d != x), x)
    several = sorted(owned)[-2:]
    sizes = [_LONGEST_ROW if d == x else _ROWS_AT_ONCE if d in several else 1 for d in order or range(count)]
    shape = shape.ordered(order)
    tile = fitting(shape, tuple(min(size, cover(e)) for size, e in zip(sizes, shape.extents, strict=True)), target)
    return KernelPlan(shape.statements, tile, (1,) * count, order=order, registers=True)


def _points(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with a point per thread; on GPUs in small blocks if there are few of them, with loops."""
    return in_small_blocks(_kernel(POINTS, shape, target, order), shape, target)


def _warps(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with tiles of warps, half in registers; kernels whose stages lanes cannot hold are points."""
    return warps_kernel(shape, target, order) or _kernel(POINTS, shape, target, order)


def _outer(others: Style, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel of outer products in registers, in runs. Kernels without a rectangle of points per step are
    blocked; those without inner loops are `others`, whose threads have points below each other.
    """
    made = _kernel(OUTER, shape, target, order)
    if made.points_inside and len(made.tile) > 1:
        return made
    return _kernel(BLOCKED if shape.sequential else others, shape, target, order)


def _of_pipeline(program: Program, choice: Stages, make: _Maker, shape: KernelShape, target: Target,
                 order: Sizes) -> KernelPlan:
    """Return the kernel that `make` makes, storing whole words; for a parallel reduction, that of `reduced_kernel`."""
    if shape.reduces:
        order = () if shape.sequential else order
        return reduced_kernel(program, shape, target, _kernel(POINTS, shape, target, order))
    return with_whole_words(program, shape, make(shape, target, order), choice)


def _wide(program: Program, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with a vector of points per thread, without copies; with inner loops or stages, blocked."""
    return wide_points(program, shape, order) or _kernel(BLOCKED, shape, target, order)


def _filling(shape: KernelShape, target: Target, order: Sizes, place: int = 0) -> KernelPlan:
    """Return a kernel of outer products with a tile that fills the device; other kernels are blocked. `place`: 1 for
    the second choice of a tile.
    """
    if len(shape.extents) > 1:
        tile, block = filling(shape.ordered(order).extents, target)[place]
        style = replace(OUTER, tiles=(*OUTER.tiles[:2], tile, (1, *tile)),
                        blocks=(*OUTER.blocks[:2], block, (1, *block)))
        if (made := _kernel(style, shape, target, order)).points_inside:
            return made
    return _kernel(BLOCKED, shape, target, order)


def _later(shape: KernelShape, target: Target, order: Sizes, place: int = 0) -> KernelPlan:
    """Return `_filling` with asynchronous copies of the next tile, if two tiles fit."""
    made = _filling(shape, target, order, place)
    shape = shape.ordered(order).deeper(made.depth) if made.depth else shape.ordered(order)
    size = shape.shared_bytes(made.tile, made.inner_tile, registers=True) if made.ahead else 0
    return replace(made, asynchronous=0 < 2 * size <= target.local_bytes)


def _kernel(style: Style, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
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
    unroll = min(style.unroll, most) if shape.sequential or tile != block else 1
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


def default_partition(program: Program) -> Partition:
    """Return the groups of statements of isl's scheduler by default, in its order; raises IllegalPlan if it gives up.
    """
    scheduled = schedule_kernels(program, ScheduleChoice())
    kernels = [part.statements for part in scheduled.kernels]
    parts = scheduled.host.children if isinstance(scheduled.host, Sequence) else (scheduled.host,)
    groups = (tuple(sorted(name for number in launches_of(part) for name in kernels[number])) for part in parts)
    return Partition(tuple(Group(statements) for statements in groups))
