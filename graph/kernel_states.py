"""The decisions about the kernels of a schedule as states: loops in one thread, placement of arrays, then each kernel.

The decisions are those of `graph.o1.with_kernels`, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.decisions.deciding import Deciding
from generator.decisions.shape import Shape
from generator.errors import IllegalPlan
from generator.plan import KernelPlan, Placement, Plan
from generator.schedules.schedule import Schedule, with_serial
from graph.askings import Asking, Askings
from graph.kernels import KernelSpace
from graph.o1 import Shapes, choose_serial
from graph.placement import Placeable, choose_placement
from graph.space import Chooser, DeadEnd, Decision
from graph.states import Asked, Found, State, replayed


@dataclass(frozen=True, slots=True, eq=False)
class KernelsKnown:
    """The decisions of a prefix about kernels.

    `stages`: the facts known before the kernels (depends on the space). `schedule`: the complete schedule. `finished`:
    the plans of the complete kernels. `decided`: the answers about the current kernel. `left`: the kernels after it.
    """

    stages: object
    schedule: Schedule
    finished: tuple[KernelPlan, ...]
    decided: Deciding
    left: tuple[Shape, ...]


def kernel_states(schedule: Schedule, shapes: Shapes, space: KernelSpace, askings: Askings,
                  arrays: Sequence[Placeable], known: object) -> State:
    """Return the first state after `schedule`; the states from there on lead to the Plan. `askings`: those of `space`.
    """

    def serial(chooser: Chooser) -> tuple[Schedule, tuple[Shape, ...]]:
        try:
            found = shapes(schedule)
            if chosen := choose_serial(chooser, found) if space.wide else ():
                found = shapes(with_serial(schedule, chosen))
                return with_serial(schedule, chosen), _sorted(found)
        except IllegalPlan as error:
            raise DeadEnd(str(error)) from error
        return schedule, _sorted(found)

    def placed(found: tuple[Schedule, tuple[Shape, ...]]) -> State:
        schedule, kernels = found
        first = {shape.statements: askings.first(shape, space) for shape in kernels}
        return replayed(lambda chooser: choose_placement(chooser, arrays, space.target, space.wide),
                        lambda placement: _next_kernel(known, first, schedule, placement, (), kernels), known)

    return replayed(serial, placed, known)


def _sorted(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    return tuple(sorted(shapes, key=lambda shape: shape.statements))


def _next_kernel(stages: object, first: Mapping[tuple[str, ...], Asking], schedule: Schedule,
                 placement: tuple[tuple[str, Placement], ...], finished: tuple[KernelPlan, ...],
                 left: tuple[Shape, ...]) -> State:
    """Return the first state of the kernel after those in `finished`, or the end if `left` is empty.

    `first`: by its statements, the empty prefix of each kernel.
    """
    if not left:
        return State(lambda: Plan(schedule, finished, placement), stages)
    shape = left[0]

    def going_on(asking: Asking) -> State:
        def find() -> Found:
            at, question = asking.next()
            if isinstance(question, KernelPlan):
                return _next_kernel(stages, first, schedule, placement, (*finished, question), left[1:]).found
            decision = Decision(question.name, shape.statements, question.depends)
            return Asked(decision, question.options, lambda answer: going_on(asking.after(answer)), at)

        return State(find, KernelsKnown(stages, schedule, finished, asking.decided, left[1:]))

    return going_on(first[shape.statements])
