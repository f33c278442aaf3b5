"""Trip counts of loops: expressions over many threads at once, and samples of loops too long to simulate.

A sum over the iterations of a loop is estimated from a few of them. The last one represents only itself, because it may
be a partial tile (with five samples or more also the first two, where peeled statements are). The others are divided
into equal parts, each represented by the two points of Gauss and Legendre's rule, which is exact for polynomials up to
degree 3: trip counts of triangular and tetrahedral nests are almost exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, sqrt
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary

Ints: TypeAlias = NDArray[np.int64]
_TRUTHS: Mapping[str, np.ufunc] = MappingProxyType({
    "&&": np.logical_and, "||": np.logical_or, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal})
_NODES = (0.5 - sqrt(1 / 12), 0.5 + sqrt(1 / 12))


class DataDependentError(Exception):
    """The value of an expression depends on data, not only on indices."""


def samples(count: int, most: int) -> tuple[tuple[int, float], ...]:
    """Return (iteration, weight) of at most `most` (3 or more) representatives of the iterations 0 .. count - 1.

    The weights add up to `count`.
    """
    if count <= most:
        return tuple((k, 1.0) for k in range(count))
    first = 2 if most >= 5 else 0
    parts = (most - 1 - first) // 2
    size = (count - 1 - first) / parts
    chosen = [(k, 1.0) for k in range(first)]
    chosen += [(first + floor((part + at) * size), size / 2) for part in range(parts) for at in _NODES]
    return (*chosen, (count - 1, 1.0))


def values(expr: Expr, names: Mapping[str, Ints]) -> Ints:
    """Return the values of an integer expression; arrays of names are combined element by element.

    Raises:
        DataDependentError: it loads an element, or is not an integer expression.
        KeyError: a name has no value.
    """
    match expr:
        case Int(value):
            return np.asarray(value, dtype=np.int64)
        case Name(name):
            return names[name]
        case Unary(op, operand):
            return _unary(op, values(operand, names))
        case Binary(op, left, right):
            return _binary(op, values(left, names), values(right, names))
        case Select(condition, then, otherwise):
            return np.where(values(condition, names) != 0, values(then, names), values(otherwise, names))
        case Cast(kind, operand) if kind not in ("float", "double"):
            return values(operand, names)
        case Cast() | Real() | Load() | Call() | Fold():
            raise DataDependentError(f"not known before the kernel runs: {expr}")


def _unary(op: str, value: Ints) -> Ints:
    match op:
        case "-":
            return -value
        case "!":
            return np.asarray(value == 0, dtype=np.int64)
        case "~":
            return ~value
        case _:
            return value


def _binary(op: str, left: Ints, right: Ints) -> Ints:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%":
            quotient = np.abs(left) // np.abs(right) * np.where((left < 0) == (right < 0), 1, -1)
            return quotient if op == "/" else left - right * quotient
        case "&":
            return left & right
        case "^":
            return left ^ right
        case "min":
            return np.minimum(left, right)
        case "max":
            return np.maximum(left, right)
        case _ if op in _TRUTHS:
            return np.asarray(_TRUTHS[op](left, right), dtype=np.int64)
        case _:
            raise DataDependentError(f"no operator of subscripts and bounds: {op}")


def trips(iterator: str, start: Ints, condition: Expr, step: int, names: Mapping[str, Ints]) -> Ints:
    """Return the trip count of `for (iterator = start; condition; iterator += step)`.

    Raises:
        AssertionError: the condition does not compare the iterator (left) with a bound; all generated loops do.
    """
    match condition:
        case Binary("&&", left, right):
            return np.minimum(trips(iterator, start, left, step, names), trips(iterator, start, right, step, names))
        case Binary("<" | "<=" as op, Name(name), bound) if name == iterator and step > 0:
            span = values(bound, names) - start + (op == "<=")
        case Binary(">" | ">=" as op, Name(name), bound) if name == iterator and step < 0:
            span = start - values(bound, names) + (op == ">=")
        case _:
            raise AssertionError(f"the loop over {iterator} has the condition {condition}")
    return np.asarray(np.maximum(-(-span // abs(step)), 0), dtype=np.int64)
