"""Affine functions that respect a dependence, as plain numbers: Farkas' lemma once per dependence, then numpy.

`c0 + a.x + b.y` is not negative for all dependent pairs x -> y exactly if it is not negative at the vertices and along
the rays of the set of these pairs; the constraints of isl's `coefficients` on (c0, a, b) are those points and
directions. A schedule row that respects a dependence leaves those of its points unordered at which it is 0: they span a
face of the same polyhedron. So the points of the program's dependences, computed once, decide about rows at every
depth.

Strides are ignored (the hull is used), so everything accepted here is legal, but not all legal rows are accepted. The
exact check of schedules is final.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.model import maps
from generator.polyhedral.dependences.reductions import order_of
from generator.polyhedral.kit.limited import ChildError, limited
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.schedules.scheduling import bounding_box
from generator.program import Program
from generator.schedules.hyperplanes import Vector

Numbers = NDArray[np.int64]
MOST_OPERATIONS = 200_000
"""isl operations per piece of a dependence: all of PolyBench needs fewer; if more are needed, loop bounds are left out.
"""
LARGEST = 2**40
"""Coordinates up to this are multiplied without overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Points and directions of a convex set of dependent pairs: instances of `source` before instances of `sink`.

    Per row: `ones` is the scale (0: a direction), `before` and `after` the iterators of source and sink, times that.
    """

    source: str
    sink: str
    ones: Numbers
    before: Numbers
    after: Numbers

    def distances(self, first: Vector, second: Vector) -> Numbers:
        """Return the delay of the sink after the source (times the scale) in a row with these vectors."""
        shift = second[-1] - first[-1]
        sunk = self.after @ np.array(second[:-1], np.int64)
        return self.ones * shift + sunk - self.before @ np.array(first[:-1], np.int64)

    def taken(self, rows: NDArray[np.bool_]) -> Piece:
        """Return the part with these points and directions."""
        return Piece(self.source, self.sink, self.ones[rows], self.before[rows], self.after[rows])


@memoized(maxsize=64)
def pieces_of(program: Program, reductions: tuple[str, ...]) -> tuple[Piece, ...]:
    """Return the dependences of a program (with some reductions in any order) as Pieces.

    Raises:
        IllegalPlan: isl gives up on one.
    """
    order = order_of(program, reductions).dependences
    boxes = {s.name: bounding_box(isl.Set(s.domain)) for s in program.statements}
    try:
        text = limited(lambda: json.dumps(list(_listed(order, boxes))), "finding the cone of a dependence")
    except ChildError as error:
        raise IllegalPlan(f"isl finds no cone of a dependence: {error}") from None
    return tuple(_piece(*entry) for entry in json.loads(text))


def live(pieces: Sequence[Piece], vectors: Mapping[str, Vector]) -> tuple[Piece, ...]:
    """Return the dependences between statements of `vectors` that a row with these vectors leaves unordered.

    Raises:
        IllegalPlan: the row runs one backwards.
    """
    left = []
    for piece in pieces:
        if piece.source not in vectors or piece.sink not in vectors:
            continue
        distances = piece.distances(vectors[piece.source], vectors[piece.sink])
        if (distances < 0).any():
            raise IllegalPlan(f"a row runs a dependence of {piece.sink} on {piece.source} backwards")
        face = distances == 0
        if (piece.ones[face] > 0).any():  # directions alone contain no pair
            left.append(piece.taken(face))
    return tuple(left)


def inside(pieces: Sequence[Piece], statements: Sequence[str]) -> tuple[Piece, ...]:
    """Return the dependences among `statements`."""
    return tuple(p for p in pieces if p.source in statements and p.sink in statements)


def edges(pieces: Sequence[Piece]) -> set[tuple[str, str]]:
    """Return pairs of different statements of which the second depends on the first."""
    return {(p.source, p.sink) for p in pieces if p.source != p.sink}


def _piece(source: str, sink: str, dims: int, rows: list[list[int]]) -> Piece:
    numbers = np.array(rows, np.int64)
    return Piece(source, sink, numbers[:, 0], numbers[:, 1:1 + dims], numbers[:, 1 + dims:])


def _listed(dependences: Any, boxes: Mapping[str, Any]) -> Iterator[tuple[str, str, int, list[list[int]]]]:
    """Yield (source, sink, iterators of the source, rows of a Piece) for every convex part."""
    kinds = isl.dim_type
    for relation in maps(dependences):
        ends = (relation.get_tuple_name(kinds.in_), relation.get_tuple_name(kinds.out))
        for part in relation.get_basic_maps():
            whole = part.remove_divs()
            yield ends[0], ends[1], relation.dim(kinds.in_), _rows(whole, boxes[ends[0]], boxes[ends[1]])


def _rows(pairs: Any, first: Any, second: Any) -> list[list[int]]:
    """Return points and directions of the isl BasicMap `pairs`, whose ends lie in the boxes `first` and `second`."""
    unbounded = isl.Map.from_basic_map(pairs).gist_domain(first).gist_range(second)
    distances = _distances(unbounded)
    if distances is not None:  # far fewer points than those of the box
        return [row for part in distances.get_basic_sets() for row in _spread(_generators(part))]
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(MOST_OPERATIONS)
    context.reset_operations()
    try:
        rows = _generators(pairs.wrap().flatten())
        if all(abs(v) <= LARGEST for row in rows for v in row):
            return rows
    except isl.Error:
        pass  # too many vertices: there are few without loop bounds
    finally:
        context.set_max_operations(0)
        context.reset_operations()
    return [row for part in unbounded.get_basic_maps() for row in _generators(part.wrap().flatten())]


def _distances(pairs: Any) -> Any:
    """Return the bounded isl Set of y - x over all pairs x -> y, if `pairs` are all pairs with these distances; else
    None.
    """
    kinds = isl.dim_type
    if pairs.dim(kinds.in_) != pairs.dim(kinds.out) or not pairs.dim(kinds.in_):
        return None
    bare = pairs.reset_tuple_id(kinds.in_).reset_tuple_id(kinds.out)
    distances = bare.deltas()
    if distances.is_bounded() and distances.translation().is_equal(bare):
        return distances.remove_divs()
    return None


def _generators(points: Any) -> list[list[int]]:
    """Return (scale, coordinates...) of the vertices, rays and lines of an isl BasicSet."""
    kinds = isl.dim_type
    cone = points.coefficients()
    order = (kinds.set, kinds.div, kinds.param, kinds.cst)
    count = cone.dim(kinds.set)
    rows = _matrix(cone.inequalities_matrix(*order), count)
    for line in _matrix(cone.equalities_matrix(*order), count):
        rows += [line, [-v for v in line]]
    return rows


def _spread(rows: list[list[int]]) -> list[list[int]]:
    """Return generators of distances as generators of pairs: x is arbitrary, y is x + distance."""
    count = len(rows[0]) - 1
    lines = [[0, *(int(k == d) for k in range(count)), *(int(k == d) for k in range(count))] for d in range(count)]
    pairs = [[row[0], *(0,) * count, *row[1:]] for row in rows]
    return pairs + [[sign * v for v in line] for line in lines for sign in (1, -1)]


def _matrix(matrix: Any, columns: int) -> list[list[int]]:
    """Return the first columns of an isl Mat; the others belong to constants, which a cone does not have."""
    return [[int(matrix.get_element_val(r, k).to_python()) for k in range(columns)] for r in range(matrix.rows())]
