"""Delinearization: `a[i*n + j]` becomes `a[i][j]` if every access of the program stays within the rows.

Without it a matrix behind a pointer has one dimension: its footprint in a tile is a range that spans many rows. With
all sizes known, a choice of rows can be proven right instead of assumed: strides are taken from the coefficients of the
subscripts (Grosser, Ramanujam, Pouchet, Sadayappan, Pop: Optimistic delinearization of parametrically sized arrays, ICS
2015, section 4), and the range of each inner subscript over its exact domain must lie inside its dimension. The layout
does not change, so buffers, captured data and exported functions keep the flat array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import prod
from typing import Any, TypeAlias

import islpy as isl

from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.polyhedral.kit.members import ends_along
from generator.polyhedral.kit.parsed import map_of
from generator.program import Access, Statement

MOST_STRIDES = 3
"""Arrays of up to four dimensions."""
MOST_CANDIDATES = 8
LEAST_ROW = 2
_ANY_SIZE = 1 << 62  # more than the elements of any access

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Sum:
    """An affine subscript: the coefficient of each iterator, and the constant."""

    factors: tuple[int, ...]
    constant: int


@dataclass(frozen=True, slots=True)
class _Flat:
    """An access to an array of one dimension, with its iterations (an isl Set)."""

    subscript: _Sum
    domain: Any


def delinearized(
    statements: Sequence[Statement], extents: Mapping[str, int]
) -> tuple[tuple[Statement, ...], dict[str, Shape]]:
    """Return the statements with the dimensions of flat arrays, and the shapes of these arrays.

    `extents`: the numbers of elements of flat arrays. Arrays that stay flat have no shape. The product of a shape is
    the size of the array, or slightly more if its last row is incomplete.
    """
    shapes = {name: shape for name, size in extents.items() if (shape := _shape(statements, name, size)) is not None}
    if not shapes:
        return tuple(statements), {}
    return tuple(_reshaped(statement, shapes) for statement in statements), shapes


def left_flat(statements: Sequence[Statement], arrays: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return those of the flat `arrays` (with their sizes) that are nevertheless indexed like matrices.

    The values are the likely length of a row, and the position of a statement that does not stay within its rows.
    """
    found = {}
    for name in arrays:
        rows = [abs(factor) for statement in statements for access in statement.accesses if access.array == name
                and (one := _sum(map_of(access.relation))) is not None and sum(map(bool, one.factors)) > 1
                for factor in one.factors if abs(factor) > LEAST_ROW]
        if rows:
            found[name] = (min(rows), _outside(statements, name, min(rows)))
    return found


def rowless(statements: Sequence[Statement]) -> frozenset[str]:
    """Return the flat arrays that are indexed like matrices but stay within no rows, whatever their sizes."""
    flat = {access.array: _ANY_SIZE for statement in statements for access in statement.accesses
            if map_of(access.relation).dim(isl.dim_type.out) == 1}
    _, shapes = delinearized(statements, flat)
    return frozenset(left_flat(statements, {name: size for name, size in flat.items() if name not in shapes}))


def _outside(statements: Sequence[Statement], array: str, row: int) -> int:
    """Return the position of the first statement whose accesses to `array` do not stay within rows; 0 if there is none.
    """
    for position, statement in enumerate(statements):
        for access in statement.accesses:
            relation = map_of(access.relation)
            if access.array == array and not relation.is_empty():
                one = _sum(relation)
                if one is None or _divided(_Flat(one, relation.domain()), (row,)) is None:
                    return position
    return 0


