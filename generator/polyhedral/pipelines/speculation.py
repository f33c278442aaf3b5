"""Speculation safety: conditional reads that may also be executed if their condition is false.

    out[i] = i > 0 ? t[i - 1] : 0;          unsafe: t[i - 1] does not exist for i = 0
    out[i] = n > 0 ? t[i % n] : 0;          unsafe: i % n is undefined for n = 0
    out[i] = c[i] ? t[min(u[i], 9)] : 0;    safe if u is unsigned

A thread computes the stages that it reads before it tests the conditions around the reads, so these reads must be safe,
and blocks must have computed their elements. A condition on loop iterators alone makes a read unsafe: the model then
restricts the read to some iterations, and blocks compute only the elements of these.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from generator.arithmetic import FLOATING, c_type, integer_limits
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary, children
from generator.polyhedral.kit.affine import Iteration, NotAffine
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.regions import value_range
from generator.program import Program, Statement

Range: TypeAlias = tuple[float, float]
"""The least and the greatest value."""

_ANY: Range = (-math.inf, math.inf)
_EXACT = 2**24  # integers up to this are exact as `float`
_TRUTH = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


def unsafe_to_speculate(program: Program, statement: Statement, arrays: Collection[str]) -> frozenset[str]:
    """Return the subset of `arrays` that `statement` reads under a condition, and that may be unsafe without it."""
    body = statement.body
    reads = [*_conditional(body.guard, False)] if body.guard else []
    for expr in (*body.computed, *body.target.index):
        reads += _conditional(expr, body.guard is not None)
    reads = [load for load in reads if load.array in arrays]
    if not reads:
        return frozenset()
    types = {array.name: array.type for array in program.arrays}
    lets = {name.name: value for name, value in body.lets}
    values = _Values(program, types, Iteration(statement.iterators, set_of(statement.domain)), lets)
    return frozenset(load.array for load in reads if not (values.exists(load) and _is_everywhere(statement, load)))


def _is_everywhere(statement: Statement, load: Load) -> bool:
    """Return whether the model has this read at all iterations: blocks compute for it what the model contains."""
    return bool(map_of(statement.accesses[load.access].relation).domain().is_equal(set_of(statement.domain)))


def _conditional(expr: Expr, under: bool) -> Iterator[Load]:
    """Yield the conditional loads in `expr`; with `under`, all loads."""
    match expr:
        case Select(condition, then, otherwise):
            yield from _conditional(condition, under)
            yield from _conditional(then, True)
            yield from _conditional(otherwise, True)
        case Binary("&&" | "||", left, right):
            yield from _conditional(left, under)
            yield from _conditional(right, True)
        case Fold():
            for k, part in enumerate(children(expr)):
                yield from _conditional(part, under or k > len(expr.changes))
        case _:
            if under and isinstance(expr, Load):
                yield expr
            for child in children(expr):
                yield from _conditional(child, under)


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Values of expressions at all iterations of `at`, whatever the conditions. `types`: those of arrays; `lets`:
    values of variables.
    """

    program: Program
    types: Mapping[str, str]
    at: Iteration
    lets: Mapping[str, Expr]
    _known: dict[str, Range | None] = field(default_factory=dict)

    def exists(self, load: Load) -> bool:
        """Return whether its subscripts have values, and these are inside the array."""
        found = [self.range(index) for index in load.index]
        extents = self.program.array(load.array).extents
        return all(r is not None and r[0] >= 0 and r[1] < n for r, n in zip(found, extents, strict=True))

    def range(self, expr: Expr) -> Range | None:
        """Return the range of its values; None if it may have no value."""
        if isinstance(expr, Name) and expr.name in self.lets:
            if expr.name not in self._known:
                self._known[expr.name] = self.range(self.lets[expr.name])
            return self._known[expr.name]
        try:
            exact = value_range(expr, self.at)
        except NotAffine:
            exact = None
        return exact if exact is not None else self._range(expr)

    def _range(self, expr: Expr) -> Range | None:
        parts = [self.range(child) for child in children(expr)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or (isinstance(expr, Load) and not self.exists(expr)):
            return None
        kind = c_type(expr, self.types)
        match expr:
            case Int(value):
                return value, value
            case Real(text):
                number = math.inf if "INF" in text else float(text.rstrip("fF"))
                return (math.floor(number), math.ceil(number)) if abs(number) <= _EXACT else _ANY
            case Cast() if kind in FLOATING:
                return known[0] if max(map(abs, known[0])) <= _EXACT else _ANY
            case Cast():
                return _fitting(kind, (_truncated(known[0][0]), _truncated(known[0][1])))
            case Select():
                return min(known[1][0], known[2][0]), max(known[1][1], known[2][1])
            case Call("fmin" | "fminf" | "fmax" | "fmaxf" as function):
                return _operated(function[1:4], *known)
            case Binary(op):
                return _converted(kind, op, known)
            case Name() | Unary() | Call() | Load() | Fold():
                return _all_of(kind)
            case _:
                assert_never(expr)


def _converted(kind: str, op: str, known: list[Range]) -> Range | None:
    """Return `left op right`, both converted to `kind`, the type of the result; None if it may have no value."""
    if op in _TRUTH:
        return 0, 1
    if op in ("/", "%") and kind not in FLOATING and known[1][0] <= 0 <= known[1][1]:
        return None
    if kind in FLOATING:
        return _operated(op, *known) if op in ("min", "max") else _ANY
    found = _operated(op, *(_fitting(kind, part) for part in known))
    return _all_of(kind) if found is None else _fitting(kind, found)


def _operated(op: str, a: Range, b: Range) -> Range | None:
    """Return the range for unlimited numbers; None if unknown."""
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*" if math.isfinite(sum(map(abs, (*a, *b)))):
            products = [p * q for p in a for q in b]
            return min(products), max(products)
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "%" if a[0] >= 0 and b[0] > 0:
            return 0, b[1] - 1
        case "/" if a[0] >= 0 and b[0] >= 1:
            return 0, a[1] // b[0] if math.isfinite(a[1]) else a[1]
        case "&" if max(a[0], b[0]) >= 0:  # one has no sign bit
            return 0, min(high for low, high in (a, b) if low >= 0)
        case _:
            return None


def _fitting(kind: str, found: Range) -> Range:
    """Return `found`, or the whole range of an integer type that does not contain it."""
    low, high = _all_of(kind)
    return found if low <= found[0] and found[1] <= high else (low, high)


def _all_of(kind: str) -> Range:
    return _ANY if kind in FLOATING else integer_limits(kind)


def _truncated(value: float) -> float:
    return math.trunc(value) if math.isfinite(value) else value
