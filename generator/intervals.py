"""The least and the greatest value of an expression, from the ranges of its operands.

Used to prove that subscripts that depend on data stay inside their arrays. Values are those of C: an integer that
overflows may have any value of its type; a real number may be rounded, infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from generator.arithmetic import FLOATING, c_type, integer_limits
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Real, Select, Unary

Interval: TypeAlias = tuple[Any, Any]
"""The least and the greatest value: int for integers, float for real numbers, without NaN."""

_SMALLER, _LARGER = {"<": 1, "<=": 0}, {">": 1, ">=": 0}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SIGNED = frozenset(["char", "short", "int", "long"])
_ROUNDING = 2.0**-20
"""An upper bound of the relative error of one operation in single precision."""


class Intervals:
    """Ranges of expressions. `data`, `types`: the ranges and types of arrays' elements."""

    def __init__(self, data: Mapping[str, Interval], types: Mapping[str, str]) -> None:
        self.data, self.types = data, types

    def integer(self, expr: Expr, names: Mapping[str, Interval]) -> Interval:
        """Return the range of an integer expression. `names`: the ranges of variables. A real one has an unlimited
        range.
        """
        found, kind = self._typed(expr, names), c_type(expr, self.types)
        if kind in FLOATING or found is None:
            return integer_limits("unsigned long" if kind in FLOATING else kind)
        return found

    def real(self, expr: Expr, names: Mapping[str, Interval]) -> Interval | None:
        """Return the range of a real expression; None if it may be anything, including NaN."""
        return self._typed(expr, names)

    def _typed(self, expr: Expr, names: Mapping[str, Interval]) -> Interval | None:
        """Return the range of an expression of any type; None for a real number that may be anything, including NaN."""
        kind, found = c_type(expr, self.types), self._untyped(expr, names)
        if kind not in FLOATING:
            limits = integer_limits(kind)
            return found if found is not None and limits[0] <= found[0] and found[1] <= limits[1] else limits
        if found is None or isinstance(expr, Real | Name | Load | Call | Select):
            return found
        low, high = float(found[0]), float(found[1])
        rounded = low - abs(low) * _ROUNDING, high + abs(high) * _ROUNDING
        return rounded if math.isfinite(rounded[0]) and math.isfinite(rounded[1]) else None

    def _untyped(self, expr: Expr, names: Mapping[str, Interval]) -> Interval | None:
        """Return the range of `expr` before the limits of its type; None if unknown."""
        match expr:
            case Int(value):
                return value, value
            case Real(text):
                number = float.fromhex(text) if "x" in text.lower() else float(text.rstrip("fF"))
                return (number, number) if math.isfinite(number) else None
            case Name(name):
                return names.get(name)
            case Load(array):
                return self.data.get(array)
            case Unary("-", operand):
                found = self._typed(operand, names)
                return None if found is None else (-found[1], -found[0])
            case Unary("!", _) | Binary("<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||", _, _):
                return 0, 1
            case Unary("+", operand):
                return self._typed(operand, names)
            case Cast(kind, operand):
                found = self._typed(operand, names)
                if kind in FLOATING:
                    return found
                return (int(found[0]), int(found[1])) if found is not None and all(map(math.isfinite, found)) else None
            case Binary(op, left, right):
                return operated(op, self._typed(left, names), self._typed(right, names),
                                c_type(expr, self.types) in FLOATING)
            case Call("fmin" | "fminf" | "fmax" | "fmaxf" as function, (left, right)):
                return _extremum(function, self._typed(left, names), self._typed(right, names))
            case Select(test, then, otherwise):
                one = self._typed(then, self.narrowed(test, True, names))
                two = self._typed(otherwise, self.narrowed(test, False, names))
                return None if one is None or two is None else (min(one[0], two[0]), max(one[1], two[1]))
            case _:
                return None

    def narrowed(self, test: Expr, holds: bool, names: Mapping[str, Interval]) -> Mapping[str, Interval]:
        """Return the ranges of `names` where the condition `test` holds (`holds` True) or does not hold."""
        match test:
            case Binary("&&" | "||" as op, left, right) if (op == "&&") == holds:
                return self.narrowed(right, holds, self.narrowed(left, holds, names))
            case Unary("!", operand):
                return self.narrowed(operand, not holds, names)
            case Binary("<" | "<=" | ">" | ">=" as op, left, right) if (
                    {c_type(left, self.types), c_type(right, self.types)} <= _SIGNED):
                relation = op if holds else _NEGATED[op]
                if isinstance(left, Name):
                    names = _bounded(left, relation, self.integer(right, names), names)
                if isinstance(right, Name):
                    names = _bounded(right, _MIRRORED[relation], self.integer(left, names), names)
                return names
            case _:
                return names


def operated(op: str, left: Interval | None, right: Interval | None, real: bool = False) -> Interval | None:
    """Return the range of `left op right`, `real` numbers or integers that do not overflow; None if unknown."""
    if left is None or right is None:
        return None
    match op:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*":
            ends = [a * b for a in left for b in right]
            return min(ends), max(ends)
        case "/" if right[0] > 0:
            ends = [a / b if real else _quotient(a, b) for a in left for b in right]
            return min(ends), max(ends)
        case "%" if right[0] > 0:
            most = right[1] - 1
            return (max(left[0], -most) if left[0] < 0 else 0), (min(left[1], most) if left[1] > 0 else 0)
        case "min":
            return min(left[0], right[0]), min(left[1], right[1])
        case "max":
            return max(left[0], right[0]), max(left[1], right[1])
        case "&" if left[0] >= 0 or right[0] >= 0:
            return 0, min(part[1] for part in (left, right) if part[0] >= 0)
        case ">>" if left[0] >= 0 and right[0] >= 0 and right[1] < 64:
            return left[0] >> right[1], left[1] >> right[0]
        case _:
            return None


def _quotient(dividend: int, divisor: int) -> int:
    """Return the quotient of C's division by a positive number."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


def _extremum(function: str, left: Interval | None, right: Interval | None) -> Interval | None:
    """Return the range of C's fmin or fmax, which return the number if the other argument is NaN."""
    if left is None and right is None:
        return None
    anything = -math.inf, math.inf
    least = function.startswith("fmin")
    one, two = left or anything, right or anything
    low, high = (min(one[0], two[0]), min(one[1], two[1])) if least else (max(one[0], two[0]), max(one[1], two[1]))
    for missing, other in ((left, two), (right, one)):
        if missing is None:  # it may be NaN: then the result is the other argument
            low, high = min(low, other[0]), max(high, other[1])
    return low, high


def _bounded(name: Name, op: str, other: Interval, names: Mapping[str, Interval]) -> Mapping[str, Interval]:
    """Return `names`, restricted to where `name op other` holds."""
    low, high = names.get(name.name, integer_limits(name.type))
    if op in _SMALLER:
        high = min(high, other[1] - _SMALLER[op])
    else:
        low = max(low, other[0] + _LARGER[op])
    return {**names, name.name: (low, high)}
