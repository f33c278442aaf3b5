"""A lowered kernel: loops, arrays and sizes as values; `generator/emit/kernel.py` prints it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol, TypeVar

from generator.expr import Expr, Int
from generator.linear import simplify, substitute
from generator.nest import Node
from generator.program import Array

T = TypeVar("T")


class SharedArray(Protocol):
    """An array of a kernel in shared memory."""

    @property
    def name(self) -> str:
        """Its name in the kernel."""

    @property
    def type(self) -> str:
        """The element type."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Its extents as declared, padding included."""

    @property
    def bytes(self) -> int:
        """Its size in bytes."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a launch along one dimension: the first one, and their number (0 or less: none has work)."""

    first: Expr
    count: Expr


@dataclass(frozen=True, slots=True)
class Batch:
    """Independent launches that are one: z of the grid also counts `count` values of `iterator`, from `low` on."""

    iterator: str
    low: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class LoweredKernel:
    """A kernel without a name, with every array in global memory. Compared by identity, as a key of caches.

    `statements` (sorted) are its identity in the search, `comments` their texts. `arrays`, `scalars` (passed by value)
    and `iterators` (of host loops) are those that it uses. `block` and `grid` are x first. `columns`: as in KernelPlan.
    `linear_grid`: all blocks are numbered along the device's x, because there are more along y or z than it allows.
    `parts`: the blocks of one launch, x first, as functions of `iterators` (empty: the whole grid).
    `batch`: a host loop that is part of the grid, whose iterator is not among `iterators`; `grid` is that of one of its
    iterations.
    `streamed`: arrays that it writes past the caches; it reads nothing of them. `thread_bytes`: the boxes that each
    thread keeps for itself, in registers on GPUs.
    """

    statements: tuple[str, ...]
    comments: tuple[str, ...]
    arrays: tuple[Array, ...]
    scalars: tuple[Array, ...]
    iterators: tuple[str, ...]
    block: tuple[int, ...]
    grid: tuple[int, ...]
    body: tuple[Node, ...]
    shared: tuple[SharedArray, ...] = ()
    columns: bool = False
    linear_grid: bool = False
    parts: tuple[Blocks, ...] = ()
    batch: Batch | None = None
    streamed: tuple[str, ...] = ()
    thread_bytes: int = 0

    @property
    def local_bytes(self) -> int:
        """The shared memory of a block."""
        return sum(array.bytes for array in self.shared)

    @property
    def outer(self) -> tuple[str, ...]:
        """The names of all host iterators."""
        return (*self.iterators, *([self.batch.iterator] if self.batch else []))

    @property
    def launched(self) -> tuple[int, ...]:
        """The largest grid of a launch, in the axes of the device."""
        counted = self.axes(self.grid)
        return (prod(counted), *(1,) * (len(counted) - 1)) if self.linear_grid else counted

    def launched_at(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the grid of the launch with these values of `iterators`, in the axes of the device."""
        if not self.parts:
            return tuple(Int(n) for n in self.launched)
        given = dict(zip(self.iterators, values, strict=True))
        return self.axes(tuple(simplify(substitute(one.count, given)) for one in self.parts))

    def axes(self, axes: tuple[T, ...]) -> tuple[T, ...]:
        """Return values of the kernel's x, y and z in the order of the device's axes."""
        return (*reversed(axes[:2]), *axes[2:]) if self.columns else axes
