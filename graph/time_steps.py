"""Several time steps per launch: the first decision of a program that is a time loop around sweeps.

If the answer is no, the decisions of the program's level follow. If it is yes, one kernel runs the program, and only
the number of steps per launch and the decisions of the kernel are left. The yes-or-no decision is separate from the
number, so that a uniform random walk takes both ways equally often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target
from graph.kernels import KernelSpace, number, switch
from graph.o1 import TIME_STEPS, TIME_TILES, Shapes, other_answers, with_kernels
from graph.placement import Placeable
from graph.reaching import Answers, Reachable
from graph.space import Chooser, Decision, PageRow

STEPS = (1, 2, 4, 8, 16)
SIDE = 8
"""Steps are offered only if local memory can hold what a tile of this many points per dimension needs."""

ROWS = (
    PageRow("several time steps per launch (wide)", "a program that is a loop over time around sweeps",
        "no, yes",
        "no: the decisions below apply; yes: one kernel runs the program "
         "([more](schedules.md#several-time-steps-per-launch))"),
    PageRow("time steps per launch", "the same",
        "1, 2, 4, 8, 16",
        "offered if a small tile with its halo fits shared memory"),
)
"""Rows of the tables in docs/decisions.md."""


def offered_steps(shapes: Shapes, target: Target, count: int) -> tuple[int, ...]:
    """Return the numbers of STEPS that are useful for `count` time steps and whose tiles fit the memory of `target`.

    `shapes`: see `make_o1_space`.
    """
    found: list[int] = []
    for steps in STEPS:
        if found and 2 * found[-1] >= count:  # two launches of the last number already run all steps
            break
        try:
            fits = [shape.shared_bytes(tuple(min(SIDE, e) for e in shape.extents), 1) <= target.local_bytes
                    for shape in shapes(TimeTiles(steps))]
        except IllegalPlan:
            continue
        if all(fits):
            found.append(steps)
    return tuple(found)


def with_time_steps(space: Reachable, steps: Sequence[int], shapes: Shapes, target: Target, wide: bool = True,
                    arrays: Sequence[Placeable] = ()) -> Reachable:
    """Return `space` with the choice of these numbers of `steps` per launch; other arguments: see `make_o1_space`."""
    return _TimeSpace(space, tuple(steps), shapes, KernelSpace(target, wide), tuple(arrays)) if steps else space


@dataclass(frozen=True, slots=True)
class _TimeSpace:
    space: Reachable
    steps: tuple[int, ...]
    shapes: Shapes
    kernels: KernelSpace
    arrays: tuple[Placeable, ...]

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        if not isinstance(plan.schedule, TimeTiles):
            return {**self.space.answers(plan), (TIME_TILES, (), 0): False}
        return {
            (TIME_TILES, (), 0): True,
            (TIME_STEPS, (), 0): plan.schedule.steps,
            **other_answers(plan, self.shapes, (), self.arrays),
        }

    def __call__(self, chooser: Chooser) -> Plan:
        if not switch(chooser, Decision(TIME_TILES)):
            return self.space(chooser)
        steps = number(chooser, Decision(TIME_STEPS), self.steps)
        return with_kernels(chooser, TimeTiles(steps), self.shapes, self.kernels, self.arrays)

