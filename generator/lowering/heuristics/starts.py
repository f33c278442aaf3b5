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

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from generator.decisions.points_inside import LEAST_TERMS
from generator.decisions.size_lists import Sizes
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.colours import with_all_colours
from generator.lowering.heuristics.cpu_starts import (
    band_kernel,
    slab_kernel,
    steps_kernel,
    sums_kernel,
    together_kernel,
    vectors_kernel,
)
from generator.lowering.heuristics.default import as_scheduled, default_plan
from generator.lowering.heuristics.few_threads import in_small_blocks
from generator.lowering.heuristics.filling import filling
from generator.lowering.heuristics.histograms import reduced_kernel
from generator.lowering.heuristics.neighbours import neighbours_along_x
from generator.lowering.heuristics.own_lines import lines_kernel
from generator.lowering.heuristics.split_sums import split_kernel
from generator.lowering.heuristics.styled import styled_kernel
from generator.lowering.heuristics.styles import (
    AROUND,
    BELOW,
    BLOCKED,
    DOWN,
    OUTER,
    POINTS,
    ROWS,
    STRIPS,
    SURROUNDED,
    WIDE,
    Style,
)
from generator.lowering.heuristics.warps import warps_kernel
from generator.lowering.heuristics.whole_words import with_whole_words
from generator.lowering.heuristics.wide_points import wide_points
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.tree import Sequence as Parts
from generator.polyhedral.kit.tree import launches_of
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target

_Maker: TypeAlias = Callable[[KernelShape, Target, Sizes], KernelPlan]
_PLUTO = ScheduleChoice()


def start_plans(program: Program, target: Target, choice: Schedule = _PLUTO) -> tuple[Plan, ...]:
    """Return plans to begin a search with, most promising first. Raises IllegalPlan if isl gives up."""
    shapes = kernel_shapes(program, choice, target.language)
    turned = _with_orders(program, shapes, target, choice)
    points = _points
    ahead = (_later, _filling) if target.copies_asynchronously else (_filling,)
    makers: list[_Maker] = [
        points, *(partial(one, place=place) for one in ahead for place in (0, 1)), partial(_outer, DOWN)]
    if not any(shape.sequential or shape.computes for shape in shapes):
        makers.insert(1, partial(_wide, program))
    if isinstance(choice, Stages):
        makers[1:] = [partial(_outer, BELOW), *(partial(ahead[0], place=place) for place in (0, 1)), _filling]
        makers = [partial(_of_pipeline, program, choice, make) for make in makers]
    if target.shares_host_cores:
        makers = [partial(styled_kernel, ROWS), slab_kernel, points, partial(styled_kernel, STRIPS),
                  partial(vectors_kernel, program)]
        if any(shape.computes for shape in shapes):
            makers[:0] = [steps_kernel, together_kernel, band_kernel]
        if any(shape.computes and shape.sequential for shape in shapes):  # sums of neighbours, side by side in a vector
            makers.insert(1, makers.pop(makers.index(points)))
        if any(shape.summed >= LEAST_TERMS for shape in shapes):
            makers.insert(0, makers.pop(-2))
    makers.append(_warps)
    lines = {s.statements: lines_kernel(s, target) for s in shapes if isinstance(choice, Stages)}
    plans = (Plan(choice, tuple(lines.get(shape.statements) or make(shape, target, order) for shape, order in turned))
             for make in makers)
    return tuple(dict.fromkeys(plans))


def _with_orders(program: Program, shapes: Sequence[KernelShape], target: Target,
                 choice: Schedule) -> Sequence[tuple[KernelShape, Sizes]]:
    """Return each kernel with the order of its dimensions in the default plan; for a reduction in a pipeline, that of
    kernels without copies.
    """
    if not isinstance(choice, Stages) or not choice.reductions:
        plan = default_plan(program, target, choice=choice)
        return [(shape, plan.kernel(shape.statements).order) for shape in shapes]
    reduced = [shape.statements for shape in shapes if shape.reduces]
    others = [shape.statements for shape in shapes if not shape.reduces]
    plain = _points_along_x(program, target, choice, reduced)
    plan = as_scheduled(program, target, choice=choice)
    plan = plan if target.shares_host_cores else neighbours_along_x(program, plan, target, others)
    return [(shape, (plain if shape.reduces else plan).kernel(shape.statements).order) for shape in shapes]


def vectors_plan(program: Program, target: Target, choice: Schedule = _PLUTO) -> Plan:
    """Return a plan for CPUs with one thread per block. Raises IllegalPlan if isl gives up."""
    default = default_plan(program, target, choice=choice)  # for the same x
    return Plan(choice, tuple((lines_kernel(shape, target) if isinstance(choice, Stages) else None) or vectors_kernel(
        program, shape, target, default.kernel(shape.statements).order)
                              for shape in kernel_shapes(program, choice, target.language)))


def unrated_plan(program: Program, target: Target, choice: Schedule) -> Plan:
    """Return the start plan whose kernels replace those that no cost model can rate: that with one thread per block on
    CPUs (the default plan), the first one on GPUs. Raises IllegalPlan if isl gives up.
    """
    make = vectors_plan if target.shares_host_cores else lambda *given: start_plans(*given)[0]
    return make(program, target, choice)


