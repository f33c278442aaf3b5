"""Along which dimension the elements of intermediate arrays should be adjacent in memory.

    for (x) for (y) t[x][y] = a[y][x] + a[y][x + 1];      iterations of y pass over a column of a
    for (y) for (x) b[y][x] = t[x][y] * t[x][y + 1];      those of x over a column of t: dimension 0 of t is better

The loops that compute an array run along its contiguous dimension. A read is in order if they pass over a row of what
it reads, or over nothing. `generator.polyhedral.pipelines.moves` finds the reads of a program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Protocol, TypeAlias

Contiguous: TypeAlias = tuple[tuple[str, int], ...]
"""As in `generator.schedules.stages`."""

_LEAST = 16
"""The least extent of a dimension that may become contiguous: shorter rows do not fill vectors."""
_FEW = 16
"""What has so many times fewer elements than what is computed from it stays in caches, whatever its order."""


@dataclass(frozen=True, slots=True)
class Move:
    """A read of `array` in the computation of an element, `times` times: `dims[k]` are the dimensions of the element
    with which subscript k moves.
    """

    array: str
    extents: tuple[int, ...]
    dims: tuple[tuple[int, ...], ...]
    times: int


class Ordered(Protocol):
    """An array that a program computes (generator.polyhedral.pipelines.stage_facts.ComputedArray)."""

    @property
    def array(self) -> str:
        """Its name."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Its full size."""

    @property
    def turnable(self) -> Collection[int]:
        """The dimensions that may become contiguous: none of those along which its elements follow from each other."""

    @property
    def moves(self) -> Sequence[Move]:
        """The reads in the computation of its elements."""


def offered_dimensions(arrays: Sequence[Ordered]) -> Mapping[str, tuple[int, ...]]:
    """Return the dimensions that may be contiguous, the last one first, of each array with several of them: an array
    with a read out of order (of it or by it), in its declared order or in the preferred one, and an array whose
    preferred order is not the declared one.
    """
    possible = _possible(arrays)
    if not possible:
        return {}
    reads = _Reads(arrays)
    preferred = reads.best(possible)
    wanted = {array for array, dim in preferred.items() if dim != reads.declared[array]}
    for rows in (reads.declared, preferred):
        wanted |= {array for one, move in reads.out_of_order(rows) for array in (one.array, move.array)}
    return {array: dims for array, dims in possible.items() if array in wanted}


def preferred_orders(arrays: Sequence[Ordered], inline: Collection[str] = ()) -> Contiguous:
    """Return the storage orders, as a schedule has them, with which few elements are read out of order; none for arrays
    that are computed `inline`.
    """
    possible = _possible(arrays)
    if not possible:
        return ()
    reads = _Reads(arrays)
    return tuple(sorted((array, dim) for array, dim in reads.best(possible).items()
                        if dim != reads.declared[array] and array not in inline))


def _possible(arrays: Sequence[Ordered]) -> Mapping[str, tuple[int, ...]]:
    """Return the dimensions, the last one first, of each array with several that some read prefers: of this array or,
    through a chain of others, of an input or output.
    """
    found = {one.array: {len(one.extents) - 1} for one in arrays}
    able = {one.array: {dim for dim in one.turnable if one.extents[dim] >= _LEAST} for one in arrays}
    links = [(one.array, dims[0], move, place) for one in arrays for move in one.moves if _counts(move, one)
             for place, dims in enumerate(move.dims) if len(dims) == 1]
    count = 0
    while count < (count := sum(map(len, found.values()))):
        for array, dim, move, place in links:
            if dim in able[array] and place in found.get(move.array, {len(move.extents) - 1}):
                found[array].add(dim)
            if move.array in able and place in able[move.array] and dim in found[array]:
                found[move.array].add(place)
    return {array: tuple(sorted(dims, reverse=True)) for array, dims in found.items() if len(dims) > 1}


@dataclass(slots=True)
class _Reads:
    """The reads of a program. `declared`: the last dimension of each computed array; `of`: the reads that access it."""

    arrays: Sequence[Ordered]
    declared: Mapping[str, int] = field(init=False)
    of: Mapping[str, Sequence[tuple[Ordered, Move]]] = field(init=False)

    def __post_init__(self) -> None:
        self.declared = {one.array: len(one.extents) - 1 for one in self.arrays}
        of: dict[str, list[tuple[Ordered, Move]]] = {one.array: [] for one in self.arrays}
        for one in self.arrays:
            for move in (move for move in one.moves if _counts(move, one)):
                for array in {one.array, move.array} & of.keys():
                    of[array].append((one, move))
        self.of = of

    def best(self, possible: Mapping[str, tuple[int, ...]]) -> Mapping[str, int]:
        """Return the contiguous dimension of each array, chosen among those `possible`.

        Starting from the declared orders, and from those that suit what is read, from the inputs on, or the readers,
        from the outputs on, the search goes from array to array until no other order of a single one is better.
        """
        found = [self.declared, *(self._decided(possible, order) for order in (list(possible), list(possible)[::-1]))]
        return min((self._improved(rows, possible) for rows in found), key=self._cost)

    def _decided(self, possible: Mapping[str, tuple[int, ...]], order: Sequence[str]) -> Mapping[str, int]:
        """Return orders decided one after the other, each by the reads between arrays that are decided before."""
        rows = {array: dim for array, dim in self.declared.items() if array not in possible}
        for array in order:
            rows[array] = self._closest(array, possible[array], rows)
        return rows

    def _improved(self, rows: Mapping[str, int], possible: Mapping[str, tuple[int, ...]]) -> Mapping[str, int]:
        found, before = dict(rows), dict[str, int]()
        while found != before:
            before = dict(found)
            for array in reversed(tuple(possible)):
                found[array] = self._closest(array, (found[array], *possible[array]), found)
        return found

    def _closest(self, array: str, dims: Sequence[int], rows: Mapping[str, int]) -> int:
        """Return the first of `dims` with which the fewest elements are read out of order."""
        return min(dims, key=lambda dim: sum(self._elements(one, move, {**rows, array: dim})
                                             for one, move in self.of[array]))

    def _cost(self, rows: Mapping[str, int]) -> int:
        return sum(self._elements(one, move, rows) for one, move in self.out_of_order(rows))

    def out_of_order(self, rows: Mapping[str, int]) -> Iterator[tuple[Ordered, Move]]:
        """Yield the reads out of order, with the arrays that they are for."""
        yield from ((one, move) for one in self.arrays for move in one.moves
                    if _counts(move, one) and self._elements(one, move, rows))

    def _elements(self, one: Ordered, move: Move, rows: Mapping[str, int]) -> int:
        """Return the number of elements that a read loads out of order; 0 if one of the orders is not decided yet."""
        if one.array not in rows or (move.array in self.declared and move.array not in rows):
            return 0
        along = {place for place, dims in enumerate(move.dims) if rows[one.array] in dims}
        contiguous = rows.get(move.array, len(move.extents) - 1)
        return move.times * prod(one.extents) if along - {contiguous} else 0


def _counts(move: Move, reader: Ordered) -> bool:
    return prod(move.extents) * _FEW >= prod(reader.extents)
