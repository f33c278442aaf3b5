"""The overlapped tile of a warp, cut along x into sub-tiles: the left ones in shared memory, the right ones in
registers (Jangda & Guha 2020, section 4.2; specs/polymage_gpu.md, section 3).

    x of a stage   -left .. | sub-tile 0 | 1 |  ..  | S - 1 | S |  ..  | T - 1 |
                   shared memory, `S * W + left + right`      registers, one value per lane

A sub-tile has one point per lane. Those of a stage are `right` points further than those of the output, where `right`
is the number of elements needed beyond the right end of its tiles (negative if they end before it): then no sub-tile
needs a later one. A lane that reads `x + offset` finds it `offset + right of the reader - right of the stage` lanes
away: in its own variable, in that of another lane, in a variable for the previous sub-tile, or in shared memory if that
sub-tile is there.

Rows are not shifted: row `r` of a stage is the r-th from its first one. If lanes have several rows, they take turns,
and stages are at constant distances. If a lane has all rows, any rows may be read, as long as they are the same in each
tile (`2 * y + 1`, `y / 2`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

from generator.decisions.fractions import in_registers
from generator.expr import Binary, Expr, Int, Name
from generator.linear import simplify
from generator.lowering.memory.tile_rows import Span, offset_in, point_in, value_in
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import thread_names


@dataclass(frozen=True, slots=True)
class HeldStage:
    """A stage of which a warp keeps an overlapped tile: the span along each dimension of the stage.

    `x`: the dimension along the kernel's x; `left`, `right`: the points there beyond the tile of the output, together
    at least 0: one of them is negative if an array begins elsewhere than the output. `readers`: the stages that read it
    ("": the output).
    """

    array: str
    spans: tuple[Span, ...]
    x: int
    left: int
    right: int
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubTile:
    """Points of a stage, one per lane: sub-tile `number` along x, `rows[k]` along each other dimension of the stage."""

    number: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The place of an element for lanes: those for which `when` holds (None: all others), in the variable of a sub-tile
    of the lane at `place` (one number per dimension), or in shared memory (no sub-tile).
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
        """The number of sub-tiles in shared memory."""
        return self.points[-1] - self.in_registers

    def lane(self, dim: int) -> Expr:
        """Return the lane's number in a dimension."""
        return Name(thread_names(len(self.threads))[dim]) if self.threads[dim] > 1 else Int(0)

    def lanes_along(self, span: Span) -> int:
        """Return the number of lanes over which the elements of a stage are distributed in a dimension."""
        return self.threads[span.dim] if span.dim is not None else 1

    def sub_tiles(self, stage: HeldStage) -> Iterator[SubTile]:
        """Yield those in registers, row by row in each."""
        counts = [range(self.rows_of(stage, k)) for k in range(len(stage.spans))]
        for number in range(self.in_shared, self.points[-1]):
            yield from (SubTile(number, rows) for rows in product(*counts))

    def rows_of(self, stage: HeldStage, k: int) -> int:
        """Return the number of rows of a stage per lane in a dimension; 1 along x."""
        return 1 if k == stage.x else -(-stage.spans[k].size // self.lanes_along(stage.spans[k]))

    def shared_size(self, stage: HeldStage, k: int) -> int:
        """Return the elements of the part in shared memory along a dimension."""
        if k != stage.x:
            return stage.spans[k].size
        return self.in_shared * self.threads[-1] + stage.left + stage.right

    def first(self, stage: HeldStage, sub_tile: SubTile, k: int) -> int:
        """Return the point of lane 0 in the first tile."""
        span = stage.spans[k]
        if k == stage.x:
            return span.low + stage.left + stage.right + sub_tile.number * self.threads[-1]
        return span.low + sub_tile.rows[k] * self.lanes_along(span)

    def beyond(self, stage: HeldStage, sub_tile: SubTile) -> list[Expr]:
        """Return the conditions for lanes whose rows are in the tile; none if all are."""
        found = list[Expr]()
        for k, (span, row) in enumerate(zip(stage.spans, sub_tile.rows, strict=True)):
            lanes = self.lanes_along(span)
            left = span.size - row * lanes
            if k != stage.x and span.dim is not None and left < lanes:
                found.append(Binary("<", self.lane(span.dim), Int(left)))
        return found

    def linear(self, place: Sequence[Expr]) -> Expr:
        """Return the number of a lane in its sub-group: x first."""
        terms = [Binary("*", one, Int(prod(self.threads[d + 1 :]))) for d, one in enumerate(place)]
        return simplify(reduce(lambda a, b: Binary("+", a, b), terms))

    def sources(self, reader: HeldStage, at: SubTile, stage: HeldStage, index: Sequence[Expr]) -> tuple[Source, ...]:
        """Return where the lanes that compute sub-tile `at` of `reader` find the element `index` of `stage`.

        Later sources take precedence.
        """
        far = offset_in(index[stage.x])
        assert far is not None, "along x distances are constant"
        along_x = self._candidates(len(self.threads) - 1, at.number, far[1] + reader.right - stage.right)
        per_dim = [self._rows_at(reader, at, stage, k, one) for k, one in enumerate(index)]
        found, shared = list[Source](), list[Source]()
        for number, when, lane in along_x:
            if number < self.in_shared:
                shared.append(Source(when, None))
                continue
            for rows in product(*per_dim):
                conditions = [one for one in (*(w for _, w, _ in rows), when) if one is not None]
                place = [self.lane(d) for d in range(len(self.threads) - 1)]
                for span, (_, _, whose) in zip(stage.spans, rows, strict=True):
                    if whose is not None and span.dim is not None:
                        place[span.dim] = whose
                sub_tile = SubTile(number, tuple(row for row, _, _ in rows))
                found.append(Source(all_of(conditions), sub_tile, (*place, lane)))
        return (*found, *shared) if found else (Source(None, None),)

    def _rows_at(
        self, reader: HeldStage, at: SubTile, stage: HeldStage, k: int, index: Expr
    ) -> Sequence[tuple[int, Expr | None, Expr | None]]:
        """Return the possible rows in a dimension: for which lanes, and whose (None: each lane's own)."""
        span = stage.spans[k]
        if k == stage.x:
            return [(0, None, None)]
        if self.lanes_along(span) == 1:
            own = point_in(index)
            here = None if own is None else reader.spans[own]
            value = value_in(index, here, at.rows[own] if own is not None else 0)
            assert value is not None, "rows have been found to be the same in each tile"
            return [(value[1] - span.low, None, None)]
        far = offset_in(index)
        assert far is not None and span.dim is not None, "lanes have rows at constant distances only"
        distance = far[1] + reader.spans[far[0]].low - span.low
        return [one for one in self._candidates(span.dim, at.rows[far[0]], distance) if one[0] < self.rows_of(stage, k)]

    def _candidates(self, dim: int, number: int, distance: int) -> list[tuple[int, Expr | None, Expr]]:
        """Return what is at `distance`: the number of the sub-tile or row, for which lanes, and whose."""
        width, lane = self.threads[dim], self.lane(dim)
        whole, rest = divmod(distance, width)
        if not rest:
            return [(number + whole, None, lane)]
        place = Binary("%", Binary("+", lane, Int(rest)), Int(width))
        near, far = Binary("<", lane, Int(width - rest)), Binary(">=", lane, Int(width - rest))
        return [(number + whole + 1, far, place), (number + whole, near, place)]


def sub_tiles_of(plan: KernelPlan) -> SubTiles:
    """Return how the plan of a kernel whose blocks are warps cuts its tile."""
    points = tuple(tile // threads for tile, threads in zip(plan.tile, plan.block, strict=True))
    return SubTiles(plan.block, points, in_registers(points[-1], plan.in_registers))


def all_of(conditions: Sequence[Expr]) -> Expr | None:
    """Return the conjunction of the conditions; None if there are none."""
    return reduce(lambda a, b: Binary("&&", a, b), conditions) if conditions else None


def most_words(stages: Sequence[HeldStage], words: Sequence[int]) -> int:
    """Return the most registers that are live at once, for stages in order of computation with these numbers of words.

    A stage is live until its last reader is computed.
    """
    order = {stage.array: k for k, stage in enumerate(stages)}
    last = [
        max((order.get(reader, len(stages)) for reader in stage.readers), default=k) for k, stage in enumerate(stages)
    ]
    return max((sum(words[j] for j in range(k + 1) if j == k or last[j] >= k) for k in range(len(stages))), default=0)
