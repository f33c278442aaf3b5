"""The space of the O1 level: options of isl's scheduler, then the decisions of every kernel.

Papenhausen & Mueller's Coding Ants, section 5.1.1. The decisions come in this order: parallel reductions, algorithm,
serialize SCCs, maximize band depth (if not serialized), outer coincidence; which host loops run in one thread instead
(ours); the placement of arrays (`graph.placement`); the kernels (`graph.kernels`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from generator.decisions.shape import Shape
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.schedules.choice import ALGORITHM, COINCIDENCE, DEPTH, SERIALIZE, Algorithm, ScheduleChoice
from generator.schedules.schedule import ONE_THREAD, Schedule, serial_of, with_serial
from generator.target import Target
from graph.kernels import KernelSpace, switch
from graph.placement import GLOBAL, PLACEMENT, Placeable, choose_placement
from graph.policies import Preferences
from graph.reaching import Answers, NotOnOffer, Reachable, kernel_answers
from graph.space import Chooser, DeadEnd, Decision, PageRow

ALGORITHMS: tuple[Algorithm, ...] = ("pluto", "feautrier")
REDUCTION = "parallel reduction"
TIME_TILES, TIME_STEPS = "several time steps per launch", "time steps per launch"

ROWS = (
    PageRow("parallel reduction", "a statement that updates elements by `+`, `-`, `*`, min or max",
        "no, yes",
        "its updates may then run in any order: its loops become parallel, and blocks of one thread (CPUs) add in "
        "vectors ([more](sums_and_stores.md#sums-in-vectors)); `--strict-float` forbids this for floating-point "
         "numbers"),
    PageRow("algorithm, serialize SCCs, maximize band depth, outer coincidence", "the program, `--level o1`",
        "pluto or feautrier; no, yes",
        "options of isl's scheduler"),
    PageRow("loops in one thread (wide)", "a host loop that launches kernels at least 256 times, each for 4096 "
                                          "instances of statements at most on average", "no, yes",
        "yes: one thread of one kernel runs the whole loop, instead of the host"),
)
"""Rows of the tables in docs/decisions.md."""

Shapes: TypeAlias = Callable[[Schedule], Sequence[Shape]]


def make_o1_space(shapes: Shapes, target: Target, wide: bool = True, reductions: Sequence[str] = (),
                  arrays: Sequence[Placeable] = ()) -> Reachable:
    """Return the O1 space of a program with the kernels `shapes` on `target`.

    `shapes` maps a schedule to its kernels. It is called on every walk and should cache its results. If it raises
    IllegalPlan (the scheduler gave up), the walk has reached a dead end. `wide`: offer all decisions; otherwise only
    those of the paper. `reductions`: statements that may be reduced in parallel. `arrays`: arrays that may lie
    outside global memory.
    """
    return _O1Space(shapes, KernelSpace(target, wide), tuple(sorted(reductions)), tuple(arrays))


def preferences_of_reductions(names: Sequence[str]) -> Preferences:
    """Return the choices that let the updates of these statements run in any order."""
    return {(REDUCTION, (name,)): True for name in names}


@dataclass(frozen=True, slots=True)
class _O1Space:
    shapes: Shapes
    kernels: KernelSpace
    reductions: tuple[str, ...]
    arrays: tuple[Placeable, ...]

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        schedule = plan.schedule
        if not isinstance(schedule, ScheduleChoice):
            raise NotOnOffer(f"the plan is not in the space: {ALGORITHM} is not a decision of a "
                             f"{type(schedule).__name__}")
        return {(ALGORITHM, (), 0): schedule.algorithm, (SERIALIZE, (), 0): schedule.serialize_sccs,
                (DEPTH, (), 0): schedule.maximize_band_depth, (COINCIDENCE, (), 0): schedule.outer_coincidence,
                **other_answers(plan, self.shapes, self.reductions, self.arrays)}

    def __call__(self, chooser: Chooser) -> Plan:
        schedule = _schedule(chooser, choose_reductions(chooser, self.reductions))
        return with_kernels(chooser, schedule, self.shapes, self.kernels, self.arrays)


def with_kernels(chooser: Chooser, schedule: Schedule, shapes: Shapes, kernels: KernelSpace,
                 arrays: Sequence[Placeable]) -> Plan:
    """Ask the decisions about the arrays and kernels of `schedule`, and return its plan. Raises DeadEnd."""
    try:
        found = shapes(schedule)
        if serial := choose_serial(chooser, found) if kernels.wide else ():
            schedule = with_serial(schedule, serial)
            found = shapes(schedule)
    except IllegalPlan as error:
        raise DeadEnd(str(error)) from error
    placement = choose_placement(chooser, arrays, kernels.target, kernels.wide)
    plans = [kernels.plan(chooser, shape) for shape in sorted(found, key=lambda shape: shape.statements)]
    return Plan(schedule, tuple(plans), placement)


def choose_serial(chooser: Chooser, shapes: Sequence[Shape]) -> tuple[str, ...]:
    """Ask which host loops run in one thread instead; return the sorted names of their statements."""
    nests = sorted({shape.launched for shape in shapes if shape.launched})
    return tuple(sorted(name for nest in nests if switch(chooser, Decision(ONE_THREAD, nest)) for name in nest))


def _serial_answers(schedule: Schedule, shapes: Shapes) -> Answers:
    """Return the answers about loops in one thread that lead to `schedule`. Raises NotOnOffer."""
    serial = set(serial_of(schedule))
    try:
        nests = {shape.launched for shape in shapes(with_serial(schedule, ()))}
    except IllegalPlan as error:
        raise NotOnOffer(f"the plan is not in the space: {error}") from error
    return {(ONE_THREAD, nest, 0): serial.issuperset(nest) for nest in nests if nest}


def other_answers(plan: Plan, shapes: Shapes, reductions: Sequence[str], arrays: Sequence[Placeable]) -> Answers:
    """Return the answers that lead to `plan`, of the decisions that all levels have. Raises NotOnOffer."""
    placed = dict(plan.placement)
    return {**{(REDUCTION, (name,), 0): name in plan.scheduled.reductions for name in reductions},
            **{(PLACEMENT, (one.array,), 0): placed.get(one.array, GLOBAL) for one in arrays},
            **_serial_answers(plan.scheduled, shapes), **kernel_answers(plan)}


def choose_reductions(chooser: Chooser, offered: Sequence[str]) -> tuple[str, ...]:
    """Ask which of the `offered` statements are reduced in parallel."""
    return tuple(name for name in offered if switch(chooser, Decision(REDUCTION, (name,))))


def _schedule(chooser: Chooser, reductions: tuple[str, ...]) -> ScheduleChoice:
    """Ask the options of isl's scheduler. The last one depends on all others, as isl's success does."""
    algorithm = chooser.choose(Decision(ALGORITHM), ALGORITHMS)
    serialize = switch(chooser, Decision(SERIALIZE))
    depth = True if serialize else switch(chooser, Decision(DEPTH))
    reduced = tuple((REDUCTION, name) for name in reductions)
    depends = (*reduced, (ALGORITHM, algorithm), (SERIALIZE, serialize), (DEPTH, depth))
    coincidence = switch(chooser, Decision(COINCIDENCE, (), depends))
    return ScheduleChoice("pluto" if algorithm == "pluto" else "feautrier", serialize, depth, coincidence, reductions)
