"""The cost of computing stages inline: expressions in the kernel's text, and elements computed per point.

The *context* of an inline stage is the array that is not inline and whose kernel computes the stage. A thread that
computes one element of the context computes each element of the inline stage that it needs once: all readers of that
element share it, also indirect ones. So a chain of three-point stencils needs 3, 5, 7, ... elements, not 3, 9, 27, ...

Elements are compared by their subscripts, written relative to the context's element. This needs subscripts that are
a coordinate plus a constant, or a constant; for other subscripts, the numbers of reads are multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

MAX_COPIES = 64
"""Upper limit of the copies of an inlined stage's expression in a kernel's text: more take long to compile."""
MAX_WORK = 4096
"""Upper limit of the elements of an inlined stage that are computed per point of a kernel."""
MAX_SIZE = 6000
"""Upper limit of the operators, numbers and names inlined into one context; each takes some 10 characters of text."""

Place: TypeAlias = tuple[int, int]
"""A subscript: the number of a coordinate of the element that is computed (-1: none), and the constant added to it."""
Element: TypeAlias = tuple[Place, ...]


class InlineReader(Protocol):
    """A statement that reads a stage (generator.polyhedral.pipelines.stage_facts.Reader)."""

    @property
    def array(self) -> str:
        """The array that the reader computes."""

    @property
    def elements(self) -> int:
        """The number of the stage's elements in the expression that computes one element of the reader."""

    @property
    def places(self) -> tuple[Element, ...] | None:
        """These elements; None if a subscript is not a coordinate plus a constant, or a constant."""

    @property
    def often(self) -> int:
        """The number of reads of each of them: the number of iterations of its reduction loops."""


class Inlinable(Protocol):
    """A stage (generator.polyhedral.pipelines.stage_facts.StageFacts)."""

    @property
    def array(self) -> str:
        """The name of the stage's array."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the array."""

    @property
    def size(self) -> int:
        """The number of operators, numbers and names in the expression of one element."""

    @property
    def readers(self) -> Sequence[InlineReader]:
        """The readers of the stage: other stages and outputs."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The elements of an inline stage that one element of a context needs.

    `copies`: expressions of the stage in the kernel's text. `work`: elements of the stage that are computed.
    `elements`: their subscripts; None if it is unknown which of them are equal.
    """

    copies: int
    work: int
    elements: frozenset[Element] | None


@dataclass
class Inlining:
    """The stages made inline so far.

    `needed`: by stage and context, what the context needs of the stage. `sizes`: by context, the operators, numbers
    and names of all stages inlined there.
    """

    needed: dict[str, Mapping[str, Needed]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def fits(self, stage: Inlinable) -> bool:
        """Return whether `stage` can be inlined, too, within the limits of text and work."""
        return self.allows(stage, self.of(stage))

    def allows(self, stage: Inlinable, needed: Mapping[str, Needed]) -> bool:
        """`fits` for a stage of which this is `needed`."""
        return all(one.copies <= MAX_COPIES and one.work <= MAX_WORK
                   and self.sizes.get(context, 0) + one.copies * stage.size <= MAX_SIZE
                   for context, one in needed.items())

    def take(self, stage: Inlinable) -> None:
        """Make `stage` inline."""
        self.add(stage, self.of(stage))

    def add(self, stage: Inlinable, needed: Mapping[str, Needed]) -> None:
        """`take` for a stage of which this is `needed`."""
        self.needed[stage.array] = needed
        for context, one in needed.items():
            self.sizes[context] = self.sizes.get(context, 0) + one.copies * stage.size

    def of(self, stage: Inlinable) -> dict[str, Needed]:
        """Return what every context needs of `stage`."""
        found: dict[str, Needed] = {}
        for reader in stage.readers:
            for context, outer in self.needed.get(reader.array, {reader.array: _SELF}).items():
                read = _read(reader, outer)
                found[context] = _both(found[context], read) if context in found else read
        return found


_SELF = Needed(1, 1, None)
"""One element of the context itself; subscripts are relative to its coordinates."""


def _read(reader: InlineReader, outer: Needed) -> Needed:
    """Return what a context needs of a stage for `reader`, if it needs `outer` of the reader."""
    work = outer.work * reader.elements * reader.often
    if reader.places is None or (outer.elements is None and outer is not _SELF):
        return Needed(outer.copies * reader.elements, work, None)
    elements = frozenset(reader.places) if outer.elements is None else frozenset(
        tuple(_within(place, element) for place in read) for element in outer.elements for read in reader.places)
    return Needed(len(elements), len(elements) if work == outer.work * reader.elements else work, elements)


def _within(place: Place, element: Element) -> Place:
    """Return the subscript `place`, relative to `element`, as a subscript relative to the context of `element`."""
    coordinate, constant = place
    if coordinate < 0:
        return place
    outer, more = element[coordinate]
    return outer, constant + more


def _both(one: Needed, two: Needed) -> Needed:
    """Return what two readers in the same context need together."""
    if one.elements is None or two.elements is None:
        return Needed(one.copies + two.copies, one.work + two.work, None)
    elements = one.elements | two.elements
    plain = one.work == one.copies and two.work == two.copies
    return Needed(len(elements), len(elements) if plain else one.work + two.work, elements)
