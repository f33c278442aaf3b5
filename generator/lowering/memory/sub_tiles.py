"""The overlapped tile of a warp, cut along x into sub-tiles: the left ones in shared memory, the right ones in
registers (Jangda & Guha 2020, section 4.2; specs/polymage_gpu.md, section 3).

    x of a stage     -left .. | sub-tile 0 | 1 |  ..  | S - 1 | S |  ..  | T - 1 |
                     shared memory, `S * W + left + right`     registers, one value per lane

A sub-tile has one point per lane. Those of a stage lie `right` points further than those of the output, `right` being
what tiles of it need beyond their right end: then none needs what stands in one further to the right. A lane that reads
`x + offset` finds that `offset + right of the reader - right of the stage` lanes away: in its own variable, in that of
another lane, in a variable for the sub-tile before, or in shared memory where that sub-tile is there.

Rows have no such slant: row `r` of a stage is the r-th from its first one, and belongs to the lanes in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

from generator.expr import Binary, Expr, Int, Name
from generator.linear import simplify
from generator.polyhedral.memory.mapping import thread_names


@dataclass(frozen=True, slots=True)
class HeldStage:
    """A stage of which a warp keeps an overlapped tile: `left` and `right` are the points beyond the tile of the
    output, per dimension of the kernel. `dims` are those along which its own dimensions run. `readers` are the stages
    that read it ("": the output).
    """

    array: str
    dims: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubTile:
    """Points of a stage, one per lane: sub-tile `number` along x, `rows[d]` along each other dimension."""

    number: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where lanes find an element: those `when` it holds (None: all others), in the variable of a sub-tile of the
    lane at `place` (one number per dimension), or in shared memory (no sub-tile).
    """

    when: Expr | None
    sub_tile: SubTile | None
    place: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class SubTiles:
    """A warp of `threads` lanes with `points` each (per dimension, x last), the last `in_registers` along x in
    registers.
    """

    threads: tuple[int, ...]
    points: tuple[int, ...]
    in_registers: int

    @property
    def in_shared(self) -> int:
        """How many sub-tiles are in shared memory."""
        return self.points[-1] - self.in_registers

    def lane(self, dim: int) -> Expr:
        """The lane's number in a dimension."""
        return Name(thread_names(len(self.threads))[dim]) if self.threads[dim] > 1 else Int(0)

    def size(self, stage: HeldStage, dim: int) -> int:
        """Points of a stage along a dimension that is not x; 1 where the stage does not have it."""
        if dim not in stage.dims:
            return 1
        return self.threads[dim] * self.points[dim] + stage.left[dim] + stage.right[dim]

    def sub_tiles(self, stage: HeldStage) -> Iterator[SubTile]:
        """Those in registers, row by row in each."""
        counts = [range(self._rows(stage, d)) for d in range(len(self.threads) - 1)]
        for number in range(self.in_shared, self.points[-1]):
            yield from (SubTile(number, rows) for rows in product(*counts))

    def _rows(self, stage: HeldStage, dim: int) -> int:
        """How many rows a lane has of a stage."""
        return -(-self.size(stage, dim) // self.threads[dim]) if dim in stage.dims else 1

    def shared_size(self, stage: HeldStage, dim: int) -> int:
        """Elements of the part in shared memory along a dimension."""
        if dim < len(self.threads) - 1:
            return self.size(stage, dim)
        return self.in_shared * self.threads[-1] + stage.left[-1] + stage.right[-1]

    def first(self, stage: HeldStage, sub_tile: SubTile, dim: int) -> int:
        """The point that lane 0 has, counted from the first one of the output's tile."""
        if dim == len(self.threads) - 1:
            return sub_tile.number * self.threads[dim] + stage.right[dim]
        return sub_tile.rows[dim] * self.threads[dim] - stage.left[dim]

    def beyond(self, stage: HeldStage, sub_tile: SubTile) -> list[Expr]:
        """What lanes must fulfil for their rows to be those of the tile; nothing where all of them are."""
        found = list[Expr]()
        for d, row in enumerate(sub_tile.rows):
            left = self.size(stage, d) - row * self.threads[d]
            if d in stage.dims and left < self.threads[d]:
                found.append(Binary("<", self.lane(d), Int(left)))
        return found

    def linear(self, place: Sequence[Expr]) -> Expr:
        """The number of a lane in its sub-group: x first."""
        terms = [Binary("*", one, Int(prod(self.threads[d + 1 :]))) for d, one in enumerate(place)]
        return simplify(reduce(lambda a, b: Binary("+", a, b), terms))

    def sources(self, reader: HeldStage, at: SubTile, stage: HeldStage, offset: Sequence[int]) -> tuple[Source, ...]:
        """Where the lanes that compute sub-tile `at` of `reader` find `stage`, `offset` away; the later ones win."""
        x = len(self.threads) - 1
        per_dim = [self._along(d, at.rows[d], offset[d] + stage.left[d] - reader.left[d], stage) for d in range(x)]
        along_x = self._candidates(x, at.number, offset[x] + reader.right[x] - stage.right[x])
        found, shared = list[Source](), list[Source]()
        for number, when, lane in along_x:
            if number < self.in_shared:
                shared.append(Source(when, None))
                continue
            for rows in product(*per_dim):
                conditions = [one for one in (*(w for _, w, _ in rows), when) if one is not None]
                found.append(
                    Source(
                        all_of(conditions),
                        SubTile(number, tuple(row for row, _, _ in rows)),
                        (*(place for _, _, place in rows), lane),
                    )
                )
        return (*found, *shared) if found else (Source(None, None),)

    def _along(self, dim: int, row: int, distance: int, stage: HeldStage) -> list[tuple[int, Expr | None, Expr]]:
        if dim not in stage.dims:
            return [(0, None, self.lane(dim))]
        return [one for one in self._candidates(dim, row, distance) if one[0] < self._rows(stage, dim)]

    def _candidates(self, dim: int, number: int, distance: int) -> list[tuple[int, Expr | None, Expr]]:
        """What is `distance` further: the number of the sub-tile or row, for which lanes, and whose."""
        width, lane = self.threads[dim], self.lane(dim)
        whole, rest = divmod(distance, width)
        if not rest:
            return [(number + whole, None, lane)]
        place = Binary("%", Binary("+", lane, Int(rest)), Int(width))
        near, far = Binary("<", lane, Int(width - rest)), Binary(">=", lane, Int(width - rest))
        return [(number + whole + 1, far, place), (number + whole, near, place)]


def all_of(conditions: Sequence[Expr]) -> Expr | None:
    """All of them; None for none."""
    return reduce(lambda a, b: Binary("&&", a, b), conditions) if conditions else None


def most_words(stages: Sequence[HeldStage], words: Sequence[int]) -> int:
    """The most registers that are alive at once, of stages in the order of their computation that take so many each:
    a stage until the last one that reads it is computed.
    """
    order = {stage.array: k for k, stage in enumerate(stages)}
    last = [
        max((order.get(reader, len(stages)) for reader in stage.readers), default=k) for k, stage in enumerate(stages)
    ]
    return max((sum(words[j] for j in range(k + 1) if j == k or last[j] >= k) for k in range(len(stages))), default=0)
