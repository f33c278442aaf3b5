"""A lowered kernel: loops, arrays and sizes as values; `generator/emit/kernel.py` prints it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol, TypeVar

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


@dataclass(frozen=True, slots=True, eq=False)
class LoweredKernel:
    """A kernel without a name, with every array in global memory. Compared by identity, as a key of caches.

    `statements` (sorted) are its identity in the search, `comments` their texts. `arrays`, `scalars` (passed by value)
    and `iterators` (of host loops) are those that it uses. `block` and `grid` are x first. `columns`: as in KernelPlan.
    `linear_grid`: all blocks are numbered along the device's x, because there are more along y or z than it allows.
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
    streamed: tuple[str, ...] = ()
    thread_bytes: int = 0

    @property
    def local_bytes(self) -> int:
        """The shared memory of a block."""
        return sum(array.bytes for array in self.shared)

    @property
    def launched(self) -> tuple[int, ...]:
        """The grid in the axes of the device."""
        counted = self.axes(self.grid)
        return (prod(counted), *(1,) * (len(counted) - 1)) if self.linear_grid else counted

    def axes(self, axes: tuple[T, ...]) -> tuple[T, ...]:
        """Return values of the kernel's x, y and z in the order of the device's axes."""
        return (*reversed(axes[:2]), *axes[2:]) if self.columns else axes
