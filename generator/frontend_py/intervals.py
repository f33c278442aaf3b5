"""Intervals of the possible values of an expression, for data-dependent coordinates and for arithmetic that may wrap.

    cast(Int(32), clamp(v, 0.0, 1.0) * 10 + 0.5)  ->  [0, 10]      image of uint8  ->  [0, 255]

Bounds of floating-point numbers are widened by a step after each operation, so that they hold for rounded values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from generator.frontend_py.nodes import Call, Const, Edge, Expr, Given, Op, Pixel, RVar, Var
from generator.frontend_py.sizes import Sizes
from generator.frontend_py.types import FLOAT16, Type

Interval: TypeAlias = tuple[float, float]  # integers as int; infinite if unknown
EVERYTHING: Interval = (-math.inf, math.inf)


class Intervals:
    """Intervals of expressions for given ranges of Vars (by key) and coordinates of RDoms (by `id` and dimension).

    `stored` returns those of Funcs' values, independent of the coordinates; by default they are those of the types.
    """

    def __init__(self, sizes: Sizes, ranges: Mapping[object, tuple[int, int]],
                 stored: Callable[[Call], Interval] | None = None) -> None:
        self.sizes, self.ranges, self.stored = sizes, ranges, stored
        self._found: dict[int, tuple[Expr, Interval]] = {}

    def of(self, expr: Expr) -> Interval:
        """Return the least and the greatest possible value of `expr`."""
        if id(expr) not in self._found:
            self._found[id(expr)] = (expr, self._limited(expr.type, self._computed(expr)))
        return self._found[id(expr)][1]

    def integer(self, expr: Expr) -> int | None:
        """Return the value of an integer expression with a single possible value; else None."""
        low, high = self.of(expr)
        return int(low) if low == high and not expr.type.is_float() else None

    def _computed(self, expr: Expr) -> Interval:
        match expr:
            case Const(_, value):
                return value, value
            case Var():
                return self.ranges.get(expr.key, EVERYTHING)
            case RVar(domain, dim):
                return self.ranges.get((id(domain), dim), EVERYTHING)
            case Edge(image, dim, what):
                value = self.sizes.edge(image, dim, what)
                return value, value
            case Given(param):
                value_ = param.number()
                return value_, value_
            case Call() if self.stored is not None:
                return self.stored(expr)
            case Call() | Pixel():
                return of_type(expr.type)
            case Op(name, kind, args):
                return _operator(name, kind, args[0].type, [self.of(a) for a in args])
            case _:
                return EVERYTHING

    def _limited(self, kind: Type, found: Interval) -> Interval:
        """Return `found`, or all values of a type that wraps around outside of it."""
        low, high = found
        if math.isnan(low) or math.isnan(high):
            return of_type(kind)
        if kind.is_float():
            return found
        if low >= kind.least and high <= kind.greatest:
            return found
        return found if kind.is_int() and kind.bits >= 32 else of_type(kind)


def of_type(kind: Type) -> Interval:
    """Return all values of a type; those of wide types have no limits but 0."""
    if kind.is_float() or kind.bits >= 32:
        return (0, math.inf) if kind.is_uint() else EVERYTHING
    return kind.least, kind.greatest


def as_stored(kind: Type, found: Interval) -> Interval:
    """Return the values of an expression of that type once they are stored: those of float16 are rounded."""
    return _real(found, kind) if kind == FLOAT16 else found


def _operator(name: str, kind: Type, given: Type, args: list[Interval]) -> Interval:
    match name:
        case "+" | "-" | "*" | "/" | "abs" | "absd" | "pow" | "sqrt" | "exp" | "neg":
            found = _arithmetic(name, kind, args)
            return _widened(found, kind) if kind.is_float() else found
        case "%":
            return _remainder(*args)
        case "min" | "max":
            choose = min if name == "min" else max
            return choose(args[0][0], args[1][0]), choose(args[0][1], args[1][1])
        case "select":
            return min(args[1][0], args[2][0]), max(args[1][1], args[2][1])
        case "cast":
            return _cast(kind, given, args[0])
        case "floor" | "ceil" | "round" | "trunc":
            return (_rounded(name, args[0][0]), _rounded(name, args[0][1]))
        case "popcount" | "clz":
            return 0, given.bits
        case "sin" | "cos" | "tanh" | "erf":
            return -1.0, 1.0
        case "&" if not kind.is_bool() and min(args[0][0], args[1][0]) >= 0:
            return 0, min(args[0][1], args[1][1])
        case "&" if not kind.is_bool() and max(args[0][0], args[1][0]) >= 0:  # one has no sign bit
            return 0, max(high for low, high in args if low >= 0)
        case ">>" if args[1][0] == args[1][1]:
            return _scaled(args[0], 2.0 ** -args[1][0])
        case "<<" if args[1][0] == args[1][1]:
            return _scaled(args[0], 2.0 ** args[1][0])
        case _:
            return of_type(kind)


def _arithmetic(name: str, kind: Type, args: list[Interval]) -> Interval:
    a, b = args[0], args[-1]
    match name:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "neg":
            return -a[1], -a[0]
        case "*":
            return _corners([_times(x, y) for x in a for y in b])
        case "/":
            return _quotient(kind, a, b)
        case "abs":
            return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))
        case "absd":
            return 0, max(abs(a[1] - b[0]), abs(b[1] - a[0]))
        case "sqrt":
            return math.sqrt(max(a[0], 0.0)), math.sqrt(max(a[1], 0.0))
        case "exp":
            return tuple(math.exp(min(max(x, -1e3), 709.0)) if x < 709 else math.inf for x in a)  # type: ignore[return-value]  # as many values as were given
        case _:
            return (0.0, math.inf) if a[0] >= 0 else EVERYTHING


def _times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def _corners(values: list[float]) -> Interval:
    return min(values), max(values)


def _quotient(kind: Type, a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1]:
        if kind.is_float():
            return EVERYTHING
        most = max(abs(a[0]), abs(a[1]))
        return (0 if kind.is_uint() else -most), most
    if kind.is_float():
        return _corners([x / y if math.isfinite(y) else 0.0 for x in a for y in b])
    return _corners([_divided(x, y) for x in a for y in b])


def _divided(x: float, y: float) -> float:
    """Return an integer division of bounds, with a remainder that is not negative."""
    if not math.isfinite(y):
        return 0 if x >= 0 else (-1 if y > 0 else 1)
    if not math.isfinite(x):
        return x if y > 0 else -x
    return int(x) // int(y) if y > 0 else -(int(x) // int(-y))


def _remainder(a: Interval, b: Interval) -> Interval:
    most = max(abs(b[0]), abs(b[1])) - 1
    if a[0] >= 0 and b[0] > a[1]:
        return a
    return 0, max(min(most, a[1]) if a[0] >= 0 else most, 0)


def _scaled(a: Interval, factor: float) -> Interval:
    return tuple(math.floor(x * factor) if math.isfinite(x) else x for x in a)  # type: ignore[return-value]  # as many values as were given


def _rounded(name: str, value: float) -> float:
    if not math.isfinite(value):
        return value
    match name:
        case "floor":
            return float(math.floor(value))
        case "ceil":
            return float(math.ceil(value))
        case "round":
            return float(round(value))
        case _:
            return float(math.trunc(value))


def _cast(kind: Type, given: Type, a: Interval) -> Interval:
    if kind.is_bool():
        return 0, 1
    if kind.is_float():
        return _real(a, kind)
    if not given.is_float():
        return _whole(kind, given, a)
    low, high = (math.trunc(x) if math.isfinite(x) else x for x in a)
    # values that do not exist in the type have no meaning, so values outside need not be considered
    return (max(low, kind.least), min(high, kind.greatest)) if kind.bits < 32 else (low, high)


def _whole(kind: Type, given: Type, a: Interval) -> Interval:
    """Return the bounds of an integer as another type: a large `uint32` is a negative `int32`."""
    if kind.is_int() == given.is_int() and kind.bits >= given.bits:
        return a
    low, high = max(a[0], given.least), min(a[1], given.greatest)
    around = (low - kind.least) // 2**kind.bits * 2**kind.bits
    return (low - around, high - around) if high - around <= kind.greatest else of_type(kind)


def _real(a: Interval, kind: Type) -> Interval:
    """Return the bounds as floating-point numbers: rounding is monotonic."""
    if kind.bits == 64:
        return float(a[0]), float(a[1])
    rounded = np.float16 if kind.bits == 16 else np.float32
    with np.errstate(over="ignore"):
        return float(rounded(a[0])), float(rounded(a[1]))


def _widened(found: Interval, kind: Type) -> Interval:
    low, high = found
    if kind.bits == 64:
        return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    with np.errstate(over="ignore"):
        return (float(np.nextafter(np.float32(low), np.float32(-np.inf))),
                float(np.nextafter(np.float32(high), np.float32(np.inf))))
