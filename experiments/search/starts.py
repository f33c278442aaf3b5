"""The walks to the plans worth measuring first.

The sizes in a plan are those of kernels, and which kernels there are follows from the schedule. So a walk takes an
opening (a schedule worth a try) to its end first, and `generator.lowering.heuristics.starts` makes plans for the
kernels that it meets. What these ask for and the space has not is replaced by the nearest that it has
(`generator.decisions.deciding`); then a walk reaches each plan exactly.

`parts` imports this module late: it needs isl.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from experiments.values.options import RunOptions
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import (
    default_partition,
    row_sums,
    serial_schedule,
    start_plans,
    sum_plan,
    time_plan,
)
from generator.lowering.heuristics.tensor import tensor_plans
from generator.plan import Plan
from generator.polyhedral.dependences.reductions import parallel_reductions
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.polyhedral.schedules.hyperplanes import O3
from generator.polyhedral.schedules.partition import level
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import Target
from graph.o1 import preferences_of_reductions
from graph.o2 import apart, preferences_of_partition
from graph.o3 import openings as o3_openings
from graph.optimization_graph import OptimizationGraph
from graph.pipeline import openings as stage_openings
from graph.policies import Preferences, prefer
from graph.reaching import Reachable, walk_to
from graph.walk import Walk

FEW = 2
"""Plans for a schedule that is not the first one to try: with statements apart, more of them may keep results in
registers.
"""


def starts(
    program: Program, target: Target, options: RunOptions, space: Reachable, steps: Sequence[int]
) -> Sequence[Walk]:
    """The walks through `space` to the first plans of a search, most promising first.

    `steps`: how many time steps a launch may run.

    Raises:
        NotOnOffer: a start is not in the space, a fault of antune's.
    """
    made = _Starts(program, target, options, space, steps)
    plans = (made.on_offer(plan) for plan in made.plans())
    return [walk_to(space, plan) for plan in dict.fromkeys(plans)]


@dataclass(frozen=True, slots=True)
class _Starts:
    """What a search starts from; the fields are as for `starts`."""

    program: Program
    target: Target
    options: RunOptions
    space: Reachable
    steps: Sequence[int]

    def on_offer(self, plan: Plan) -> Plan:
        """The plan of the space that is closest to `plan`, with the same schedule."""
        wide = self.options.space != "paper"
        shapes = kernel_shapes(self.program, plan.scheduled, self.target.dialect)
        return replace(
            plan,
            kernels=tuple(nearest(plan.kernel(shape.statements), Known(shape, self.target, wide)) for shape in shapes),
        )

    def plans(self) -> Iterator[Plan]:
        """The plans, most promising first; where that is allowed, the first one that can do so on tensor cores, too."""
        found = list[Plan]()
        for plan in self._plain():
            yield plan
            if not found:
                found += tensor_plans(self.program, plan, self.target)
                yield from found

    def _plain(self) -> Iterator[Plan]:
        """The plans, most promising first."""
        if self.options.space == "pipeline":
            yield from self._of_stages()
        elif self.options.level == "o1":
            for schedule in self._with_serial(ScheduleChoice()):
                yield from start_plans(self.program, self.target, schedule)
            if in_rows := self._in_rows():
                yield sum_plan(self.program, self.target, ScheduleChoice(reductions=in_rows))
            yield from self._times()
        else:
            first, *others = self._of_schedules() or [()]
            yield from first
            yield from self._of_sums()
            yield from self._times()
            for plans in others:
                yield from plans

    def _in_rows(self) -> tuple[str, ...]:
        """The reductions that sum up rows, where devices gain by that."""
        reductions = parallel_reductions(self.program, self.options.strict_float)
        return row_sums(self.program, reductions) if self.target.shares_host_cores else ()

    def _times(self) -> Iterator[Plan]:
        """Several time steps per launch."""
        return (time_plan(self.program, self.target, number) for number in self.steps[1::2])

    def _openings(self) -> Sequence[Preferences]:
        """Schedules worth a try."""
        whole = preferences_of_partition(default_partition(self.program), partial(level, self.program))
        return (
            [whole, {}] if self.options.level == "o2" else [{**whole, **way} for way in o3_openings(O3(self.program))]
        )

    def _of_schedules(self) -> list[Sequence[Plan]]:
        """For every schedule that an opening leads to its plans."""
        found: dict[Schedule, Sequence[Plan]] = {}
        for opening in self._openings():
            opened = self._schedule(opening)
            for schedule in self._with_serial(opened) if opened is not None else ():
                if schedule not in found:
                    plans = start_plans(self.program, self.target, schedule)
                    found[schedule] = _few(plans) if found else plans
        return list(found.values())

    def _with_serial(self, schedule: Schedule) -> Sequence[Schedule]:
        """`schedule`, before it with those loops in one thread whose launches would take longer than their work."""
        if self.options.space != "wide":
            return (schedule,)
        return tuple(dict.fromkeys((serial_schedule(self.program, self.target, schedule), schedule)))

    def _of_sums(self) -> Iterator[Plan]:
        """A plan that sums up rows, statements apart."""
        in_rows = self._in_rows()
        schedule = self._schedule(preferences_of_reductions(in_rows)) if in_rows else None
        if schedule is not None:
            yield sum_plan(self.program, self.target, schedule)

    def _schedule(self, opening: Preferences) -> Schedule | None:
        """The schedule at the end of a walk that begins with `opening`."""
        walk = OptimizationGraph().walk(self.space, prefer(opening, apart))
        return None if walk is None else walk.plan.schedule

    def _of_stages(self) -> Iterator[Plan]:
        """Every way to place the stages in the first style of kernels, then in the others."""
        found = []
        for schedule in dict.fromkeys(stage_openings(stage_facts(self.program), self.target,
                                                     computed_arrays(self.program))):
            with suppress(IllegalPlan):  # blocks cannot wait in the loops of some kernel
                found.append(start_plans(self.program, self.target, schedule))
        return (plan for style in zip_longest(*found) for plan in style if plan is not None)


def _few(plans: Sequence[Plan]) -> Sequence[Plan]:
    """Those that use registers, then the others."""
    return sorted(plans, key=lambda plan: not any(kernel.registers for kernel in plan.kernels))[:FEW]
