"""The options for a schedule matrix: the legal rows at each depth, and the statements that may share them.

A NestPath is a path from the outside in: the statements that share each loop, and the row of that loop. Inside it are
the dependences that none of the rows orders; statements that depend on each other cyclically (a component) get their
next row together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from generator.polyhedral.kit.components import strongly_connected
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.schedules.candidates import (
    LARGEST_SHIFT,
    Wanted,
    find_rows,
    is_permutation,
    joint,
    span,
    vectors_of,
)
from generator.polyhedral.schedules.cones import Numbers, Piece, edges, inside, live, pieces_of
from generator.program import Program
from generator.schedules.hyperplanes import NestPath, Row, Step

MOST_BESIDE = 4
"""Skewed rows beside a parallel one: few, because they make no more parallel loops, only different ones."""

LIGHT_ROWS, MOST_WEIGHT = 3, 10
"""Tiles of more rows than LIGHT_ROWS are offered up to this sum of absolute coefficients: isl takes 1 to 3 s for the
loops of most others (heat-3d at LARGE: 8 of 9), and less than 0.6 s for these.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A component inside a place: its statements (sorted), and the most loops that one of them still needs."""

    statements: tuple[str, ...]
    left: int


@dataclass(frozen=True, slots=True)
class Inside:
    """The components inside a place; `before` holds pairs (a, b): a must come before b (by number)."""

    components: tuple[Part, ...]
    before: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Offer:
    """Rows for a component, the simplest first: those that follow one iterator, and those that mix several.

    `parallel`: they separate no dependent pair. `tilable`: there are enough rows for tiles of at least two dimensions.
    `cut`: not all rows were tried, because there are too many.
    """

    permute: tuple[Row, ...]
    skew: tuple[Row, ...]
    parallel: bool
    tilable: bool
    cut: bool


@dataclass(frozen=True, slots=True)
class O3:
    """A search's questions about the schedule matrix of `program`, memoized.

    Raises IllegalPlan if isl gives up on the dependences.
    """

    program: Program

    def within(self, place: NestPath, statements: tuple[str, ...]) -> NestPath:
        """Return a place for some of its statements."""
        return within(place, statements)

    def inside(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...]) -> Inside:
        """Return the components of `statements` inside `place` (empty statements: of the whole program)."""
        names = statements or tuple(s.name for s in self.program.statements)
        return components(self.program, reductions, place, names)

    def offer(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...], parallel: bool) -> Offer:
        """Return rows for one component; `parallel`: parallel ones if there are any."""
        return offer(self.program, reductions, within(place, statements), statements, parallel)

    def beside(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...]) -> tuple[Row, ...]:
        """Return skewed rows that can replace the only parallel row of a component inside permuted host loops.

        The component gets a parallel row directly inside of them.
        """
        return beside(self.program, reductions, within(place, statements), statements)

    def band(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...],
             rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Return the rows that may follow `rows` in one permutable band, as far as its tiles are generated quickly."""
        return band(self.program, reductions, within(place, statements), statements, rows)

    def fused(self, reductions: tuple[str, ...], place: NestPath, steps: tuple[Step, ...]) -> Row | None:
        """Return the row that components with these rows share (constants move); None if they cannot share one."""
        return fused(self.program, reductions, place, steps)


def within(place: NestPath, statements: tuple[str, ...]) -> NestPath:
    """Return a place for some of its statements: the others and common constants have no effect on them."""
    result = []
    for names, row in place:
        kept = [v for name, v in zip(names, row, strict=True) if name in statements]
        least = min(v[-1] for v in kept)
        result.append((statements, tuple((*v[:-1], v[-1] - least) for v in kept)))
    return tuple(result)


@memoized(maxsize=4096)
def live_at(program: Program, reductions: tuple[str, ...], place: NestPath) -> tuple[Piece, ...]:
    """Return the dependences that the rows of `place` leave unordered."""
    if not place:
        return pieces_of(program, reductions)
    return live(live_at(program, reductions, place[:-1]), vectors_of(*place[-1]))


