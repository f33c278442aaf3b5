"""Facts of lowered kernels that need no device: the input of a static performance model.

`generator.lowering.analysis.facts` computes them; `metrics.static_model` turns them into numbers. "Per thread" always
means the mean over all threads of all launches, including the idle ones of partial tiles.
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

    `entries`: how often a thread starts it (and runs it at least once). `trips`: iterations per start. `stride`: the
    distance in elements from iteration to iteration (None: not constant). `waits`: the loop contains a barrier, so
    nothing can be kept in a register from one iteration to the next.
    """

    iterator: str
    entries: float
    trips: float
    stride: int | None
    waits: bool


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a kernel's text to global or shared memory.

    Thread (x, y, z) of a block accesses the element `origin + k * spacing + x * strides[0] + y * strides[1] + z *
    strides[2]`, counted row by row from the start of the array. The integer k depends on the block, the launch and the
    iteration (`spacing` 0: it has no effect; 1 if unknown). A stride is None if the subscript is not affine in that
    thread index, e.g. depends on data. `sizes`: the extents of the array in memory, including padding. `executions`:
    per thread. `loops`: outermost first. A vector access to several neighbours counts as one access to a larger
    element. `elements`: if a stride is None, or bits of indices are combined (`^`), and no data are involved, the
    elements of the block's threads relative to `origin`, x fastest.
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
        """Whether all threads of a block access the same element at the same time."""
        return not any(stride is None or stride for stride in self.strides)

    @property
    def neighbour_stride(self) -> int | None:
        """The distance in elements between the accesses of neighbouring threads along x; None if it is not constant.

        0 if there is only one thread.
        """
        return self.strides[0] if self.strides else 0

    @property
    def coalesced(self) -> bool:
        """Whether at least half of the neighbours along x access the same or adjacent elements, and so share
        transactions.
        """
        if not self.elements:
            return self.neighbour_stride in (-1, 0, 1)
        steps = [after - before for before, after in pairwise(self.elements)]
        return 2 * sum(step in (-1, 0, 1) for step in steps) >= len(steps)

    @property
    def transfers(self) -> float:
        """Executions per thread that reach memory if a compiler keeps the element in a register wherever it can.

        It can do so in the innermost loops along which the element stays the same, up to a loop with a barrier. Atomic
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
    """Operations on data per thread, without subscripts, loop bounds and conditions on indices.

    `adds`: floating-point additions, subtractions, comparisons, minima, maxima and roundings. `special`: functions such
    as sqrt and exp. `integer`: all integer operations.
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
        """Return the sum of these operations and `factor` times `other`."""
        return Operations(self.adds + factor * other.adds, self.muls + factor * other.muls,
                          self.divs + factor * other.divs, self.special + factor * other.special,
                          self.integer + factor * other.integer)


@dataclass(frozen=True, slots=True)
class Demand:
    """The work and traffic of a program on any device, whatever its schedule.

    `operations`: those of all statement instances. `read_bytes`: elements that hold data at the start and are read.
    `written_bytes`: elements that are written and read after the program. `resident_bytes`: the union of both, which
    must fit in memory. `type`: the C type of most operations. Operations that depend on data are counted as if they
    happened.
    """

    operations: Operations
    read_bytes: float
    written_bytes: float
    resident_bytes: float
    type: str

    @property
    def moved_bytes(self) -> float:
        """The bytes that must be moved between memory and processors."""
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel of a variant. `block`, `grid` and `points` (those of one thread) are x first.

    `launches`: per run of the program (an estimate if host loops launch a varying number). `balance`, in (0, 1]: the
    mean work of a thread divided by that of the busiest thread of its block, both averaged over all blocks; work is
    memory accesses and operations. `footprint`: the arrays and scalars in global memory that the kernel uses, with
    their whole sizes in bytes, an upper bound of the memory it touches.
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
