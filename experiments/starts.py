"""The choices that lead to the plans worth measuring first.

The sizes in a plan are those of kernels, and which kernels there are follows from the schedule. So a walk takes an opening (a
schedule worth a try) to its end first, and `generator.lowering.starts` makes plans for the kernels that it meets.

`parts` imports this module late: it needs isl.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest

from experiments.options import RunOptions
from generator.errors import IllegalPlan
from generator.lowering.starts import default_partition, row_sums, start_plans, sum_plan, time_plan
from generator.plan import Plan, Schedule, ScheduleChoice
from generator.polyhedral.hyperplanes import O3
from generator.polyhedral.partition import level
from generator.polyhedral.reductions import parallel_reductions
from generator.polyhedral.stage_facts import stage_facts
from generator.program import Program
from generator.target import Target
from graph.o1 import preferences_of, preferences_of_reductions
from graph.o2 import apart, preferences_of_partition
from graph.o3 import openings as o3_openings
from graph.optimization_graph import OptimizationGraph
from graph.pipeline import openings as stage_openings
from graph.pipeline import preferences_of_stages
from graph.policies import Preferences, prefer, preferences
from graph.space import Space
from graph.walk import Walk

FEW = 2
"""Plans for a schedule that is not the first one to try: with statements apart, more of them may keep results in registers."""
TRIES = 3


def starts(program: Program, target: Target, options: RunOptions, space: Space, steps: Sequence[int]) -> Sequence[Preferences]:
    """Preferences that lead through `space` to the first plans of a search, most promising first.

    `steps`: how many time steps a launch may run.
    """
    if options.space == "tiles":
        return ()
    if options.space == "pipeline":
        return _of_stages(program, target)
    times = [preferences_of(time_plan(program, target, number)) for number in steps[1::2]]
    in_rows = row_sums(program, parallel_reductions(program, options.strict_float)) if target.shares_host_cores else ()
    if options.level == "o1":
        sums = [preferences_of(sum_plan(program, target, ScheduleChoice(reductions=in_rows)))] if in_rows else []
        return [*(preferences_of(plan) for plan in start_plans(program, target)), *sums, *times]
    whole = preferences_of_partition(default_partition(program), partial(level, program))
    openings: list[Preferences] = [whole, {}] if options.level == "o2" else [{**whole, **way} for way in o3_openings(O3(program))]
    first, *others = _of_schedules(program, target, space, openings)
    return [*first, *_of_sums(program, target, space, in_rows), *times, *(plan for plans in others for plan in plans)]


def _of_schedules(program: Program, target: Target, space: Space, openings: Sequence[Preferences]) -> list[list[Preferences]]:
    """For every schedule that an opening leads to the choices that lead to its plans."""
    found: dict[Schedule, list[Preferences]] = {}
    for opening in openings:
        walk = _settled(space, opening)
        if walk is not None and walk.plan.schedule not in found:
            taken, plans = preferences(walk.choices), start_plans(program, target, walk.plan.schedule)
            found[walk.plan.schedule] = [{**taken, **preferences_of(plan)} for plan in (_few(plans) if found else plans)]
    return list(found.values()) or [[]]


def _of_sums(program: Program, target: Target, space: Space, reductions: Sequence[str]) -> list[Preferences]:
    """The choices that lead to a plan that sums up rows, statements apart."""
    walk = _settled(space, preferences_of_reductions(reductions)) if reductions else None
    return [{**preferences(walk.choices), **preferences_of(sum_plan(program, target, walk.plan.schedule))}] if walk else []


def _few(plans: Sequence[Plan]) -> Sequence[Plan]:
    """Those that use registers, then the others."""
    return sorted(plans, key=lambda plan: not any(kernel.registers for kernel in plan.kernels))[:FEW]


def _settled(space: Space, opening: Preferences) -> Walk | None:
    """A walk that begins with `opening` and whose choices lead to its schedule again.

    Not all do: a group that stays whole is asked once more how to divide it, and preferences hold one answer for both.
    """
    walk = OptimizationGraph().walk(space, prefer(opening, apart))
    for _ in range(TRIES):
        again = None if walk is None else OptimizationGraph().walk(space, prefer(preferences(walk.choices), apart))
        if walk is None or again is None or again.plan.schedule == walk.plan.schedule:
            return again
        walk = again
    return None


def _of_stages(program: Program, target: Target) -> Sequence[Preferences]:
    """Every way to place the stages in the first style of kernels, then in the others."""
    facts = stage_facts(program)
    found = []
    for schedule in dict.fromkeys(stage_openings(facts, target)):
        with suppress(IllegalPlan):  # blocks cannot wait in the loops of some kernel
            found.append([{**preferences_of(plan), **preferences_of_stages(facts, schedule)}
                          for plan in start_plans(program, target, schedule)])
    return [plan for style in zip_longest(*found) for plan in style if plan is not None]
