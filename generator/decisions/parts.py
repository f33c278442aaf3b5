"""Partial sums of a block in shared memory: how many at once, and in which layout.

Threads that sum up the same elements have a row of parts each, with a column per element of the block. A thread then
adds up a column. Neighbouring threads use neighbouring columns, in different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from generator.target import LANES

THREAD_BYTES = 32
"""The most bytes of a thread's parts of an array at once: 64 KiB for the 2048 threads of a multiprocessor."""
_ONE_BY_ONE = 16
"""The most parts that a thread adds up one after the other."""


@dataclass(frozen=True, slots=True)
class Parts:
    """`lanes` rows, declared with `row` elements; `at_once`: how many of the points of each loop of a thread have their
    parts there at a time; `sizes`: the elements of the block per dimension then.
    """

    lanes: int
    sizes: tuple[int, ...]
    row: int
    at_once: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The elements of the block that are summed up at a time."""
        return prod(self.sizes)

    @property
    def steps(self) -> tuple[int, ...]:
        """The rows that are left after each step of adding up rows: 1 after the last."""
        left, found = self.lanes, list[int]()
        while left > _ONE_BY_ONE:
            least = max(-(-left // _ONE_BY_ONE), 1)
            left = next(n for n in (1 << k for k in range(left)) if n >= least and n * n >= left)
            found.append(left)
        return (*found, 1)


def parts_of(block: tuple[int, ...], owned: Sequence[int], points: Sequence[tuple[int, int]],
             element_bytes: int) -> Parts:
    """Return the parts of the sums that depend on the dimensions `owned` of a block (outermost first).

    `points`: dimension and count of each loop over points of a thread there.
    """
    room, at_once = THREAD_BYTES // element_bytes, list[int]()
    for _, count in reversed(points):
        here = max(n for n in range(1, room + 1) if count % n == 0)
        at_once.insert(0, here)
        room = room // here if here == count else 1
    sizes = tuple(block[d] * prod(n for (dim, _), n in zip(points, at_once, strict=True) if dim == d) for d in owned)
    lanes = prod(size for d, size in enumerate(block) if d not in owned)
    return Parts(lanes, sizes, _row(block, owned, prod(sizes)), tuple(at_once))


def parts_bytes_of(block: tuple[int, ...], owned: Sequence[int], points: Sequence[tuple[int, int]]) -> int:
    """Return the most bytes of the parts of one array, whatever the type of its elements; 0 if each has one thread."""
    made = [(size, parts_of(block, owned, points, size)) for size in (4, 8)]
    return max(size * parts.lanes * parts.row if parts.lanes > 1 else 0 for size, parts in made)


def _row(block: tuple[int, ...], owned: Sequence[int], elements: int) -> int:
    """Return the elements of a row as declared: threads of a warp that store in several rows do so in other banks.

    A warp stores `side` neighbours of each row; rows begin at odd multiples of that.
    """
    inner = max((d for d, size in enumerate(block) if size > 1), default=0)
    side = block[inner] if inner in owned else max(1, min(elements, LANES // block[inner]))
    return elements if side >= LANES else side * (-(-elements // side) | 1)