@memoized(maxsize=4096)
def components(program: Program, reductions: tuple[str, ...], place: NestPath, names: tuple[str, ...]) -> Inside:
    """See O3.inside."""
    links = edges(inside(live_at(program, reductions, place), names))
    ordered = tuple(s.name for s in program.statements if s.name in names)
    groups = strongly_connected(ordered, links)
    number = {name: k for k, group in enumerate(groups) for name in group}
    before = frozenset((number[a], number[b]) for a, b in links if number[a] != number[b])
    return Inside(tuple(Part(g, max(_left(program, place, name) for name in g)) for g in groups), before)


def _outer(program: Program, place: NestPath, name: str) -> Numbers:
    """Return the coefficients of the rows of `place` for one statement."""
    dims = len(program.statement(name).iterators)
    rows = [vectors_of(*step)[name][:-1] for step in place]
    return np.array(rows, np.int64).reshape(len(rows), dims)


def _left(program: Program, place: NestPath, name: str) -> int:
    """Return how many more independent rows a statement needs."""
    outer = _outer(program, place, name)
    return int(outer.shape[1]) - span(outer)


def _wanted(program: Program, place: NestPath, statements: tuple[str, ...], parallel: bool, modulo: bool) -> Wanted:
    """Return the wanted rows; the statements that need the most rows get a new direction."""
    left = {name: _left(program, place, name) for name in statements}
    return Wanted(parallel, frozenset(n for n in statements if left[n] == max(left.values())), modulo)


@memoized(maxsize=4096)
def offer(program: Program, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...],
          parallel: bool) -> Offer:
    """See O3.offer; `place` is that of these statements alone."""
    pieces = inside(live_at(program, reductions, place), statements)
    outer = {name: _outer(program, place, name) for name in statements}
    if parallel:
        found = find_rows(statements, outer, pieces, _wanted(program, place, statements, True, True))
        if found.rows:
            return Offer(*_by_kind(found.rows), True, False, found.cut)
    found = find_rows(statements, outer, pieces, _wanted(program, place, statements, False, True))
    rows = found.rows
    several = parallel and _tilable(band(program, reductions, place, statements, ()), statements, outer)
    if parallel and max(_left(program, place, name) for name in statements) <= 2:  # the last chance for a parallel loop
        rows = _promising(program, place, statements, pieces, rows) or rows
    return Offer(*_by_kind(rows), False, several, found.cut)


@memoized(maxsize=4096)
def beside(
    program: Program, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...]
) -> tuple[Row, ...]:
    """See O3.beside; `place` is that of these statements alone."""
    if not place or not all(is_permutation(row) for _, row in place):
        return ()
    given = offer(program, reductions, place, statements, True)
    left = max(_left(program, place, name) for name in statements)
    if left < 2 or not given.parallel or len(given.permute) + len(given.skew) > 1:
        return ()
    pieces = inside(live_at(program, reductions, place), statements)
    outer = {name: _outer(program, place, name) for name in statements}
    rows = find_rows(statements, outer, pieces, _wanted(program, place, statements, False, True)).rows
    skewed = (row for row in rows if not is_permutation(row) and not _is_parallel(pieces, (statements, row)))
    return _promising(program, place, statements, pieces, tuple(islice(skewed, MOST_BESIDE)))


@memoized(maxsize=4096)
def band(program: Program, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...],
         rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """See O3.band; `place` is that of these statements alone."""
    pieces = inside(live_at(program, reductions, place), statements)
    deeper = (*place, *((statements, row) for row in rows))
    if not max(_left(program, deeper, name) for name in statements):
        return ()
    outer = {name: _outer(program, deeper, name) for name in statements}
    found = find_rows(statements, outer, pieces, _wanted(program, deeper, statements, False, False)).rows
    return tuple(row for row in found if len(rows) < LIGHT_ROWS or max(_weights((*rows, row))) <= MOST_WEIGHT)


def _weights(rows: tuple[Row, ...]) -> list[int]:
    """Return the sum of the absolute coefficients of each statement's rows."""
    return [sum(abs(c) for vector in vectors for c in vector[:-1]) for vectors in zip(*rows, strict=True)]


