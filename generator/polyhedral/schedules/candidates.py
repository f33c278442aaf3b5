"""Rows of a schedule matrix that respect dependences, found by trying all coefficients in [-2, 2] at once.

Compute, per statement, all vectors of coefficients; for two statements, a table of the least delay of the second for
every pair of their vectors; then join the tables. Constants follow: each statement runs as early as the others allow.

Not every legal row is found: with five or more iterators, vectors have at most two coefficients; constants end at
LARGEST_SHIFT; and only the MOST_JOINED simplest joins are kept before their constants are determined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import gcd
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.polyhedral.schedules.cones import Numbers, Piece
from generator.schedules.hyperplanes import Row, Vector

LARGEST_COEFFICIENT = 2
LARGEST_SHIFT = 4
MOST_JOINED = 8192
MOST_OFFERED = 256
_NEVER = 1 << 30  # as a lower bound: no constant makes the pair legal
_FREE = -_NEVER

Outer: TypeAlias = Mapping[str, Numbers]
"""Per statement the coefficients of the outer rows, one row each (shape: rows, iterators)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted rows: `parallel` ones separate no dependent pair. Statements of `advance` get a new direction, others
    may.

    `modulo`: rows that differ by a combination of the outer rows are the same loop, so one of them is enough.
    """

    parallel: bool
    advance: frozenset[str]
    modulo: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Legal rows, the simplest first. `cut`: there were more joins than MOST_JOINED, so legal ones may be missing."""

    rows: tuple[Row, ...]
    cut: bool


def find_rows(statements: Sequence[str], outer: Outer, pieces: Sequence[Piece], wanted: Wanted) -> Found:
    """Return rows for `statements` (sorted) that run no pair of `pieces` backwards, the simplest first.

    A row and its negative are one candidate if both are legal; multiples of a row are not candidates.
    """
    vectors = [_unary(name, outer[name], pieces, wanted) for name in statements]
    if not all(len(v) for v in vectors):
        return Found((), False)
    lower = _tables(statements, vectors, pieces, wanted.parallel)
    combos, cut = _joined([_cost(v) for v in vectors], lower)
    shifts, legal = _shifts(combos, lower)
    combos, shifts = combos[legal], shifts[legal]
    found = [tuple((*map(int, vectors[s][combo[s]]), int(shift[s])) for s in range(len(statements)))
             for combo, shift in zip(combos, shifts, strict=True)]
    primitive = [row for row in found if gcd(*(c for vector in row for c in vector[:-1])) == 1]
    return Found(tuple(_one_way(primitive)[:MOST_OFFERED]), cut)


def is_permutation(row: Row) -> bool:
    """Return whether every statement follows one iterator (up or down), or none."""
    return all(sum(abs(c) for c in vector[:-1]) <= 1 for vector in row)


def span(rows: Numbers) -> int:
    """Return the rank of a matrix of small integers."""
    return int(np.linalg.matrix_rank(rows.astype(float))) if rows.size else 0


@lru_cache(maxsize=16)
def _all_vectors(dims: int) -> Numbers:
    """Return vectors with coefficients in [-2, 2], the simplest first; at most two nonzeros in five or more dimensions.
    """
    values = range(-LARGEST_COEFFICIENT, LARGEST_COEFFICIENT + 1)
    kept = [v for v in product(values, repeat=dims) if dims < 5 or sum(map(bool, v)) <= 2]
    ordered = sorted(kept, key=lambda v: (sum(map(bool, v)), sum(map(abs, v)), sum(c < 0 for c in v), [-c for c in v]))
    result = np.array(ordered, np.int64).reshape(len(ordered), dims)
    result.setflags(write=False)
    return result


