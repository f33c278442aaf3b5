"""The walks to the plans that a search measures first.

A plan's sizes belong to kernels, and the schedule determines the kernels. So a walk first follows an opening (a
promising schedule) to its end, and `generator.lowering.heuristics.starts` makes plans for the resulting kernels. Values
that the space does not offer are replaced by the nearest ones that it does (`generator.decisions.deciding`), so that a
walk reaches each plan exactly.

`parts` imports this module inside a function because it loads isl.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from experiments.search.paddings import with_fewest_conflicts
from experiments.values.options import RunOptions
from generator.decisions.deciding import nearest_to
from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.common_passes import (
    common_passes,
    first_values,
    has_all_loops,
    joined,
    sums_in_registers,
)
from generator.lowering.heuristics.histograms import parallel_updates
from generator.lowering.heuristics.row_sums import row_sums
from generator.lowering.heuristics.serial_loops import serial_schedule, serial_stages
from generator.lowering.heuristics.split_sums import few_sums
from generator.lowering.heuristics.starts import (
    default_partition,
    start_plans,
    sum_plan,
    time_plan,
    time_warps_plan,
)
from generator.lowering.heuristics.streams import with_streams
from generator.lowering.heuristics.tensor import tensor_plans
from generator.plan import Plan
from generator.polyhedral.dependences.reductions import parallel_reductions
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.polyhedral.schedules.hyperplanes import O3
from generator.polyhedral.schedules.partition import level
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Partition
from generator.schedules.schedule import Schedule
from generator.target import Target
from graph.o1 import preferences_of_reductions
from graph.o2 import apart, preferences_of_partition
from graph.o3 import openings as o3_openings
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, prefer
from graph.reaching import Reachable, walk_to
from graph.stage_openings import openings as stage_openings
from graph.walk import Walk

FEW = 2
"""Plans per schedule after the first schedule. When statements are separate, more of them can keep results in
registers.
"""

WIDTHS = (1, 2)
"""The widths of tiles of split sums on GPUs: wider ones have fewer atomic updates, but leave more multiprocessors idle.
"""

STREAMS = 2
"""Start plans that are also measured with streaming stores: the most promising ones that can have them."""


def starts(
    program: Program, target: Target, options: RunOptions, space: Reachable, steps: Sequence[int]
) -> Sequence[Walk]:
    """Return the walks through `space` to the start plans of a search, most promising first.

    `steps`: the offered numbers of time steps per launch.

    Raises:
        NotOnOffer: a start plan is not in the space, which is a bug in antune.
    """
    made = _Starts(program, target, options, space, steps)
    plans = dict.fromkeys(made.on_offer(plan) for plan in made.plans())
    return [walk_to(space, plan) for plan in plans if made.has_room(plan)]


@dataclass(frozen=True, slots=True)
class _Starts:
    """Makes the start plans of a search; the fields are the arguments of `starts`."""

    program: Program
    target: Target
    options: RunOptions
    space: Reachable
    steps: Sequence[int]

    def on_offer(self, plan: Plan) -> Plan:
        """Return the plan of the space that is closest to `plan` and has the same schedule, without bank conflicts that
        padding avoids.
        """
        wide = self.options.space != "paper"
        shapes = kernel_shapes(self.program, plan.scheduled, self.target.language)
        made = replace(
            plan,
            kernels=tuple(nearest_to(plan.kernel(shape.statements), shape, self.target, wide)[0] for shape in shapes),
        )
        return with_fewest_conflicts(self.program, made, self.target, wide)

    def has_room(self, plan: Plan) -> bool:
        """Return whether the stages of each block fit in its shared memory; of blocks in steps, this is not known."""
        kernels = ((shape, plan.kernel(shape.statements))
                   for shape in kernel_shapes(self.program, plan.scheduled, self.target.language) if shape.computes)
        return all(kernel.walk or kernel.level != "block" or shape.shared_bytes(
            kernel.tile, kernel.inner_tile, kernel.padding, copies=False) <= self.target.local_bytes
            for shape, kernel in kernels)

    def plans(self) -> Iterator[Plan]:
        """Yield the plans, most promising first. The first plan is followed by its tensor-core versions, if the target
        has any; the first STREAMS plans that write more than a CPU's caches hold, by versions with streaming stores.
        """
        found, streaming = list[Plan](), 0
        for plan in self._plain():
            yield plan
            if streaming < STREAMS and (made := with_streams(self.program, plan, self.target)) is not None:
                streaming += 1
                yield made
            if not found:
                found += tensor_plans(self.program, plan, self.target)
                yield from found

    def _plain(self) -> Iterator[Plan]:
        """Yield the plans without tensor cores, most promising first."""
        if self.options.space == "pipeline":
            yield from self._of_stages()
        elif self.options.level == "o1":
            summed = self._summed()
            of_sums = list(self._sum_plans(ScheduleChoice(reductions=summed))) if summed else []
            if not self.target.shares_host_cores:
                yield from of_sums  # the other plans leave most of a GPU idle
            for schedule in self._with_serial(ScheduleChoice()):
                yield from start_plans(self.program, self.target, schedule)
            if self.target.shares_host_cores:
                yield from of_sums
            yield from self._times()
        else:
            first, *others = self._of_schedules() or [()]
            of_sums = list(self._of_sums())
            for plans in (first, of_sums) if self.target.shares_host_cores else (of_sums, first):
                yield from plans
            yield from self._times()
            for plans in others:
                yield from plans

    def _summed(self) -> tuple[str, ...]:
        """Return the reductions that the device gains from running in parallel: on CPUs those that sum up rows, on GPUs
        few long ones.
        """
        reductions = parallel_reductions(self.program, self.options.strict_float)
        if self.target.shares_host_cores:
            return row_sums(self.program, reductions)
        return few_sums(self.program, self.target, reductions)

    def _times(self) -> Iterator[Plan]:
        """Yield plans that run several time steps per launch: tiles of blocks, then of warps, half in registers."""
        program, target, some = self.program, self.target, self.steps[1::2]
        last = () if target.shares_host_cores else self.steps[-1:]
        yield from (time_plan(program, target, number) for number in dict.fromkeys((*some, *last)))
        made = (time_warps_plan(program, target, number) for number in some)
        if found := [plan for plan in made if plan is not None]:
            yield from found
        elif some and (plan := time_warps_plan(program, target, self.steps[0])) is not None:
            yield plan

    def _openings(self) -> Sequence[Preferences]:
        """Return promising schedules, as preferences for their decisions."""
        whole = preferences_of_partition(default_partition(self.program), partial(level, self.program))
        return (
            [whole, {}] if self.options.level == "o2" else [{**whole, **way} for way in o3_openings(O3(self.program))]
        )

    def _of_schedules(self) -> list[Sequence[Plan]]:
        """Return the plans of each distinct schedule that the openings lead to."""
        found: dict[Schedule, Sequence[Plan]] = {}
        for opening in self._openings():
            opened = self._schedule(opening)
            opened = self._with_first_values(opened) if opened is not None and not found else opened
            for schedule in self._with_serial(opened) if opened is not None else ():
                if schedule not in found:
                    plans = start_plans(self.program, self.target, schedule)
                    found[schedule] = _few(plans) if found else plans
        return list(found.values())

    def _with_serial(self, schedule: Schedule) -> Sequence[Schedule]:
        """Return `schedule`, preceded by a version that runs loops in one thread if their launches cost more than their
        work.
        """
        if self.options.space != "wide":
            return (schedule,)
        return tuple(dict.fromkeys((serial_schedule(self.program, self.target, schedule), schedule)))

    def _of_sums(self) -> Iterator[Plan]:
        """Yield plans that sum up in parallel and keep statements separate, if there are any. On GPUs plans precede
        them in which sums share a kernel with statements that pass over the same elements, if there are any.
        """
        summed = self._summed()
        schedule = self._schedule(preferences_of_reductions(summed)) if summed else None
        if schedule is not None:
            shared = self._with_common_passes(schedule, summed)
            yield from self._sum_plans(*dict.fromkeys((shared, schedule)))

    def _sum_plans(self, *schedules: Schedule) -> Iterator[Plan]:
        """Yield the plans of sums of these schedules; on GPUs then those with wider tiles, too."""
        for wide in (1,) if self.target.shares_host_cores else WIDTHS:
            yield from (sum_plan(self.program, self.target, schedule, wide) for schedule in schedules)

    def _with_common_passes(self, schedule: Schedule, summed: Sequence[str]) -> Schedule:
        """Return `schedule` with groups joined that pass over the same elements; itself on CPUs and at level o3."""
        if self.target.shares_host_cores or not isinstance(schedule, Partition):
            return schedule
        for first, second in common_passes(self.program, summed):
            opened = self._opened(joined(schedule, first, second))
            if opened is not None and has_all_loops(self.program, opened, (first, second), self.target):
                schedule = opened
        return schedule

    def _with_first_values(self, schedule: Schedule) -> Schedule:
        """Return `schedule` with sums in registers joined with the statements that set their first values; itself on
        CPUs and at level o3.
        """
        if self.target.shares_host_cores or not isinstance(schedule, Partition):
            return schedule
        for pair in first_values(self.program):
            if not any(set(pair) <= set(group.statements) for group in schedule.groups):
                opened = self._opened(joined(schedule, *pair))
                if opened is not None and sums_in_registers(self.program, opened, pair, self.target):
                    schedule = opened
        return schedule

    def _opened(self, partition: Partition) -> Partition | None:
        """Return the schedule in the space that has the groups of `partition`; None if there is none."""
        with suppress(IllegalPlan):  # some group shares no loop
            preferences = preferences_of_partition(partition, partial(level, self.program))
            opened = self._schedule({**preferences_of_reductions(partition.reductions), **preferences})
            if isinstance(opened, Partition) and _statements(opened) == _statements(partition):
                return opened
        return None

    def _schedule(self, opening: Preferences) -> Schedule | None:
        """Return the schedule of a walk that begins with `opening`; None if there is no such walk."""
        walk = OptimizationGraph().walk(self.space, prefer(opening, apart))
        return None if walk is None else walk.plan.schedule

    def _of_stages(self) -> Iterator[Plan]:
        """Yield the plans of all placements of the stages: first in the first style of kernels, then in the others. On
        GPUs, the first placements come in their second style before the last ones do in their first.
        """
        found = []
        for schedule in self._placements():
            with suppress(IllegalPlan):  # a kernel has loops in which a block cannot synchronise
                found.append(start_plans(self.program, self.target, schedule))
        if self.target.shares_host_cores:
            return (plan for style in zip_longest(*found) for plan in style if plan is not None)
        ranked = sorted((place + 2 * style, place, style) for place, plans in enumerate(found)
                        for style in range(len(plans)))
        return (found[place][style] for _, place, style in ranked)

    def _placements(self) -> Sequence[Schedule]:
        """Return the placements of the stages that a search begins with. On GPUs, the updates of stages that are stored
        run in parallel where that gains, unless loops run around launches; the first placement also comes without. Host
        loops whose launches would take longer than their work run in one thread; the last placement of CPUs is without.
        """
        openings = stage_openings(stage_facts(self.program), self.target, computed_arrays(self.program))
        serial = partial(serial_stages, self.program, self.target)
        if self.target.shares_host_cores:
            return tuple(dict.fromkeys((*map(serial, openings), openings[-1])))
        offered = parallel_updates(self.program, parallel_reductions(self.program, self.options.strict_float))
        found = []
        for one in openings:
            places = dict(one.computed)
            updates = {name: array for name in offered if not one.launches
                       and (array := self.program.statement(name).body.target.array) not in places}
            together = (arrays for arrays in one.together if len(arrays) > 1 or arrays[0] not in updates.values())
            found.append(replace(one, reductions=tuple(updates), together=tuple(together)))
        return tuple(dict.fromkeys(map(serial, (*found[:1], *openings[:1], *found[1:]))))


def _few(plans: Sequence[Plan]) -> Sequence[Plan]:
    """Return at most `FEW` plans, those that use registers first."""
    return sorted(plans, key=lambda plan: not any(kernel.registers for kernel in plan.kernels))[:FEW]


def _statements(partition: Partition) -> list[tuple[str, ...]]:
    return [group.statements for group in partition.groups]
