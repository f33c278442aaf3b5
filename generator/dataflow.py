"""Who needs how much of whom: the arrays of a program as cost models see them, as plain numbers.

`generator.polyhedral.pipelines.dataflow` derives them; models (`metrics.costs`) turn them into costs of kernels that do
not exist yet, for which a search has no time to make one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from generator.facts import Operations


@dataclass(frozen=True, slots=True)
class Reach:
    """What an element `x` of a reader needs along one dimension of what it reads.

    Indices from ceil(slopes . x + low) to floor(slopes . x + high), as far as these exist; away from borders, where
    coordinates are clamped. All slopes are 0 where the place does not depend on `x`, or data decide it.
    """

    slopes: tuple[float, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Read:
    """How an element of a reader reads `array`: a reach for each dimension of the array.

    `elements` stand in the text that computes the element; `different` are read in all the rounds of its reduction
    loops, and `loads` counts those that are read again, too. `by_data`: data decide about some index, so that the reach
    has all that there may be.
    """

    array: str
    reach: tuple[Reach, ...]
    elements: int
    different: float
    loads: float
    by_data: bool


@dataclass(frozen=True, slots=True)
class Node:
    """An array that the program computes.

    `element` bytes each. Per element: `arithmetic` is its cost in the units of Halide's autoscheduler (see
    `generator.polyhedral.pipelines.arithmetic`), `operations` are those on data, `registers` what an expression tree of
    its size takes at least. `stage`: it may be computed where it is read. `seen`: somebody reads it after the program.
    `reduces`: it is updated, or loops over terms. `refusal`: why nobody can tell what an element needs of others (empty
    where that is known). `digest` of what computes an element: equal ones take equally long.
    """

    array: str
    statements: tuple[str, ...]
    extents: tuple[int, ...]
    element: int
    arithmetic: float
    operations: Operations
    registers: int
    reads: tuple[Read, ...]
    stage: bool
    seen: bool
    reduces: bool
    refusal: str = ""
    digest: str = ""
    histogram: tuple[float, ...] = field(default=(), repr=False)

    @property
    def points(self) -> int:
        """Its elements."""
        total = 1
        for extent in self.extents:
            total *= extent
        return total

    @property
    def sources(self) -> tuple[str, ...]:
        """The arrays that it reads, each once."""
        return tuple(dict.fromkeys(read.array for read in self.reads))


@dataclass(frozen=True, slots=True)
class Input:
    """An array that the program reads and does not compute: extents, and bytes of an element."""

    array: str
    extents: tuple[int, ...]
    element: int


@dataclass(frozen=True, slots=True, eq=False)
class Dataflow:
    """All computed arrays, each after those that it reads, and the inputs. Equal only to itself: it is made once."""

    nodes: tuple[Node, ...]
    inputs: tuple[Input, ...]
    _nodes: Mapping[str, Node] = field(init=False, repr=False)
    _inputs: Mapping[str, Input] = field(init=False, repr=False)
    _readers: Mapping[str, tuple[str, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        readers: dict[str, list[str]] = {node.array: [] for node in self.nodes}
        for node in self.nodes:
            for source in node.sources:
                readers.setdefault(source, []).append(node.array)
        object.__setattr__(self, "_nodes", MappingProxyType({node.array: node for node in self.nodes}))
        object.__setattr__(self, "_inputs", MappingProxyType({one.array: one for one in self.inputs}))
        object.__setattr__(self, "_readers", MappingProxyType({name: tuple(found) for name, found in readers.items()}))

    def node(self, array: str) -> Node | None:
        """The node of a computed array; None for an input."""
        return self._nodes.get(array)

    def array(self, name: str) -> Node | Input:
        """A computed array or an input. Raises KeyError when there is none."""
        found = self._nodes.get(name)
        return found if found is not None else self._inputs[name]

    def readers(self, array: str) -> tuple[str, ...]:
        """The computed arrays that read `array`, in order."""
        return self._readers.get(array, ())