def _unary(name: str, outer: Numbers, pieces: Sequence[Piece], wanted: Wanted) -> Numbers:
    """Return the vectors of one statement that its own dependences allow; only those without holes, if there are any.
    """
    vectors = _all_vectors(outer.shape[1])
    rest = _beyond(outer, vectors)
    new = np.abs(rest).max(axis=1, initial=0) > 1e-6
    dense = ~new | _without_holes(outer, vectors)
    if dense[new].any():
        vectors, rest, new = vectors[dense], rest[dense], new[dense]
    if name in wanted.advance:
        vectors, rest = vectors[new], rest[new]
    elif wanted.modulo:
        keep = new | ~vectors.any(axis=1)
        vectors, rest = vectors[keep], rest[keep]
    if wanted.modulo and len(vectors):
        _, first = np.unique(np.round(rest, 5) + 0.0, axis=0, return_index=True)
        vectors = vectors[np.sort(first)]
    for piece in pieces:
        if piece.source == piece.sink == name:
            distances = vectors @ (piece.after - piece.before).T
            vectors = vectors[(distances == 0 if wanted.parallel else distances >= 0).all(axis=1)]
    return vectors


def _beyond(outer: Numbers, vectors: Numbers) -> NDArray[np.float64]:
    """Return the components of `vectors` outside of the span of `outer`."""
    if not outer.size:
        return vectors.astype(float)
    basis = outer.astype(float)
    return np.asarray(vectors - vectors @ np.linalg.pinv(basis) @ basis)


def _without_holes(outer: Numbers, vectors: Numbers) -> NDArray[np.bool_]:
    """Return whether iterations take all integer values of the rows together: the greatest common divisor of minors is
    1.

    Other rows make loops with strides and guards, for which a row without them is equivalent.
    """
    basis: list[Numbers] = []
    for row in outer:
        if span(np.array([*basis, row])) > len(basis):
            basis.append(row)
    size, dims = len(basis) + 1, vectors.shape[1]
    if size > dims:
        return np.ones(len(vectors), np.bool_)
    stacked = np.concatenate([np.broadcast_to(np.array(basis).reshape(size - 1, dims), (len(vectors), size - 1, dims)),
                              vectors[:, None, :]], axis=1)
    minors = [np.linalg.det(stacked[:, :, list(columns)]) for columns in combinations(range(dims), size)]
    return np.asarray(np.gcd.reduce(np.round(minors).astype(np.int64), axis=0) == 1)


def _tables(statements: Sequence[str], vectors: Sequence[Numbers], pieces: Sequence[Piece],
            parallel: bool) -> dict[tuple[int, int], Numbers]:
    """Return, per pair of statements and of their vectors, the least difference of constants (second minus first)."""
    number = {name: k for k, name in enumerate(statements)}
    lower: dict[tuple[int, int], Numbers] = {}

    def raise_to(first: int, second: int, bound: Numbers) -> None:
        before = lower.get((first, second))
        lower[first, second] = bound if before is None else np.maximum(before, bound)

    for piece in pieces:
        if piece.source == piece.sink:
            continue
        first, second = number[piece.source], number[piece.sink]
        least, most = _bounds(piece, vectors[first], vectors[second])
        raise_to(first, second, least)
        if parallel:
            raise_to(second, first, -most.T)
    return lower


