"""What computing stages inline comes to: expressions in the text, elements computed per point.

A thread that computes an element of what is not inline, its *context*, computes every element that it needs of an
inline stage once: two readers of the same element share it, also by way of other stages. So a chain of stencils of
three needs 3, 5, 7, .. elements, not 3, 9, 27, .. Elements are told apart by their subscripts in terms of the context,
where these are coordinates of its element with a constant, or constants; otherwise the numbers of reads are multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

MAX_COPIES = 64
"""Expressions of an inlined stage in a kernel's text: more take long to compile."""
MAX_WORK = 4096
"""Elements of an inlined stage that a point of a kernel computes."""
MAX_SIZE = 6000
"""Operators, numbers and names of all stages inlined in one place: its text has some 10 characters for each."""

Place: TypeAlias = tuple[int, int]
"""A subscript: the number of a coordinate of the element that is computed (-1: of none), and what is added to it."""
Element: TypeAlias = tuple[Place, ...]


class InlineReader(Protocol):
    """Who reads a stage (generator.polyhedral.pipelines.stage_facts.Reader)."""

    @property
    def array(self) -> str:
        """What it computes."""

    @property
    def elements(self) -> int:
        """How many elements of the stage stand in the text that computes one of its own."""

    @property
    def places(self) -> tuple[Element, ...] | None:
        """These elements; None where some subscript is something else."""

    @property
    def often(self) -> int:
        """How often it reads each of them: the rounds of its reduction loops."""


class Inlinable(Protocol):
    """A stage (generator.polyhedral.pipelines.stage_facts.StageFacts)."""

    @property
    def array(self) -> str:
        """Its name."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Its size."""

    @property
    def size(self) -> int:
        """The operators, numbers and names of what computes an element."""

    @property
    def readers(self) -> Sequence[InlineReader]:
        """Who reads it: other stages, outputs."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What one element of a context needs of an inline stage: `copies` expressions in the text, `work` elements.

    `elements` are those; None where it is not known which of them are the same.
    """

    copies: int
    work: int
    elements: frozenset[Element] | None


@dataclass
class Inlining:
    """The inline stages so far: what every context needs of each of them, and their `sizes` there in all."""

    needed: dict[str, Mapping[str, Needed]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def fits(self, stage: Inlinable) -> bool:
        """Whether `stage` may be inline, too, as far as text and work go."""
        return all(one.copies <= MAX_COPIES and one.work <= MAX_WORK
                   and self.sizes.get(context, 0) + one.copies * stage.size <= MAX_SIZE
                   for context, one in self._of(stage).items())

    def take(self, stage: Inlinable) -> None:
        """Now it is."""
        self.needed[stage.array] = self._of(stage)
        for context, one in self.needed[stage.array].items():
            self.sizes[context] = self.sizes.get(context, 0) + one.copies * stage.size

    def _of(self, stage: Inlinable) -> dict[str, Needed]:
        """What every context needs of a stage."""
        found: dict[str, Needed] = {}
        for reader in stage.readers:
            for context, outer in self.needed.get(reader.array, {reader.array: _SELF}).items():
                read = _read(reader, outer)
                found[context] = _both(found[context], read) if context in found else read
        return found


_SELF = Needed(1, 1, None)
"""An element of the context itself: its coordinates are those that subscripts are told apart by."""


def _read(reader: InlineReader, outer: Needed) -> Needed:
    """What `reader` needs of a stage, if its context needs `outer` of the reader."""
    work = outer.work * reader.elements * reader.often
    if reader.places is None or (outer.elements is None and outer is not _SELF):
        return Needed(outer.copies * reader.elements, work, None)
    elements = frozenset(reader.places) if outer.elements is None else frozenset(
        tuple(_within(place, element) for place in read) for element in outer.elements for read in reader.places)
    return Needed(len(elements), len(elements) if work == outer.work * reader.elements else work, elements)


def _within(place: Place, element: Element) -> Place:
    """A subscript in terms of an element's coordinates, in terms of what that element's subscripts are in terms of."""
    coordinate, constant = place
    if coordinate < 0:
        return place
    outer, more = element[coordinate]
    return outer, constant + more


def _both(one: Needed, two: Needed) -> Needed:
    """What two readers in the same context need."""
    if one.elements is None or two.elements is None:
        return Needed(one.copies + two.copies, one.work + two.work, None)
    elements = one.elements | two.elements
    plain = one.work == one.copies and two.work == two.copies
    return Needed(len(elements), len(elements) if plain else one.work + two.work, elements)
