"""The dataflow between the arrays of a program, as plain numbers for cost models.

`generator.polyhedral.pipelines.dataflow` derives it. Models (`metrics.costs`) use it to estimate kernels that have not
been generated, because a search has no time to generate them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from generator.facts import Operations


@dataclass(frozen=True, slots=True)
class Reach:
    """The indices that element `x` of a reader needs along one dimension of the array it reads.

    They go from ceil(slopes . x + low) to floor(slopes . x + high), limited to the array; clamping at borders is
    ignored. All slopes are 0 if the position does not depend on `x`, or depends on data.
    """

    slopes: tuple[float, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Read:
    """How an element of a reader reads `array`: one reach per dimension of the array.

    `elements`: reads in the text of one element. `different`: different elements read in all iterations of its
    reduction loops; `loads` also counts repeated reads, `clamped` those of them whose positions are limited at borders.
    `by_data`: an index depends on data, so the reach is the largest possible one.
    """

    array: str
    reach: tuple[Reach, ...]
    elements: int
    different: float
    loads: float
    by_data: bool
    clamped: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """An array that the program computes.

    `element`: bytes per element. Per element: `arithmetic`, its cost in the units of Halide's autoscheduler
    (`generator.polyhedral.pipelines.arithmetic`); `operations` on data; `registers`, the least number that an
    expression tree of its size needs. `stage`: it may be computed where it is read. `seen`: it is read after the
    program. `reduces`: it is updated, or loops over terms. `refusal`: why the elements that it needs of others are
    unknown (empty if they are known). `digest`: a hash of what computes an element; equal digests mean equal times.
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
        """The number of its elements."""
        total = 1
        for extent in self.extents:
            total *= extent
        return total

    @property
    def sources(self) -> tuple[str, ...]:
        """The arrays that it reads, without repetitions."""
        return tuple(dict.fromkeys(read.array for read in self.reads))


@dataclass(frozen=True, slots=True)
class Input:
    """An array that the program reads and does not compute. `element`: bytes per element."""

    array: str
    extents: tuple[int, ...]
    element: int


@dataclass(frozen=True, slots=True, eq=False)
class Dataflow:
    """All computed arrays, each after those that it reads, and the inputs. Compared by identity: it is made once."""

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
        """Return the node of a computed array; None for an input."""
        return self._nodes.get(array)

    def array(self, name: str) -> Node | Input:
        """Return a computed array or an input. Raises KeyError if there is none."""
        found = self._nodes.get(name)
        return found if found is not None else self._inputs[name]

    def readers(self, array: str) -> tuple[str, ...]:
        """Return the computed arrays that read `array`, in order."""
        return self._readers.get(array, ())
