"""The decisions about the kernels of a schedule as states: loops in one thread, placement of arrays, then each kernel.

The decisions are those of `graph.o1.with_kernels`, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.decisions.base import Option, Question
from generator.decisions.deciding import Deciding
from generator.decisions.shape import Shape
from generator.errors import IllegalPlan
from generator.plan import KernelPlan, Placement, Plan
from generator.schedules.schedule import Schedule, with_serial
from graph.kernels import KernelSpace
from graph.o1 import Shapes, choose_serial
from graph.placement import Placeable, choose_placement
from graph.space import Chooser, DeadEnd, Decision
from graph.states import Asked, Found, State, replayed

MOST_KEPT = 2048
"""The prefixes of a kernel that the states of a schedule share. Longer walks through more of them find questions anew.
"""


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


@dataclass(slots=True, eq=False)
class Room:
    """The number of prefixes of a kernel that may still be kept."""

    left: int = MOST_KEPT


@dataclass(slots=True, eq=False)
class Asking:
    """A prefix of the answers about one kernel. States that differ in earlier kernels only share it, and its next
    question is found once. The first prefix keeps later ones as long as there is room, others belong to their states.
    """

    decided: Deciding
    room: Room = field(default_factory=Room)
    _next: tuple[Deciding, Question | KernelPlan] | None = None
    _after: dict[Option, Asking] = field(default_factory=dict)

    def next(self) -> tuple[Deciding, Question | KernelPlan]:
        """Return what `Deciding.next` returns."""
        if self._next is None:
            self._next = self.decided.next()
        return self._next

    def after(self, answer: Option) -> Asking:
        """Return the prefix with one more answer."""
        if (known := self._after.get(answer)) is not None:
            return known
        at, _ = self.next()
        made = Asking(at.answered(answer), self.room)
        if self.room.left > 0:
            self.room.left -= 1
            self._after[answer] = made
        return made


def kernel_states(schedule: Schedule, shapes: Shapes, space: KernelSpace, arrays: Sequence[Placeable],
                  known: object) -> State:
    """Return the first state after `schedule`; the states from there on lead to the Plan."""

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
        first = {shape.statements: Asking(Deciding(shape, space.target, space.wide, shape.statements))
                 for shape in kernels}
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
