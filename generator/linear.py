"""Integer expressions in a normal form: sums of products, so that `32*b + t - 32*b` is `t`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from generator.expr import Binary, Expr, Int, Name, Select, Unary, children, map_children

# Factors: a name or a non-linear expression (None: the constant term).
Terms: TypeAlias = dict[Expr | None, int]


@lru_cache(maxsize=16384)
def simplify(expr: Expr) -> Expr:
    """Return `expr` with its linear parts in normal form.

        `(i + 1) - i` -> `1`; `2 * (i + j)` -> `2 * i + 2 * j`; `n < 3 + i + 1` -> `n < i + 4`.
    """
    match expr:
        case Binary("+" | "-" | "*", _, _) | Unary("-" | "+", _):
            return _from_terms(_terms(expr))
        case _:
            return map_children(expr, simplify)


@lru_cache(maxsize=16384)
def is_plain(expr: Expr) -> bool:
    """Return whether `expr` is arithmetic of `int` only, whose terms may be reordered."""
    return isinstance(expr, Int | Name | Unary | Binary | Select) and all(is_plain(child) for child in children(expr))


@lru_cache(maxsize=16384)
def plain_form(expr: Expr) -> Expr | None:
    """Return `simplify(expr)` if `expr` is arithmetic of `int` only; else None."""
    return simplify(expr) if is_plain(expr) else None


def is_sum(expr: Expr) -> bool:
    """Return whether `expr` is a sum of products of names and numbers."""
    match expr:
        case Int() | Name():
            return True
        case Binary("+" | "-" | "*", left, right):
            return is_sum(left) and is_sum(right)
        case _:
            return False


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return `expr` with names replaced by expressions."""
    if isinstance(expr, Name):
        return values.get(expr.name, expr)
    return map_children(expr, lambda child: substitute(child, values))


Residues: TypeAlias = Mapping[str, tuple[int, int]]
"""Names with a known remainder: (remainder, divisor)."""


def residue(expr: Expr, modulus: int, known: Residues) -> int | None:
    """Return the remainder of `expr` divided by `modulus`; None if it is not constant.

    >>> residue(Binary("+", Binary("*", Int(2), Name("k")), Int(5)), 4, {"k": (1, 2)})
    3
    """
    total = 0
    for atom, coefficient in _terms(expr).items():
        if atom is None:
            total += coefficient
            continue
        rest, steps = known.get(atom.name, (0, 1)) if isinstance(atom, Name) else (0, 1)
        if coefficient * steps % modulus:
            return None
        total += coefficient * rest
    return total % modulus


def combination(terms: Mapping[Expr, int], constant: int) -> Expr:
    """Return the expression `sum(coefficient * term) + constant`, simplified."""
    return _from_terms(_scaled_sum([(_terms(t), c) for t, c in terms.items()], constant))


def _scaled_sum(parts: list[tuple[Terms, int]], constant: int) -> Terms:
    total: Terms = {None: constant}
    for terms, factor in parts:
        for atom, coefficient in terms.items():
            total[atom] = total.get(atom, 0) + factor * coefficient
    return total


def terms(expr: Expr) -> Terms:
    """Return the terms of a sum with their factors; that of None is the constant.

    >>> terms(Binary("-", Binary("*", Int(2), Name("k")), Int(5))) == {None: -5, Name("k"): 2}
    True
    """
    return dict(_terms(expr))


def _terms(expr: Expr) -> Terms:
    match expr:
        case Int(value):
            return {None: value}
        case Unary("-", operand):
            return _scaled_sum([(_terms(operand), -1)], 0)
        case Unary("+", operand):
            return _terms(operand)
        case Binary("+", left, right):
            return _scaled_sum([(_terms(left), 1), (_terms(right), 1)], 0)
        case Binary("-", left, right):
            return _scaled_sum([(_terms(left), 1), (_terms(right), -1)], 0)
        case Binary("*", left, right):
            return _product(_terms(left), _terms(right))
        case _:
            return {simplify(expr): 1}


def _product(left: Terms, right: Terms) -> Terms:
    if set(right) <= {None}:
        return _scaled_sum([(left, right.get(None, 0))], 0)
    if set(left) <= {None}:
        return _scaled_sum([(right, left.get(None, 0))], 0)
    return {Binary("*", _from_terms(left), _from_terms(right)): 1}


def _from_terms(terms: Terms) -> Expr:
    result: Expr | None = None
    negative: list[tuple[Expr, int]] = []
    for atom, coefficient in terms.items():
        if atom is None or coefficient == 0:
            continue
        if coefficient < 0:
            negative.append((atom, -coefficient))
            continue
        scaled = atom if coefficient == 1 else Binary("*", Int(coefficient), atom)
        result = scaled if result is None else Binary("+", result, scaled)
    constant = terms.get(None, 0)
    if result is None and (constant > 0 or not negative):
        result, constant = Int(constant), 0
    for atom, coefficient in negative:
        scaled = atom if coefficient == 1 else Binary("*", Int(coefficient), atom)
        result = Unary("-", scaled) if result is None else Binary("-", result, scaled)
    assert result is not None
    if constant:
        return Binary("+" if constant > 0 else "-", result, Int(abs(constant)))
    return result