def _by_kind(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    return tuple(r for r in rows if is_permutation(r)), tuple(r for r in rows if not is_permutation(r))


def _tilable(rows: tuple[Row, ...], statements: tuple[str, ...], outer: dict[str, Numbers]) -> bool:
    """Return whether two independent rows are among `rows`, for a statement that needs the most."""
    for number, name in enumerate(statements):
        found = np.array([row[number][:-1] for row in rows], np.int64).reshape(len(rows), outer[name].shape[1])
        if span(np.concatenate([outer[name], found])) >= span(outer[name]) + 2:
            return True
    return False


def _promising(program: Program, place: NestPath, statements: tuple[str, ...], pieces: tuple[Piece, ...],
               rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return the rows after which most statements have a parallel loop immediately; none if no statement has one."""
    scores = [_parallel_below(program, (*place, (statements, row)), statements,
                              live(pieces, vectors_of(statements, row))) for row in rows]
    best = max(scores, default=0)
    return tuple(row for row, score in zip(rows, scores, strict=True) if score == best and best)


def _parallel_below(program: Program, place: NestPath, statements: tuple[str, ...], pieces: tuple[Piece, ...]) -> int:
    """Return how many statements can have a parallel row next, by rank (with any coefficients)."""
    total = 0
    for group in strongly_connected(statements, edges(pieces)):
        outer = {name: _outer(program, place, name) for name in group}
        left = {name: outer[name].shape[1] - span(outer[name]) for name in group}
        deepest = [name for name in group if left[name] == max(left.values())]
        if not left[deepest[0]]:
            continue
        free = _nullspace(joint(inside(pieces, group), group, {n: outer[n].shape[1] for n in group}))
        start = 0
        possible = True
        for name in group:
            dims = outer[name].shape[1]
            if name in deepest:
                together = np.concatenate([outer[name].astype(float), free[:, start:start + dims]])
                possible &= _rank(together) > span(outer[name])
            start += dims + 1
        total += len(group) if possible else 0
    return total


def _nullspace(matrix: Numbers) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return an orthonormal basis of the vectors that `matrix` maps to 0, one per row."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    scaled = matrix / np.maximum(1, np.abs(matrix).max(axis=1, keepdims=True))
    _, sizes, basis = np.linalg.svd(scaled, full_matrices=True)
    return np.asarray(basis[int((sizes > 1e-9).sum()):])


def _rank(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    return int(np.linalg.matrix_rank(matrix, tol=1e-7)) if matrix.size else 0


def _is_parallel(pieces: tuple[Piece, ...], step: Step) -> bool:
    vectors = vectors_of(*step)
    return all(not p.distances(vectors[p.source], vectors[p.sink]).any() for p in pieces)


@memoized(maxsize=8192)
def fused(program: Program, reductions: tuple[str, ...], place: NestPath, steps: tuple[Step, ...]) -> Row | None:
    """See O3.fused. Parallel rows stay parallel: they share a loop only if that is parallel, too."""
    if len(steps) == 1:
        return steps[0][1]
    if not all(row for _, row in steps):
        return None if any(row for _, row in steps) else ()
    pieces = live_at(program, reductions, place)
    parallel = [_is_parallel(inside(pieces, names), (names, row)) for names, row in steps]
    if len(set(parallel)) > 1:
        return None
    vectors = vectors_of(*steps[0])
    for names, row in steps[1:]:
        more = vectors_of(names, row)
        least, most = _distance(pieces, vectors, more)
        if parallel[0] and least > most:
            return None
        shift = max(least, min(0, most) if parallel[0] else 0)
        if abs(shift) > LARGEST_SHIFT:
            return None
        vectors |= {name: (*v[:-1], v[-1] + shift) for name, v in more.items()}
    least = min(v[-1] for v in vectors.values())
    return tuple((*vectors[name][:-1], vectors[name][-1] - least) for name in sorted(vectors))


def _distance(pieces: tuple[Piece, ...], first: dict[str, tuple[int, ...]],
              second: dict[str, tuple[int, ...]]) -> tuple[int, int]:
    """Return the least constant that runs no pair from first to second backwards, and the greatest that runs none
    forwards.
    """
    least, most = -(1 << 30), 1 << 30
    for piece in pieces:
        if piece.source not in first or piece.sink not in second:
            continue
        for distance, scale in zip(piece.distances(first[piece.source], second[piece.sink]), piece.ones, strict=True):
            if scale:
                least, most = max(least, -int(distance // scale)), min(most, int(-distance // scale))
            elif distance:
                least, most = (1 << 30, most) if distance < 0 else (least, -(1 << 30))
    return least, most
