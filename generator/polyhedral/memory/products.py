"""Terms of a sum as products of a left and a right factor: of rows, and of columns.

    A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k]  ->  alpha * (B[i][k] x A[j][k]  +  A[i][k] x B[j][k])
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import reduce

from generator.expr import Binary, Expr, Load, Unary, map_children, names_of


@dataclass(frozen=True, slots=True)
class Product:
    """A `left` factor without column indices, and a `right` one without row indices."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Term:
    """One of the products that an update adds: its factors, and whether it is subtracted."""

    factors: tuple[Expr, ...]
    negative: bool


@dataclass(frozen=True, slots=True)
class _Sides:
    """The factors of a term: those of rows, of columns, and those that are equal for all terms of a sum."""

    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    others: tuple[Expr, ...]


def terms_of(expr: Expr, negative: bool = False) -> tuple[Term, ...]:
    """Return the terms of `expr`, subtracted if it is `negative`: a single one if it is not a sum."""
    match expr:
        case Binary("+" | "-" as operator, left, right):
            return *terms_of(left, negative), *terms_of(right, negative != (operator == "-"))
        case Unary("-", operand):
            return terms_of(operand, not negative)
        case _:
            factors, turned = _factors(expr)
            return (Term(factors, negative != turned),)


def _factors(expr: Expr) -> tuple[tuple[Expr, ...], bool]:
    """Return the factors of a product, and whether it has a sign."""
    match expr:
        case Binary("*", left, right):
            (first, one), (second, other) = _factors(left), _factors(right)
            return (*first, *second), one != other
        case Unary("-", operand):
            inside, negative = _factors(operand)
            return inside, not negative
        case _:
            return (expr,), False


def products_of(
    terms: Sequence[Term], deep: AbstractSet[str], row: str, column: str
) -> tuple[tuple[Product, ...], tuple[Expr, ...]] | None:
    """Return the products, and the factors common to all terms of all of them; None if a term cannot be split like
    this.

    `deep`: the iterators that are summed over. If the sign of a product differs from that of the first one, its left
    factor has the sign.
    """
    sides = list[_Sides]()
    for term in terms:
        found = _sides(term.factors, deep, row, column)
        if found is None:
            return None
        sides.append(found)
    common = sides[0].others
    if any(_alike(one.others) != _alike(common) for one in sides):
        common = ()
        placed = [_with_others(one, row, column) for one in sides]
        if None in placed:
            return None
        sides = [one for one in placed if one is not None]
    products = []
    for term, one in zip(terms, sides, strict=True):
        left = _times(one.left)
        products.append(Product(Unary("-", left) if term.negative != terms[0].negative else left, _times(one.right)))
    return tuple(products), common


def _sides(factors: Sequence[Expr], deep: AbstractSet[str], row: str, column: str) -> _Sides | None:
    left, right, others = list[Expr](), list[Expr](), list[Expr]()
    for factor in factors:
        names = names_of(factor)
        if not names & deep:
            others.append(factor)
        elif column not in names:
            left.append(factor)
        elif row not in names:
            right.append(factor)
        else:
            return None
    if not any(row in names_of(one) for one in left) or not right:
        return None
    return _Sides(tuple(left), tuple(right), tuple(others))


def _with_others(sides: _Sides, row: str, column: str) -> _Sides | None:
    """Return the same with all factors on one of the sides; None if one belongs to both."""
    left, right = list(sides.left), list(sides.right)
    for factor in sides.others:
        names = names_of(factor)
        if {row, column} <= names:
            return None
        (right if column in names else left).append(factor)
    return _Sides(tuple(left), tuple(right), ())


def _alike(factors: Sequence[Expr]) -> list[str]:
    """Return a key that is equal for factors with the same product."""
    return sorted(repr(_bare(factor)) for factor in factors)


def _bare(expr: Expr) -> Expr:
    """Return `expr` without the numbers of its accesses."""
    inside = map_children(expr, _bare)
    return replace(inside, access=-1) if isinstance(inside, Load) else inside


def _times(factors: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("*", a, b), factors)