def _shape(statements: Sequence[Statement], array: str, size: int) -> Shape | None:
    """Return the dimensions of `array`; None if it should stay flat."""
    flat = _accesses(statements, array)
    if not flat or any(
        _ends(one.subscript, one.domain)[1] >= size or _ends(one.subscript, one.domain)[0] < 0 for one in flat
    ):
        return None
    for strides in _candidates(flat):
        extents = [
            -(-size // strides[0]),
            *(outer // inner for outer, inner in zip(strides, (*strides[1:], 1), strict=True)),
        ]
        parts = [_divided(one, strides) for one in flat]
        if all(part is not None for part in parts) and _useful(parts):
            return tuple(extents)
    return None


def _accesses(statements: Sequence[Statement], array: str) -> list[_Flat] | None:
    """Return all accesses to `array`; None if one of them is not a sum of iterators."""
    found = []
    for statement in statements:
        for access in statement.accesses:
            if access.array != array:
                continue
            relation = map_of(access.relation)
            if relation.is_empty():
                continue
            subscript = _sum(relation)
            if subscript is None:
                return None
            found.append(_Flat(subscript, relation.domain()))
    return found


def _sum(relation: Any) -> _Sum | None:
    """Return the subscript of an access relation with one output dimension."""
    if relation.dim(isl.dim_type.out) != 1 or not relation.is_single_valued():
        return None
    values = isl.PwMultiAff.from_map(relation).get_pw_aff(0).gist(relation.domain()).coalesce()
    pieces: list[Any] = []
    values.foreach_piece(lambda _, aff: pieces.append(aff))
    if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
        return None
    factors = [pieces[0].get_coefficient_val(isl.dim_type.in_, d) for d in range(relation.dim(isl.dim_type.in_))]
    constant = pieces[0].get_constant_val()
    if not all(value.is_int() for value in (*factors, constant)):
        return None
    return _Sum(tuple(int(value.to_python()) for value in factors), int(constant.to_python()))


def _candidates(flat: Sequence[_Flat]) -> Iterator[tuple[int, ...]]:
    """Yield strides to try, greatest first, each a multiple of the next; more dimensions come before fewer."""
    seen = sorted(
        {abs(factor) for one in flat for factor in one.subscript.factors if abs(factor) >= LEAST_ROW}, reverse=True
    )
    for count in range(min(MOST_STRIDES, len(seen[:MOST_CANDIDATES])), 0, -1):
        for strides in combinations(seen[:MOST_CANDIDATES], count):
            if all(outer % inner == 0 and outer > inner for outer, inner in pairwise(strides)):
                yield strides


def _divided(flat: _Flat, strides: Sequence[int]) -> tuple[_Sum, ...] | None:
    """Return the subscripts of one access, outermost first; None if an inner one leaves its dimension."""
    rest, found, below = flat.subscript, [], 1
    for stride in reversed(strides):
        row = stride // below
        halves = [_nearest(factor, row) for factor in rest.factors]
        inner = _Sum(
            tuple(factor - row * half for factor, half in zip(rest.factors, halves, strict=True)), rest.constant
        )
        low, high = _ends(inner, flat.domain)
        whole = low // row
        if high - whole * row >= row:
            return None
        found.append(replace(inner, constant=inner.constant - whole * row))
        rest, below = _Sum(tuple(halves), whole), stride
    return (rest, *reversed(found))


def _nearest(factor: int, row: int) -> int:
    """Return the multiple of `row` that is nearest to `factor`; ties go towards 0."""
    return (2 * abs(factor) + row - 1) // (2 * row) * (1 if factor > 0 else -1)


def _useful(parts: Sequence[tuple[_Sum, ...] | None]) -> bool:
    """Return whether every dimension has a subscript that varies: `a[2*i]` and `a[2*i + 1]` have no rows."""
    known = [part for part in parts if part is not None]
    return all(any(any(part[dim].factors) for part in known) for dim in range(len(known[0])))


def _ends(subscript: _Sum, domain: Any) -> tuple[int, int]:
    """Return the least and the greatest value of a sum on a non-empty domain."""
    return ends_along(_map([subscript], domain).range(), 0)


def _map(subscripts: Sequence[_Sum], domain: Any) -> Any:
    """Return the isl Map from a domain to the values of `subscripts`."""
    count = domain.dim(isl.dim_type.set)
    names = [f"i{d}" for d in range(count)]
    values = [" + ".join([*(f"{factor}*{name}" for factor, name in zip(one.factors, names, strict=True) if factor),
                          str(one.constant)]) for one in subscripts]
    statement = domain.get_tuple_name() or ""
    return isl.Map(f"{{ {statement}[{', '.join(names)}] -> [{', '.join(values)}] }}").intersect_domain(domain)


def _reshaped(statement: Statement, shapes: Mapping[str, Shape]) -> Statement:
    """Return `statement` with as many subscripts as its arrays have dimensions now."""
    parts: dict[int, tuple[_Sum, ...]] = {}
    accesses = []
    for number, access in enumerate(statement.accesses):
        shape = shapes.get(access.array)
        relation = map_of(access.relation)
        if shape is None:
            accesses.append(access)
            continue
        if relation.is_empty():
            parts[number] = (_Sum((0,) * len(statement.iterators), 0),) * len(shape)
        else:
            strides = tuple(prod(shape[d + 1:]) for d in range(len(shape) - 1))
            subscript = _sum(relation)
            divided = None if subscript is None else _divided(_Flat(subscript, relation.domain()), strides)
            assert divided is not None, "the shape was chosen so that it fits"
            parts[number] = divided
        moved = _map(parts[number], relation.domain()).set_tuple_name(isl.dim_type.out, access.array)
        accesses.append(Access(access.array, str(_named_like(moved, relation)), access.kind))
    body = statement.body

    def load(expr: Expr) -> Expr:
        expr = map_children(expr, load)
        if isinstance(expr, Load) and expr.access in parts:
            return replace(expr, index=tuple(_written(one, statement.iterators) for one in parts[expr.access]))
        return expr

    target = load(body.target)
    assert isinstance(target, Load)
    return replace(statement, accesses=tuple(accesses), body=replace(
        body, target=target, value=load(body.value), guard=None if body.guard is None else load(body.guard),
        lets=tuple((name, load(value)) for name, value in body.lets)))


def _named_like(moved: Any, relation: Any) -> Any:
    """Return `moved` with the names of the input dimensions of `relation`, because people read the texts, too."""
    for dim in range(relation.dim(isl.dim_type.in_)):
        name = relation.get_dim_name(isl.dim_type.in_, dim)
        if name is not None:
            moved = moved.set_dim_name(isl.dim_type.in_, dim, name)
    return moved


def _written(subscript: _Sum, iterators: Sequence[str]) -> Expr:
    """Return a sum as an expression: `i + 2 * j - 1`."""
    found: Expr | None = None
    for factor, name in zip(subscript.factors, iterators, strict=True):
        if not factor:
            continue
        term: Expr = Name(name) if abs(factor) == 1 else Binary("*", Int(abs(factor)), Name(name))
        if found is None:
            found = term if factor > 0 else Binary("-", Int(0), term)
        else:
            found = Binary("+" if factor > 0 else "-", found, term)
    if found is None:
        return Int(subscript.constant) if subscript.constant >= 0 else Binary("-", Int(0), Int(-subscript.constant))
    if subscript.constant:
        found = Binary("+" if subscript.constant > 0 else "-", found, Int(abs(subscript.constant)))
    return found
