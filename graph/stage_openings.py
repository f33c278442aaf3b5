"""The placements of stages that a search begins with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from generator.pipeline_graph import StagePlace
from generator.schedules.stages import Stages
from generator.target import Target
from graph.deep import around_launches
from graph.pipeline import Chosen, ComputedArray, StageFacts
from graph.stage_costs import cheaply_inlined, exchanged, is_cheap, is_long_sum
from graph.tables import is_read_once, is_table, is_table_of_stencils
from graph.together import joined

MOST_OVERLAP = 3
"""The most times that a side of a stage in a block of a GPU may be as long as that of the smallest tile."""

Wish: TypeAlias = Callable[[StageFacts, Chosen], StagePlace]


def openings(stages: Sequence[StageFacts], target: Target,
             computed: Sequence[ComputedArray] = ()) -> tuple[Stages, ...]:
    """Return typical schedules of programmers for `target`, as starts of a search.

    All possible stages inlined; stages that are read at several places in blocks, the others inlined; the same, but
    pointwise stages inlined, and stages in blocks of which these read several elements; each in its own kernel. Stages
    that compute whole lines have their own kernels. Arrays among `computed` that would compute the same stages share
    kernels. On CPUs, tables and rows that all rows read have their own kernels, and a stage that looks something up is
    not inlined in stencils; if data choose which elements of a stage of stencils are read, the first schedule inlines
    only what then is not computed twice; the outermost of more than three parallel loops run around launches if the
    others add up many terms. On GPUs, the first schedule inlines what costs less than to store it
    (`graph.stage_costs`), the second one has also exchanged stages with their readers if that costs less, all stages
    are inlined only if that is not expensive; long sums, and rows that all rows read, have their own kernels in the
    others; and the outermost of more than three parallel loops run around launches, if each of these fills the device,
    so that neighbouring threads access neighbours. Arrays with lines have one kernel for all of their definitions.
    """
    wishes: tuple[Wish, ...] = (lambda *_: "inline", lambda stage, _: _tiled(stage), _stencils)
    extents = {one.array: one.extents for one in computed}
    if target.shares_host_cores:
        tables = {stage.array for stage in stages if is_table(stage, extents)}
        looking = {reader.array for stage in stages if stage.array in tables for reader in stage.readers}
        wishes = tuple(partial(_with_tables, wish, tables) for wish in
                       (*wishes[:2], lambda stage, chosen: _stencils(stage, chosen, looking)))
        if any(map(is_table_of_stencils, stages)):
            wishes = (lambda stage, _: "inline" if is_read_once(stage, extents) else "root", *wishes)
    else:
        rows = (stage for stage in stages if not stage.by_data and is_table(stage, extents))
        stored = {stage.array for stage in (*rows, *filter(is_long_sum, stages))}
        wishes = tuple(partial(_with_tables, partial(_overlapping_little, wish), stored) for wish in wishes)
    found = (*(_opening(stages, target, computed, wish) for wish in wishes), Stages())
    if not target.shares_host_cores:
        return _on_gpus(stages, target, computed, found)
    launches = around_launches(computed, target)
    return tuple(replace(one, launches=launches) for one in found)


def _on_gpus(stages: Sequence[StageFacts], target: Target, computed: Sequence[ComputedArray],
             found: Sequence[Stages]) -> tuple[Stages, ...]:
    """Return schedules for GPUs: the cheapest one first; of `found`, the one that inlines most if it is not expensive.
    """
    extents = {one.array: one.extents for one in computed}
    if all(reader.array in extents for stage in stages for reader in stage.readers):
        inlined = cheaply_inlined(stages, extents)
        cheap = (_opening(stages, target, computed, partial(_inlined, one))
                 for one in (inlined, exchanged(stages, extents, inlined)))
        first, *others = found
        more = [first] if is_cheap(dict(first.computed), stages, extents) else []
        found = [*cheap, *more, *reversed(others[:-1]), *others[-1:]]
    launches = around_launches(computed, target)
    return tuple(dict.fromkeys(replace(_lined(one, computed), launches=launches) for one in found))


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
