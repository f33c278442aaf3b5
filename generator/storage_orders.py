"""Along which dimension the elements of intermediate arrays should be adjacent in memory.

    for (x) for (y) t[x][y] = a[y][x] + a[y][x + 1];      iterations of y pass over a column of a
    for (y) for (x) b[y][x] = t[x][y] * t[x][y + 1];      those of x over a column of t: dimension 0 of t is better

The loops that compute an array run along its contiguous dimension. A read is in order if they pass over a row of what
it reads, or over nothing. `generator.polyhedral.pipelines.moves` finds the reads of a program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol, TypeAlias

Contiguous: TypeAlias = tuple[tuple[str, int], ...]
"""As in `generator.schedules.stages`."""

_LEAST = 16
"""The least extent of a dimension that may become contiguous: shorter rows do not fill vectors."""
_FEW = 16
"""What has so many times fewer elements than what is computed from it stays in caches, whatever its order."""
_PASSES = 8


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
    def free(self) -> bool:
        """Whether it may have another storage order."""

    @property
    def moves(self) -> Sequence[Move]:
        """The reads in the computation of its elements."""


def offered_dimensions(arrays: Sequence[Ordered]) -> Mapping[str, tuple[int, ...]]:
    """Return the dimensions that may be contiguous, the last one first, of each array with several of them: besides the
    last one, those that some read prefers, of this array or, through a chain of others, of an input or output.
    """
    found = {one.array: {len(one.extents) - 1} for one in arrays}
    free = {one.array: one.extents for one in arrays if one.free}
    rows = [(one.array, dims[0], move, place) for one in arrays for move in one.moves if _counts(move, one)
            for place, dims in enumerate(move.dims) if len(dims) == 1]
    count = 0
    while count < (count := sum(map(len, found.values()))):
        for array, dim, move, place in rows:
            if array in free and place in found.get(move.array, {len(move.extents) - 1}) and free[array][dim] >= _LEAST:
                found[array].add(dim)
            if move.array in free and dim in found[array] and free[move.array][place] >= _LEAST:
                found[move.array].add(place)
    return {array: tuple(sorted(dims, reverse=True)) for array, dims in found.items() if len(dims) > 1}


def preferred_orders(arrays: Sequence[Ordered], inline: Collection[str] = ()) -> Contiguous:
    """Return the storage orders, as a schedule has them, with which the fewest reads are out of order; none for arrays
    that are computed `inline`.

    The search goes from array to array until no other order of a single one is better.
    """
    offered = offered_dimensions(arrays)
    if not offered:
        return ()
    rows = {one.array: len(one.extents) - 1 for one in arrays}
    for _ in range(_PASSES):
        before = dict(rows)
        for array, dims in reversed(tuple(offered.items())):
            costs = {dim: _out_of_order(arrays, {**rows, array: dim}) for dim in dims}
            best = min(costs.values())
            if costs[rows[array]] > best:
                rows[array] = next(dim for dim, cost in costs.items() if cost == best)
        if rows == before:
            break
    return tuple(sorted((array, rows[array]) for array, dims in offered.items()
                        if rows[array] != dims[0] and array not in inline))


def _out_of_order(arrays: Sequence[Ordered], rows: Mapping[str, int]) -> int:
    """Return the number of elements that are read out of order, if these are the contiguous dimensions."""
    total = 0
    for one in arrays:
        for move in (move for move in one.moves if _counts(move, one)):
            along = {place for place, dims in enumerate(move.dims) if rows[one.array] in dims}
            if along - {rows.get(move.array, len(move.extents) - 1)}:
                total += move.times * prod(one.extents)
    return total


def _counts(move: Move, reader: Ordered) -> bool:
    return prod(move.extents) * _FEW >= prod(reader.extents)
