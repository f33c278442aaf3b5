"""Translate expressions of the language to C: the type rules are written out as casts.

    u8 + u8       (unsigned char)(a + b)                    x // 2 with x >= -3     (x + 4) / 2 - 2
    u16 * u16     (unsigned short)((unsigned int)a * b)

The result means the same in C, OpenCL C and CUDA C++, and to all later stages. If the intervals of the operands show
that nothing can wrap around or be negative, the casts and corrections are left out.

Values of float16 are computed as float, from the stored bits; a cast to float16 rounds.

The value of a result is in the range of its type; its C type is that of arithmetic with it: `int` for integers of up to
16 bits and truth values, else the type itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias, assert_never, cast

from generator.arithmetic import TO_FLOAT, TO_HALF, c_type
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Real, Select, Unary
from generator.frontend_py import nodes
from generator.frontend_py.intervals import Intervals
from generator.frontend_py.types import FLOAT16, FLOAT32, Type

Loads: TypeAlias = Callable[[nodes.Call | nodes.Pixel, tuple[Expr, ...]], Load]
"""Returns the load of an element, from its node and its coordinates."""

_PLAIN = frozenset(
    [
        "sqrt",
        "exp",
        "log",
        "pow",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "hypot",
        "floor",
        "ceil",
        "trunc",
    ]
)
_SMALL = 16
_GREATEST = 2.0**128 - 2.0**103  # from here on (half a step above the greatest float32), rounding gives infinity


def arithmetic_type(kind: Type) -> str:
    """Return the C type of computations with values of a type."""
    return "int" if not kind.is_float() and kind.bits <= _SMALL else kind.computed.element


class Values:
    """Translates the expressions of one definition.

    `names`: the iterators of its Vars (by key) and of the coordinates of its RDom (by `id` and dimension). `types`: the
    C types of all arrays, by name.
    """

    def __init__(
        self, intervals: Intervals, names: Mapping[object, str], loads: Loads, types: Mapping[str, str]
    ) -> None:
        self.intervals, self.names, self.loads, self.types = intervals, names, loads, types
        self._found: dict[int, tuple[nodes.Expr, Expr]] = {}

    def of(self, expr: nodes.Expr) -> Expr:
        """Return `expr` in C."""
        if id(expr) not in self._found:
            self._found[id(expr)] = (expr, self._translated(expr))
        return self._found[id(expr)][1]

    def _translated(self, expr: nodes.Expr) -> Expr:
        node = cast(nodes.Node, expr)
        match node:
            case nodes.Const(kind, value):
                return number(kind, value)
            case nodes.Var():
                return Name(self.names[node.key])
            case nodes.RVar(domain, dim):
                return Name(self.names[id(domain), dim])
            case nodes.Edge(image, dim, what):
                return _integer(self.intervals.sizes.edge(image, dim, what))
            case nodes.Given(param):
                return number(param.type, param.number())
            case nodes.Call() | nodes.Pixel():
                load = self.loads(node, tuple(self.of(a) for a in node.args))
                return Call(TO_FLOAT, (load,)) if node.type == FLOAT16 else load
            case nodes.Op("cast" | "reinterpret" as name, kind, args) if FLOAT16 in (kind, args[0].type):
                return self._half(name, kind, args[0])
            case nodes.Op(name, kind, args):
                return self._operator(name, kind.computed, args, node)
            case _:
                assert_never(node)

    def _operator(self, name: str, kind: Type, args: tuple[nodes.Expr, ...], node: nodes.Op) -> Expr:
        given = args[0].type.computed
        c = [self.of(a) for a in args]
        match name:
            case "+" | "-" | "*":
                return self._sum_or_product(name, kind, args, node)
            case "/" | "%":
                return Binary(name, c[0], c[1]) if kind.is_float() else self._divided(name, kind, args)
            case "<" | "<=" | ">" | ">=" | "==" | "!=":
                return Binary(name, c[0], c[1])
            case "&" | "|" | "^" if kind.is_bool():
                return Binary({"&": "&&", "|": "||", "^": "!="}[name], c[0], c[1])
            case "&" | "|" | "^":
                return Binary(name, c[0], c[1])
            case "!":
                return Unary("!", c[0])
            case "~":
                return _fitted(kind, Unary("~", c[0])) if kind.is_uint() else Unary("~", c[0])
            case "<<" | ">>":
                return self._shifted(name, kind, args, c)
            case "select":
                return Select(c[0], c[1], c[2])
            case "min" | "max" | "abs" | "absd" | "neg" | "fmod" | "round":
                return self._choice(name, kind, given, c)
            case "cast":
                return self._cast(kind, args[0], c[0])
            case "popcount" | "clz":
                return _counted(name, kind, c[0])
            case "reinterpret":
                word = ("float" if kind.bits == 32 else "double") if kind.is_float() else "uint" if kind.bits == 32 \
                    else "ulong"
                return Call(f"antune_as_{word}", (c[0],))
            case _ if name in _PLAIN:
                return Call(_function(name, kind), tuple(c))
            case _:
                raise AssertionError(f"unknown operation {name}")

    def _half(self, name: str, kind: Type, operand: nodes.Expr) -> Expr:
        """Return a conversion from or to float16."""
        value, given = self.of(operand), operand.type
        if name == "reinterpret":
            return Call(TO_FLOAT, (value,)) if kind == FLOAT16 else Call(TO_HALF, (value,))
        if kind == given:
            return value
        wide = self._cast(kind.computed, operand, value)
        return Call(TO_FLOAT, (Call(TO_HALF, (wide,)),)) if kind == FLOAT16 else wide

    def _sum_or_product(self, name: str, kind: Type, args: tuple[nodes.Expr, ...], node: nodes.Op) -> Expr:
        left, right = (self.of(a) for a in args)
        if kind.is_float() or kind.bits > _SMALL:
            return Binary(name, left, right)
        (a, b), (c, d) = (self.intervals.of(arg) for arg in args)
        exact = {"+": (a + c, b + d), "-": (a - d, b - c)}.get(name) or _span([x * y for x in (a, b) for y in (c, d)])
        if kind.least <= exact[0] and exact[1] <= kind.greatest:
            return Binary(name, left, right)
        if exact[1] > 2**31 - 1:  # beyond int: products of large uint16
            left = Cast("unsigned int", left)
        return Cast(kind.element, Binary(name, left, right))

    def _shifted(self, name: str, kind: Type, args: tuple[nodes.Expr, ...], c: list[Expr]) -> Expr:
        """Return a shift; a negative count shifts in the other direction."""
        low, high = self.intervals.of(args[1])
        there = _shift(name, kind, c[0], c[1]) if high >= 0 else None
        back = _shift(">>" if name == "<<" else "<<", kind, c[0], Unary("-", c[1])) if low < 0 else None
        if there is not None and back is not None:
            return Select(Binary("<", c[1], Int(0)), back, there)
        found = there or back
        assert found is not None
        return found

    def _divided(self, name: str, kind: Type, args: tuple[nodes.Expr, ...]) -> Expr:
        """Return integer `/` or `%` with a remainder that is never negative; both are 0 for a divisor of 0."""
        left, right = (self.of(a) for a in args)
        (low, high), divisor = self.intervals.of(args[0]), self.intervals.of(args[1])
        if divisor == (0, 0):
            return number(kind, 0)
        plain = Binary(name, left, right)
        if divisor[0] <= 0 <= divisor[1]:
            ones = Select(Binary("==", right, number(kind, 0)), number(kind, 1), right)  # avoids a division by 0
            safe = self._signed(name, kind, left, ones) if low < 0 else Binary(name, left, ones)
            return Select(Binary("==", right, number(kind, 0)), number(kind, 0), safe)
        if low >= 0:
            return plain
        if divisor[0] == divisor[1] and divisor[0] > 0 and math.isfinite(low):
            size = int(divisor[0])
            rounds = -(int(low) // size)
            if high + rounds * size > (2**63 if kind.bits == 64 else 2**31) - 1:
                return self._signed(name, kind, left, right)
            moved = Binary("+", left, number(kind, rounds * size))
            quotient = Binary(name, moved, right)
            return quotient if name == "%" else Binary("-", quotient, number(kind, rounds))
        return self._signed(name, kind, left, right)

    @staticmethod
    def _signed(name: str, kind: Type, left: Expr, right: Expr) -> Expr:
        zero, one, rest = number(kind, 0), number(kind, 1), Binary("%", left, right)
        positive = Binary(">", right, zero)
        negative = Binary("<", rest, zero)
        if name == "%":
            return Select(negative, Binary("+", rest, Select(positive, right, Unary("-", right))), rest)
        return Binary("-", Binary("/", left, right), Select(negative, Select(positive, one, Unary("-", one)), zero))

    def _choice(self, name: str, kind: Type, given: Type, c: list[Expr]) -> Expr:
        match name:
            case "min" | "max" if kind.is_float():
                return Call(_function(f"f{name}", kind), tuple(c))
            case "min" | "max":
                return Binary(name, *(self._as(kind, x) for x in c))
            case "neg":
                return Unary("-", c[0])
            case "round":
                return Call(_function("rint", kind), tuple(c))
            case "fmod":
                return Binary("-", c[0], Binary("*", c[1], Call(_function("floor", kind), (Binary("/", c[0], c[1]),))))
            case "abs" if kind.is_float():
                return Call(_function("fabs", kind), tuple(c))
            case "abs":
                found = Call("labs" if given.bits == 64 else "abs", (self._as(given, c[0]),))
                return found if kind.bits <= _SMALL else Cast(kind.element, found)
            case _:  # absd: the difference of integers, in unsigned arithmetic if it may be too large
                one, other = c if given.bits <= _SMALL else [Cast(kind.element, x) for x in c]
                return Select(Binary("<", c[0], c[1]), Binary("-", other, one), Binary("-", one, other))

    def _as(self, kind: Type, value: Expr) -> Expr:
        """Return `value` with exactly the C type of arithmetic, for functions that are overloaded by type."""
        wanted = arithmetic_type(kind)
        return value if c_type(value, self.types) == wanted else Cast(wanted, value)

    def _cast(self, kind: Type, operand: nodes.Expr, value: Expr) -> Expr:
        given = operand.type.computed
        if kind.is_bool():
            return Binary("!=", value, number(given, 0))
        if kind == given == FLOAT32:
            return value
        if kind.is_float() or given.is_float():
            return Cast(kind.element, value)
        low, high = self.intervals.of(operand)
        inside = kind.least <= low and high <= kind.greatest
        if inside and arithmetic_type(kind) == arithmetic_type(given):
            return value
        return Cast(kind.element, value)


def number(kind: Type, value: float) -> Expr:
    """Return a constant of a type."""
    if not kind.is_float():
        plain = _integer(int(value))
        return plain if arithmetic_type(kind) == "int" else Cast(kind.element, plain)
    if kind == FLOAT16:
        kind, value = FLOAT32, value_as_half(value)
    suffix = "f" if kind.bits == 32 else ""
    if math.isnan(value):  # there is no literal, nor for infinity
        return Binary("/", Real(f"0.0{suffix}"), Real(f"0.0{suffix}"))
    if math.isinf(value) or (kind.bits == 32 and abs(value) >= _GREATEST):
        infinite: Expr = Binary("/", Real(f"1.0{suffix}"), Real(f"0.0{suffix}"))
        return infinite if value > 0 else Unary("-", infinite)
    text = _digits(abs(value), kind.bits) + suffix
    return Unary("-", Real(text)) if math.copysign(1.0, value) < 0 else Real(text)


def value_as_half(value: float) -> float:
    """Return the nearest float16."""
    import numpy as np

    with np.errstate(over="ignore"):
        return float(np.float16(value))


@lru_cache(maxsize=4096)
def _digits(value: float, bits: int) -> str:
    """Return the shortest decimal number that reads as `value`, with a point or an exponent."""
    import numpy as np

    text = repr(float(value)) if bits == 64 else str(np.float32(value))
    return text if "." in text or "e" in text else text + ".0"


def _integer(value: int) -> Expr:
    if value in (-(2**31), -(2**63)):  # its absolute value needs a wider type
        return Binary("-", Unary("-", Int(-value - 1)), Int(1))
    return Int(value) if value >= 0 else Unary("-", Int(-value))


def _function(name: str, kind: Type) -> str:
    return f"{name}f" if kind.bits == 32 else name


def _shift(name: str, kind: Type, value: Expr, count: Expr) -> Expr:
    """Return a shift by a number that is not negative."""
    if name == ">>":
        return Binary(">>", value, count)
    unsigned = value if kind.is_uint() else Cast("unsigned long" if kind.bits == 64 else "unsigned int", value)
    return _fitted(kind, Binary("<<", unsigned, count), True)


def _fitted(kind: Type, value: Expr, always: bool = False) -> Expr:
    """Return `value` truncated to the bits of a type."""
    return Cast(kind.element, value) if kind.bits <= _SMALL or always else value


def _counted(name: str, kind: Type, value: Expr) -> Expr:
    """Return the number of set bits or leading zeros; the C functions count in 32 or 64 unsigned bits."""
    size = 64 if kind.bits == 64 else 32
    plain = Cast(kind.with_bits(kind.bits).element.removeprefix("unsigned "), value)
    bits = Cast("unsigned long" if size == 64 else "unsigned int", Cast(f"unsigned {plain.type}", value))
    found: Expr = Call(f"antune_{name}{'l' if size == 64 else ''}", (bits,))
    if name == "clz" and kind.bits < size:
        found = Binary("-", found, Int(size - kind.bits))
    return found if arithmetic_type(kind) == "int" else Cast(kind.element, found)


def _span(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)
