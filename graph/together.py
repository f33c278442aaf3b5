"""The arrays of a pipeline that share a kernel (`generator.schedules.stages`), decided after the places of the stages.

From the outputs to the inputs, every array may join the kernel of an array decided before it. They must have the same
extents, neither may need the other, and both must need a common array, which the shared kernel reads or computes once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from graph.reaching import Answers
from graph.space import Decision, Option, PageRow
from graph.states import Asked, Found, State

TOGETHER = "kernel"
ALONE, WITH, LINED = "alone", "with ", "all definitions"

ROW = PageRow("kernel", "an array with its own kernel, from the outputs to the inputs, `--space pipeline`",
    "alone, with another array, all definitions",
    "one kernel writes both; each thread writes the same elements of both, and shared inputs and stages are loaded "
    "and computed once. Offered for arrays with the same extents and common inputs, whose elements are computed "
    "independently, and neither of which needs the other. All definitions of an array in one kernel, line by line, "
    "instead of a kernel each: offered if data choose elements of lines, as in a histogram per cell")
"""A row of the tables in docs/decisions.md."""


class Sharable(Protocol):
    """An array that the program computes (generator.polyhedral.pipelines.stage_facts.ComputedArray)."""

    @property
    def array(self) -> str:
        """The name of the array."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the array."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The computed arrays that it is computed from."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The other arrays that it is computed from."""

    @property
    def sharable(self) -> bool:
        """Whether it can share a kernel."""

    @property
    def lined(self) -> bool:
        """Whether one kernel can run all of its definitions, line by line."""


def together_states(sharing: Sharing, left: Sequence[Sharable], then: Callable[[tuple[tuple[str, ...], ...]], State],
                    known: object) -> State:
    """Return the first state of the decisions about the arrays `left`, which are decided from the last one on.

    `sharing` holds the decisions so far. At the end, `then` gets the sets of arrays that share a kernel.
    """
    if not left:
        return then(sharing.sets)
    one = left[-1]

    def find() -> Found:
        options = (ALONE, LINED) if one.lined else (ALONE, *(WITH + first for first in sharing.options(one)))

        def chosen(answer: Option) -> State:
            if one.lined:
                lines = sharing.lines | {one.array} if answer == LINED else sharing.lines
                return together_states(replace(sharing, lines=lines), left[:-1], then, known)
            more = sharing.taking(one, str(answer).removeprefix(WITH) if answer != ALONE else one.array)
            return together_states(more, left[:-1], then, known)

        return Asked(Decision(TOGETHER, (one.array,), (("offered", " ".join(options)),)), options, chosen)

    return State(find, known)


def together_answers(computed: Sequence[Sharable], together: Iterable[Sequence[str]]) -> Answers:
    """Return the answers of these decisions that lead to the sets `together`."""
    place = {one.array: number for number, one in enumerate(computed)}
    firsts = {array: max(arrays, key=lambda name: place.get(name, -1)) for arrays in together for array in arrays}
    lines = {arrays[0] for arrays in together if len(arrays) == 1}

    def answer(array: str) -> str:
        first = firsts.get(array, array)
        return LINED if array in lines else ALONE if first == array else WITH + first

    return {(TOGETHER, (one.array,), 0): answer(one.array) for one in computed}


def joined(computed: Sequence[Sharable], inside: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Return sets of arrays that share kernels, joined if kernels of their own would compute the same stages twice.

    `inside`: the stages that have no kernel of their own.
    """
    sharing = Sharing({one.array: one for one in computed}, frozenset(inside))
    for one in reversed(computed):
        if one.sharable and one.array not in inside:
            offered = sharing.options(one)
            sharing.take(one, next((first for first in offered if sharing.repeats(one, first)), one.array))
    return sharing.sets


@dataclass
class Sharing:
    """The arrays of each kernel so far: `members` by the array that was decided first.

    `lines`: arrays whose kernels run all of their definitions. `arrays`: all computed arrays, each after those that it
    reads. `inside`: the stages without a kernel of their own.
    """

    arrays: Mapping[str, Sharable]
    inside: frozenset[str]
    members: dict[str, list[str]] = field(default_factory=dict)
    lines: frozenset[str] = frozenset()
    _known: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)  # what each array reads

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The sets with several members, and the arrays in `lines`, sorted."""
        several = (tuple(sorted(arrays)) for arrays in self.members.values() if len(arrays) > 1)
        return tuple(sorted((*several, *((array,) for array in self.lines))))

    def options(self, one: Sharable) -> tuple[str, ...]:
        """Return the kernels (by their first arrays) that could also compute `one`."""
        return tuple(first for first, arrays in self.members.items() if self.arrays[first].extents == one.extents
                     and any(self._read(one.array) & self._read(other) for other in arrays)
                     and not self._waits((*arrays, one.array)))

    def repeats(self, one: Sharable, first: str) -> bool:
        """Return whether the kernel of `first` and a separate kernel of `one` would compute a common stage twice."""
        return any(self._read(one.array) & self._read(other) & self.inside for other in self.members[first])

    def taking(self, one: Sharable, first: str) -> Sharing:
        """Return a copy in which the kernel of `first` also computes `one`."""
        members = {name: list(arrays) if name == first else arrays for name, arrays in self.members.items()}
        more = Sharing(self.arrays, self.inside, members, self.lines, self._known)
        more.take(one, first)
        return more

    def take(self, one: Sharable, first: str) -> None:
        """Add `one` to the kernel of `first`."""
        self.members.setdefault(first, []).append(one.array)

    def _read(self, array: str) -> frozenset[str]:
        """Return the arrays that a kernel of `array` reads, or computes inside."""
        if not self._known:
            for name, one in self.arrays.items():
                inner = (self._known[other] for other in one.reads if other in self.inside)
                self._known[name] = frozenset({*one.inputs, *one.reads}).union(*inner)
        return self._known[array]

    def _waits(self, arrays: Collection[str]) -> bool:
        """Return whether a kernel that computes `arrays` would depend on its own results."""
        joined = {name: tuple(members) for members in (*self.members.values(), arrays) for name in members}
        todo, seen = [read for name in arrays for read in self.arrays[name].reads], set[str]()
        while todo:
            name = todo.pop()
            if name in arrays:
                return True
            if name not in seen:
                seen.add(name)
                todo += [read for other in joined.get(name, (name,)) for read in self.arrays[other].reads]
        return False