def _bounds(piece: Piece, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
    """Return (least, most): distances are not negative from `least` on, and not positive up to `most`."""
    least = np.full((len(first), len(second)), _FREE, np.int64)
    most = np.full((len(first), len(second)), _NEVER, np.int64)
    for scale, before, after in zip(piece.ones, piece.before, piece.after, strict=True):
        distance = (second @ after)[None, :] - (first @ before)[:, None]
        if scale > 0:
            least = np.maximum(least, -(distance // scale))
            most = np.minimum(most, (-distance) // scale)
        else:
            least[distance < 0] = _NEVER
            most[distance > 0] = _FREE
    return least, most


def _cost(vectors: Numbers) -> Numbers:
    """Return the complexity of each vector."""
    return np.asarray(np.abs(vectors).sum(axis=1) + 4 * (vectors != 0).sum(axis=1) + (vectors < 0).sum(axis=1))


def _joined(costs: Sequence[Numbers], lower: Mapping[tuple[int, int], Numbers]) -> tuple[Numbers, bool]:
    """Return vectors for all statements that are pairwise legal (shape: joins, statements), the simplest first.

    Also return whether some are missing because there are too many.
    """
    order = _most_bound_first(len(costs), lower)
    combos: Numbers = np.arange(len(costs[order[0]]))[:, None]
    total, cut = costs[order[0]], False
    for place, new in enumerate(order[1:], 1):
        fits = np.ones((len(combos), len(costs[new])), np.bool_)
        for column, old in enumerate(order[:place]):
            fits &= _compatible(lower.get((old, new)), lower.get((new, old)), fits.shape, combos[:, column])
        before, after = np.nonzero(fits)
        sums = total[before] + costs[new][after]
        best = np.argsort(sums, kind="stable")[:MOST_JOINED]
        cut |= len(best) < len(sums)
        combos, total = np.column_stack([combos[before[best]], after[best]]), sums[best]
    return combos[:, np.argsort(order)], cut


def _most_bound_first(count: int, lower: Iterable[tuple[int, int]]) -> list[int]:
    """Return an order of statements in which each has as many tables as possible with the previous ones: few joins."""
    linked = {frozenset(pair) for pair in lower}
    order: list[int] = []
    while len(order) < count:
        def bound(one: int) -> tuple[int, int, int]:
            return (sum(frozenset((one, k)) in linked for k in order), sum(one in pair for pair in linked), -one)

        order.append(max((k for k in range(count) if k not in order), key=bound))
    return order


def _compatible(there: Numbers | None, back: Numbers | None, shape: tuple[int, ...],
                chosen: Numbers) -> NDArray[np.bool_]:
    """Return whether constants exist for pairs of an old statement's vectors `chosen` and a new statement's vectors."""
    forth = there[chosen] if there is not None else np.full(shape, _FREE)
    opposite = back.T[chosen] if back is not None else np.full(shape, _FREE)
    possible = (forth <= LARGEST_SHIFT) & (opposite <= LARGEST_SHIFT) & (forth + opposite <= 0)
    return np.asarray(possible)


def _shifts(combos: Numbers, lower: Mapping[tuple[int, int], Numbers]) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the least constants of each join (their minimum is 0), and whether there are any (longest paths)."""
    count = combos.shape[1]
    bounds = {pair: table[combos[:, pair[0]], combos[:, pair[1]]] for pair, table in lower.items()}
    shifts = np.zeros_like(combos)
    for _ in range(count):
        for (first, second), bound in bounds.items():
            shifts[:, second] = np.maximum(shifts[:, second], shifts[:, first] + bound)
    legal = np.ones(len(combos), np.bool_)
    for (first, second), bound in bounds.items():
        legal &= shifts[:, second] >= shifts[:, first] + bound
    shifts = shifts - shifts.min(axis=1, keepdims=True)
    return shifts, legal & (shifts <= LARGEST_SHIFT).all(axis=1)


def _one_way(rows: Sequence[Row]) -> list[Row]:
    """Return `rows` without those whose negative is also there; of the two, keep the one whose first nonzero is
    positive.
    """
    coefficients = {tuple(v[:-1] for v in row) for row in rows}

    def kept(row: Row) -> bool:
        numbers = [c for vector in row for c in vector[:-1]]
        leading = next((c for c in numbers if c), 0)
        return leading > 0 or tuple(tuple(-c for c in v[:-1]) for v in row) not in coefficients

    return [row for row in rows if kept(row)]


def joint(pieces: Iterable[Piece], statements: Sequence[str], dims: Mapping[str, int]) -> Numbers:
    """Return the distances as linear functions of all vectors side by side, with constants (shape: points, columns)."""
    start, columns = {}, 0
    for name in statements:
        start[name] = columns
        columns += dims[name] + 1
    blocks = [np.zeros((0, columns), np.int64)]
    for piece in pieces:
        block = np.zeros((len(piece.ones), columns), np.int64)
        for name, sign, part in ((piece.source, -1, piece.before), (piece.sink, 1, piece.after)):
            here = start[name]
            block[:, here:here + dims[name]] += sign * part
            block[:, here + dims[name]] += sign * piece.ones
        blocks.append(block)
    return np.concatenate(blocks)


def vectors_of(statements: Sequence[str], row: Row) -> dict[str, Vector]:
    """Return the vectors of a row by statement."""
    return dict(zip(statements, row, strict=True))
