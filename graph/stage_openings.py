"""The placements of stages that a search begins with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from generator.pipeline_graph import StagePlace
from generator.schedules.stages import Stages
from generator.storage_orders import preferred_orders
from generator.target import Target
from graph.deep import around_launches
from graph.pipeline import Chosen, ComputedArray, StageFacts
from graph.stage_costs import CPU, GPU, cheaply_inlined, exchanged, is_cheap, is_long_sum
from graph.tables import is_table
from graph.together import joined

MOST_OVERLAP = 3
"""The most times that a side of a stage in a block of a GPU may be as long as that of the smallest tile."""

Wish: TypeAlias = Callable[[StageFacts, Chosen], StagePlace]


def openings(stages: Sequence[StageFacts], target: Target, computed: Sequence[ComputedArray]) -> tuple[Stages, ...]:
    """Return typical schedules of programmers for `target`, as starts of a search.

    First what a cost model says (`graph.stage_costs`): it inlines what costs less than to store it. Then stages that
    are read at several places in blocks, the others inlined; the same, but pointwise stages inlined, and stages in
    blocks of which these read several elements; all possible stages inlined, unless the model calls that expensive;
    each in its own kernel. Stages that compute whole lines have their own kernels. Arrays among `computed` that would
    compute the same stages share kernels. On CPUs, tables and rows that all rows read have their own kernels, and a
    stage that looks something up is not inlined in stencils; the outermost of more than three parallel loops run around
    launches if the others add up many terms.

    On GPUs, the second schedule has exchanged stages with their readers if that costs less; then all stages are
    inlined, and stencils come before the others; long sums, and rows that all rows read, have their own kernels in the
    others; and the outermost of more than three parallel loops run around launches, if each of these fills the device,
    so that neighbouring threads access neighbours. Arrays with lines have one kernel for all of their definitions.
    """
    extents = {one.array: one.extents for one in computed}
    tiled, stencils = (_opening(stages, target, computed, wish) for wish in _in_blocks(stages, target, extents))
    weights = CPU if target.shares_host_cores else GPU
    most = all_inlined(stages, target, computed)
    most_if_cheap = [most] if is_cheap(dict(most.computed), stages, extents, weights) else []
    inlined = cheaply_inlined(stages, extents, weights)
    cheap = _opening(stages, target, computed, partial(_inlined, inlined))
    if target.shares_host_cores:
        found = [cheap, tiled, stencils, *most_if_cheap, Stages()]
    else:
        other = _opening(stages, target, computed, partial(_inlined, exchanged(stages, extents, weights, inlined)))
        made = (cheap, other, *most_if_cheap, stencils, tiled, Stages())
        found = [_lined(one, computed) for one in made]
    launches = around_launches(computed, target)
    found = [replace(one, launches=launches) for one in found]
    in_order = [_stored_in_order(one, computed) for one in found]
    as_declared = [one for one, stored in zip(found, in_order, strict=True) if stored.contiguous][:1]
    return tuple(dict.fromkeys((*in_order, *as_declared)))


def all_inlined(stages: Sequence[StageFacts], target: Target, computed: Sequence[ComputedArray]) -> Stages:
    """Return the schedule that inlines all stages but those that are never inlined: tables and, on GPUs, long sums."""
    stored = _stored(stages, target, {one.array: one.extents for one in computed})
    return _opening(stages, target, computed, partial(_with_tables, lambda *_: "inline", stored))


def _in_blocks(stages: Sequence[StageFacts], target: Target, extents: Mapping[str, tuple[int, ...]]) -> Sequence[Wish]:
    """Return two ways to have stages in blocks: those that are read at several places, and those of stencils."""
    stored = _stored(stages, target, extents)
    if target.shares_host_cores:
        looking = {reader.array for stage in stages if stage.array in stored for reader in stage.readers}
        wishes: tuple[Wish, ...] = (lambda stage, _: _tiled(stage), partial(_stencils, looking=looking))
    else:
        wishes = partial(_overlapping_little, lambda stage, _: _tiled(stage)), partial(_overlapping_little, _stencils)
    return tuple(partial(_with_tables, wish, stored) for wish in wishes)


def _stored(stages: Sequence[StageFacts], target: Target, extents: Mapping[str, tuple[int, ...]]) -> Collection[str]:
    """Return the stages that these schedules store in any case."""
    tables = (stage for stage in stages if is_table(stage, extents))
    if target.shares_host_cores:
        return {stage.array for stage in tables}
    return {stage.array for stage in (*(stage for stage in tables if not stage.by_data), *filter(is_long_sum, stages))}


def _lined(schedule: Stages, computed: Sequence[ComputedArray]) -> Stages:
    """Return `schedule` with one kernel for all definitions of each stored array for which that is possible: a thread
    sets the lines that it updates.
    """
    lines = ((one.array,) for one in computed if one.lined and one.array not in dict(schedule.computed))
    return replace(schedule, together=tuple(sorted((*schedule.together, *lines))))


def _opening(stages: Sequence[StageFacts], target: Target, computed: Sequence[ComputedArray], wish: Wish) -> Stages:
    chosen = Chosen(target.local_bytes)
    for stage in reversed(stages):
        wanted = "root" if stage.lines else wish(stage, chosen)
        chosen.take(stage, wanted if wanted in chosen.options(stage) else "root")
    schedule = chosen.schedule()
    return replace(schedule, together=joined(computed, dict(schedule.computed)))


def _stored_in_order(schedule: Stages, computed: Sequence[ComputedArray]) -> Stages:
    """Return `schedule` with storage orders in which few reads are out of order; arrays in another one than
    that of their declaration have their own kernels.
    """
    inline = [array for array, place in schedule.computed if place == "inline"]
    contiguous = preferred_orders(computed, inline)
    together = (arrays for arrays in schedule.together if not dict(contiguous).keys() & set(arrays))
    return replace(schedule, contiguous=contiguous, together=tuple(together))


def _inlined(inlined: Collection[str], stage: StageFacts, _: Chosen) -> StagePlace:
    return "inline" if stage.array in inlined else "root"


def _with_tables(wish: Wish, tables: Collection[str], stage: StageFacts, chosen: Chosen) -> StagePlace:
    """Store `tables`; choose other places by `wish`."""
    return "root" if stage.array in tables else wish(stage, chosen)


def _overlapping_little(wish: Wish, stage: StageFacts, chosen: Chosen) -> StagePlace:
    """Store a stage instead of computing it in blocks if tiles would overlap in most of their elements: a chain of
    stencils is computed a few at a time.
    """
    wanted = wish(stage, chosen)
    return "root" if wanted == "block" and chosen.spreads(stage, MOST_OVERLAP) else wanted


def _tiled(stage: StageFacts) -> StagePlace:
    several = any(reader.elements > 1 or reader.often > 1 for reader in stage.readers)
    return "block" if several and not stage.by_data else "inline"


def _stencils(stage: StageFacts, chosen: Chosen, looking: Collection[str] = ()) -> StagePlace:
    """Choose by `chosen`, which has the readers of the stage: of a stage inlined in a stencil, neighbours are read,
    too. `looking`: stages that look up elements of tables, which costs more than other pointwise work.
    """
    if stage.by_data or (stage.pointwise and stage.array not in looking):
        return "inline"
    return "block" if chosen.spreads(stage) else _tiled(stage)
