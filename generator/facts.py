"""Facts of lowered kernels that need no device: what a static performance model starts from.

`generator.lowering.analysis.facts` computes them; `metrics.static_model` turns them into numbers. Everything "per
thread" is the mean over all threads of all launches, the idle ones of partial tiles included.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Literal, TypeAlias

Space: TypeAlias = Literal["global", "shared"]
AccessMode: TypeAlias = Literal["read", "write", "atomic"]


@dataclass(frozen=True, slots=True)
class Around:
    """A loop around an access.

    `entries`: how often a thread starts it (and runs it at least once); `trips`: iterations per start. `stride`:
    elements that the access moves per iteration (None: not by a constant). `waits`: a barrier stands in the loop, so
    that nothing can be kept in a register from one iteration to the next.
    """

    iterator: str
    entries: float
    trips: float
    stride: int | None
    waits: bool


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a kernel to global or shared memory, as the text has it.

    The element that thread (x, y, z) of a block touches, counted row by row from the start of the array, is
    `origin + k * spacing + x * strides[0] + y * strides[1] + z * strides[2]`, where the integer k depends on the block,
    the launch and the iteration (`spacing` 0: it is the same everywhere; 1 if unknown). A stride is None where the
    subscript is no affine function of that thread index, e.g. depends on data. `sizes`: extents of the array as it is
    laid out in memory, padding included. `executions` per thread; `loops` outermost first. An access to several
    neighbours at once is one to a single, larger element. `elements`: where a stride is None and no data decide, those
    of the threads of a block relative to `origin`, x fastest.
    """

    array: str
    space: Space
    mode: AccessMode
    element_bytes: int
    sizes: tuple[int, ...]
    executions: float
    strides: tuple[int | None, ...]
    origin: int
    spacing: int
    loops: tuple[Around, ...]
    elements: tuple[int, ...] = ()

    @property
    def uniform(self) -> bool:
        """Whether all threads of a block touch the same element at the same time."""
        return not any(stride is None or stride for stride in self.strides)

    @property
    def neighbour_stride(self) -> int | None:
        """Elements between what a thread and its neighbour along x touch at the same time; None if it is no constant.

        0 where there is one thread only: nothing else is touched at that time.
        """
        return self.strides[0] if self.strides else 0

    @property
    def coalesced(self) -> bool:
        """Whether neighbours along x (half of them at least) touch the same element or neighbours in memory, and so
        share transactions.
        """
        if not self.elements:
            return self.neighbour_stride in (-1, 0, 1)
        steps = [after - before for before, after in pairwise(self.elements)]
        return 2 * sum(step in (-1, 0, 1) for step in steps) >= len(steps)

    @property
    def transfers(self) -> float:
        """Executions per thread that reach memory, where a compiler keeps the element in a register while it can.

        It can in the innermost loops along which the element stays the same, up to a loop with a barrier; atomic
        updates always reach memory.
        """
        count = self.executions
        if self.mode == "atomic":
            return count
        for loop in reversed(self.loops):
            if loop.stride != 0 or loop.waits:
                break
            count = min(count, loop.entries)
        return count


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations on data per thread: subscripts, loop bounds and conditions on indices do not count.

    `adds` are floating-point additions, subtractions, comparisons, minima and roundings; `special` are functions such
    as sqrt and exp; `integer` is any operation on integers.
    """

    adds: float = 0.0
    muls: float = 0.0
    divs: float = 0.0
    special: float = 0.0
    integer: float = 0.0

    @property
    def floating(self) -> float:
        """All floating-point operations, one each."""
        return self.adds + self.muls + self.divs + self.special

    @property
    def total(self) -> float:
        """All operations, one each."""
        return self.floating + self.integer

    def plus(self, other: Operations, factor: float = 1.0) -> Operations:
        """The sum of these and `factor` times the others."""
        return Operations(self.adds + factor * other.adds, self.muls + factor * other.muls,
                          self.divs + factor * other.divs, self.special + factor * other.special,
                          self.integer + factor * other.integer)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a program must do on any device, however it is scheduled.

    `operations` of all statement instances; bytes of the elements that hold data when it starts and are read
    (`read_bytes`), and of those that it writes and that are seen afterwards (`written_bytes`); `resident_bytes` counts
    elements that are both once: what must lie somewhere. `type` is the C type of most operations. What depends on data
    is counted as if it happened.
    """

    operations: Operations
    read_bytes: float
    written_bytes: float
    resident_bytes: float
    type: str

    @property
    def moved_bytes(self) -> float:
        """What must be moved between memory and processors."""
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel of a variant. `block`, `grid` and `points` (computed by one thread) are x first.

    `launches` in one run of the program (estimated where the host loops do not launch equally often in all iterations).
    `balance` in (0, 1]: the mean work of a thread over that of the busiest thread of its block, both averaged over all
    blocks; work is memory accesses and operations. `footprint`: arrays and scalars in global memory that the kernel
    mentions with their whole size in bytes, an upper bound of what it touches.
    """

    name: str
    statements: tuple[str, ...]
    block: tuple[int, ...]
    grid: tuple[int, ...]
    points: tuple[int, ...]
    launches: float
    local_bytes: int
    balance: float
    operations: Operations
    accesses: tuple[Access, ...]
    footprint: tuple[tuple[str, int], ...]

    @property
    def block_threads(self) -> int:
        """Threads per block."""
        return prod(self.block)

    @property
    def blocks(self) -> int:
        """Blocks per launch."""
        return prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads per launch."""
        return self.block_threads * self.blocks