def sum_plan(program: Program, target: Target, choice: Schedule, wide: int = 1) -> Plan:
    """Return a plan that sums up rows in vectors (on GPUs: splits sums, in tiles of `wide` times the usual width),
    where `choice` lets terms be reordered. Raises IllegalPlan if isl gives up.
    """
    shapes = kernel_shapes(program, choice, target.language)
    if target.shares_host_cores:
        default = default_plan(program, target, choice=choice)
        return Plan(choice, tuple(sums_kernel(shape, target, default.kernel(shape.statements).order)
                                  for shape in shapes))
    plan = _points_along_x(program, target, choice)
    orders = [(shape, plan.kernel(shape.statements).order) for shape in shapes]
    return Plan(choice, tuple(split_kernel(program, shape, target, order, wide) or _beside_sums(shape, target, order)
                              for shape, order in orders))


def _points_along_x(program: Program, target: Target, choice: Schedule,
                    wanted: Collection[tuple[str, ...]] | None = None) -> Plan:
    """Return a plan with the x of split sums (in the kernels `wanted`, if given), which have no copies."""
    points = (styled_kernel(POINTS, shape, target, ()) for shape in kernel_shapes(program, choice, target.language))
    return neighbours_along_x(program, Plan(choice, tuple(points)), target, wanted)


def _beside_sums(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel in vectors, without copies, for one without loops inside, as that which updates a matrix of
    gemver; others are `_filling`.
    """
    return _filling(shape, target, order) if shape.sequential else styled_kernel(WIDE, shape, target, order)


def time_plan(program: Program, target: Target, steps: int) -> Plan:
    """Return a plan with `steps` time steps per launch. Raises IllegalPlan if the program has none."""
    choice = TimeTiles(steps)
    (shape,) = kernel_shapes(program, choice, target.language)
    return Plan(choice, (styled_kernel(SURROUNDED if target.shares_host_cores else AROUND, shape, target, ()),))


def time_warps_plan(program: Program, target: Target, steps: int) -> Plan | None:
    """Return `time_plan` with tiles of warps, half of each in registers.

    None if lanes cannot hold the sweeps for each other, or a block has no room for so many steps. Raises IllegalPlan if
    the program has no time steps.
    """
    choice = TimeTiles(steps)
    (shape,) = kernel_shapes(program, choice, target.language)
    kernel = warps_kernel(shape, target, ())
    return None if kernel is None else Plan(choice, (kernel,))


def _points(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with a point per thread; on GPUs in small blocks if there are few of them, with loops."""
    return in_small_blocks(styled_kernel(POINTS, shape, target, order), shape, target)


def _warps(shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with tiles of warps, half in registers; kernels whose stages lanes cannot hold are points."""
    return warps_kernel(shape, target, order) or styled_kernel(POINTS, shape, target, order)


def _outer(others: Style, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel of outer products in registers, in runs. Kernels without a rectangle of points per step are
    blocked; those without inner loops are `others`, whose threads have points below each other.
    """
    made = styled_kernel(OUTER, shape, target, order)
    if made.points_inside and len(made.tile) > 1:
        return made
    return styled_kernel(BLOCKED if shape.sequential else others, shape, target, order)


def _of_pipeline(program: Program, choice: Stages, make: _Maker, shape: KernelShape, target: Target,
                 order: Sizes) -> KernelPlan:
    """Return the kernel that `make` makes, storing whole words, with all colours of a point in a thread; for a parallel
    reduction, that of `reduced_kernel`.
    """
    if shape.reduces:
        order = () if shape.sequential else order
        return reduced_kernel(program, shape, target, styled_kernel(POINTS, shape, target, order))
    made = with_whole_words(program, shape, make(shape, target, order), choice)
    return with_all_colours(program, shape, made, choice)


def _wide(program: Program, shape: KernelShape, target: Target, order: Sizes) -> KernelPlan:
    """Return a kernel with a vector of points per thread, without copies; with inner loops or stages, blocked."""
    return wide_points(program, shape, order) or styled_kernel(BLOCKED, shape, target, order)


def _filling(shape: KernelShape, target: Target, order: Sizes, place: int = 0) -> KernelPlan:
    """Return a kernel of outer products with a tile that fills the device; other kernels are blocked. `place`: 1 for
    the second choice of a tile.
    """
    if len(shape.extents) > 1:
        tile, block = filling(shape.ordered(order).extents, target)[place]
        if (made := styled_kernel(OUTER.sized(tile, block), shape, target, order)).points_inside:
            return made
    return styled_kernel(BLOCKED, shape, target, order)


def _later(shape: KernelShape, target: Target, order: Sizes, place: int = 0) -> KernelPlan:
    """Return `_filling` with asynchronous copies of the next tile, if two tiles fit."""
    made = _filling(shape, target, order, place)
    shape = shape.ordered(order).deeper(made.depth) if made.depth else shape.ordered(order)
    size = shape.shared_bytes(made.tile, made.inner_tile, registers=True) if made.ahead else 0
    return replace(made, asynchronous=0 < 2 * size <= target.local_bytes)


def default_partition(program: Program) -> Partition:
    """Return the groups of statements of isl's scheduler by default, in its order; raises IllegalPlan if it gives up.
    """
    scheduled = schedule_kernels(program, ScheduleChoice())
    kernels = [part.statements for part in scheduled.kernels]
    parts = scheduled.host.children if isinstance(scheduled.host, Parts) else (scheduled.host,)
    groups = (tuple(sorted(name for number in launches_of(part) for name in kernels[number])) for part in parts)
    return Partition(tuple(Group(statements) for statements in groups))
