"""Prefixes of the answers about a kernel, shared by all states in which they are the next to extend.

The questions about a kernel depend on the kernel and on the answers about it alone. Walks that differ in other kernels,
or in stages that these do not contain, therefore ask the same questions about it, which are found once: options that
fit in shared memory take about a millisecond per question.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from generator.decisions.base import Option, Question
from generator.decisions.deciding import Deciding
from generator.decisions.shape import Shape
from generator.plan import KernelPlan
from graph.kernels import KernelSpace

MOST_KEPT = 2048
"""The prefixes of a kernel that are shared. Longer walks through more of them find questions anew."""
MOST_IN_ALL = 32 * MOST_KEPT
"""The shared prefixes of all kernels of a space, about 1 KB each; then those of the kernels that were met least
recently are forgotten."""


@dataclass(slots=True, eq=False)
class Room:
    """The number of prefixes of a kernel that may still be kept."""

    left: int = MOST_KEPT


@dataclass(slots=True, eq=False)
class Asking:
    """A prefix of the answers about one kernel. States that differ elsewhere share it, and its next question is found
    once. The first prefix keeps later ones as long as there is room, others belong to their states.
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


@dataclass(slots=True, eq=False)
class Askings:
    """The empty prefixes of the kernels of a space, with all that follows them.

    Kernels are the same if their shapes are the same objects: the generator caches shapes, and comparing them would
    take longer than most questions.
    """

    most: int = MOST_IN_ALL
    _first: OrderedDict[int, tuple[Shape, Asking]] = field(default_factory=OrderedDict)

    def first(self, shape: Shape, space: KernelSpace) -> Asking:
        """Return the empty prefix of a kernel; `space`: always the same one."""
        known = self._first.get(id(shape))
        if known is None:
            self._make_room()
            known = self._first[id(shape)] = shape, Asking(Deciding(shape, space.target, space.wide, shape.statements))
        self._first.move_to_end(id(shape))
        return known[1]

    def _make_room(self) -> None:
        kept = {key: 1 + MOST_KEPT - asking.room.left for key, (_, asking) in self._first.items()}
        total = sum(kept.values())
        while total >= self.most:
            key, _ = self._first.popitem(last=False)
            total -= kept[key]
