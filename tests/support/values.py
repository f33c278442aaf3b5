"""C expressions as Python functions: integers of C's types that wrap around, and numbers of a prime field as floats.

Floating-point values are residues modulo a prime: sums and products are equal in every order, and all other differences
are visible. They are ordered by their residues, so that minima are equal in every order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol, TypeAlias, assert_never

from generator.arithmetic import BIT_FUNCTIONS
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary

PRIME = 1_000_003
Number: TypeAlias = int | float
"""An int, or plus or minus infinity: the neutral elements of minima and maxima."""
Names: TypeAlias = Mapping[str, int]
FLOATING = frozenset(["float", "double"])
_RANK = ("int", "unsigned int", "long", "unsigned long", "float", "double")
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "min": min, "max": max,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b % 64, ">>": lambda a, b: a >> b % 64}


class Elements(Protocol):
    """The values of arrays; `types` are their C types."""

    types: dict[str, str]

    def load(self, array: str, index: tuple[int, ...]) -> Number:
        """Return the value of an element."""


Function: TypeAlias = Callable[[Names, Elements], Any]
Compiled: TypeAlias = tuple[str, Function]
"""The C type of an expression, and its value for given names."""


def wrap(kind: str, value: Number) -> Number:
    """Return `value` converted to a C type."""
    if kind in FLOATING:
        return value if isinstance(value, float) and math.isinf(value) else value % PRIME
    assert isinstance(value, int), "infinity is no integer"
    bits = _BITS[kind.removeprefix("unsigned ")]
    value &= (1 << bits) - 1
    return value - (1 << bits) if not kind.startswith("unsigned") and value >> (bits - 1) else value


def common(*kinds: str) -> str:
    """Return the type of arithmetic on operands of these types (C11 6.3.1.8)."""
    return max(("int", *(kind for kind in kinds if kind in _RANK)), key=_RANK.index)


def operate(kind: str, op: str, left: Number, right: Number) -> Number:
    """Return `left op right` in the arithmetic of `kind`."""
    return _operation(kind, op)(left, right)


@cache
def converter(kind: str) -> Callable[[Number], Number]:
    """Return `wrap` for one type."""
    if kind in FLOATING:
        return lambda value: value % PRIME if type(value) is int else wrap(kind, value)
    bits = _BITS[kind.removeprefix("unsigned ")]
    low, high = (0, (1 << bits) - 1) if kind.startswith("unsigned") else (-1 << (bits - 1), (1 << (bits - 1)) - 1)
    return lambda value: value if type(value) is int and low <= value <= high else wrap(kind, value)


@cache
def _operation(kind: str, op: str) -> Callable[[Any, Any], Number]:
    """Return a function of two values of any type."""
    convert = converter(kind)
    if op in _COMPARISONS:
        compare = _COMPARISONS[op]
        return lambda left, right: int(compare(convert(left), convert(right)))
    if op in ("/", "%"):
        return lambda left, right: _divide(kind, op, convert(left), convert(right))
    function = _ARITHMETIC[op]
    if op in ("+", "-", "*") and kind in FLOATING:
        def residue(left: Any, right: Any) -> Number:
            if type(left) is type(right) is int:
                return function(left, right) % PRIME  # type: ignore[no-any-return]  # a residue of integers
            return wrap(kind, function(convert(left), convert(right)))  # infinity has a sign

        return residue
    if op in ("+", "-", "*"):  # what wraps around in the end wraps around
        return lambda left, right: convert(function(left, right))
    return lambda left, right: convert(function(convert(left), convert(right)))


def _divide(kind: str, op: str, a: Any, b: Any) -> Number:
    if kind in FLOATING:
        return int(a * pow(int(b), PRIME - 2, PRIME) % PRIME)
    assert b != 0, "a division of integers by 0"
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return wrap(kind, quotient if op == "/" else a - b * quotient)


def compiled(expr: Expr, types: Mapping[str, str]) -> Compiled:
    """Return `expr` as a function; `types` are those of arrays and variables, names are `int`."""
    match expr:
        case Int(value):
            fits = (kind for kind in ("int", "long", "unsigned long") if wrap(kind, value) == value)
            return next(fits), lambda _names, _memory: value
        case Real(text):
            number = text.rstrip("fF") if "INF" not in text else text
            constant = wrap("double", float(number) if "INF" in text else int(float(number) * 64))
            return ("float" if text[-1] in "fFY" else "double"), lambda _names, _memory: constant
        case Name(name, kind):
            return kind, lambda names, _memory: names[name]
        case Load(array, index, _):
            return types[array], _loading(array, tuple(compiled(i, types)[1] for i in index))
        case Unary(op, operand):
            return _unary(op, *compiled(operand, types))
        case Binary("&&" | "||" as op, left, right):
            return "int", _logical(op, compiled(left, types)[1], compiled(right, types)[1])
        case Binary(op, left, right):
            if (written := _written(expr)) is not None:
                return "int", _evaluated(written)
            return _binary(op, compiled(left, types), compiled(right, types))
        case Select(condition, then, otherwise):
            return _chosen(compiled(condition, types)[1], compiled(then, types), compiled(otherwise, types))
        case Cast(kind, operand):
            inner, convert = compiled(operand, types)[1], converter(kind)
            return kind, lambda names, memory: convert(inner(names, memory))
        case Call(function, arguments):
            return _call(function, [compiled(a, types) for a in arguments])
        case Fold():
            return expr.total.type, _folding(expr, types)
        case _:
            assert_never(expr)


def _written(expr: Expr, depth: int = 0) -> str | None:
    """Return sums and products of `int`s, and comparisons of these, as Python text; None for other expressions.

    What wraps around in the end wraps around: only values that are compared, and the last one, are converted.
    """
    match expr:
        case Binary(op, left, right) if op in _COMPARISONS and depth == 0:
            one, other = _written(left, 1), _written(right, 1)
            return None if one is None or other is None else f"int(convert({one}) {op} convert({other}))"
        case Binary("+" | "-" | "*" as op, left, right) if depth < 40:
            one, other = _written(left, depth + 1), _written(right, depth + 1)
            return None if one is None or other is None else f"({one} {op} {other})"
        case Name(name, "int"):
            return f"names[{name!r}]"
        case Int(value) if wrap("int", value) == value:
            return f"({value})"
    return None


@cache
def _evaluated(text: str) -> Function:
    """Return what `_written` wrote as a function."""
    made: Function = eval(f"lambda names, _memory: convert({text})", {"convert": converter("int")})
    return made


def _folding(fold: Fold, types: Mapping[str, str]) -> Function:
    def converted(name: Name, value: Expr) -> Function:
        inner = compiled(value, types)[1]
        return lambda names, memory: wrap(name.type, inner(names, memory))

    firsts = [(name.name, converted(name, first)) for name, first, _ in fold.changes]
    nexts = [(name.name, converted(name, following)) for name, _, following in fold.changes]
    lets = [(name.name, converted(name, value)) for name, value in fold.lets]
    start, condition = converted(fold.iterator, fold.start), compiled(fold.condition, types)[1]

    def run(names: Names, memory: Elements) -> Number:
        here: dict[str, Any] = {**names, **{name: first(names, memory) for name, first in firsts}}
        here[fold.iterator.name] = start(names, memory)
        while condition(here, memory):
            for name, value in lets:
                here[name] = value(here, memory)
            here |= {name: following(here, memory) for name, following in nexts}
            here[fold.iterator.name] += fold.step
        found: Number = here[fold.total.name]
        return found

    return run


def _loading(array: str, index: tuple[Function, ...]) -> Function:
    if not index:
        return lambda _names, memory: memory.load(array, ())
    if len(index) == 1:
        only = index[0]
        return lambda names, memory: memory.load(array, (only(names, memory),))
    if len(index) == 2:
        row, column = index
        return lambda names, memory: memory.load(array, (row(names, memory), column(names, memory)))

    def load(names: Names, memory: Elements) -> Number:
        return memory.load(array, tuple([i(names, memory) for i in index]))

    return load


def _unary(op: str, kind: str, inner: Function) -> Compiled:
    if op == "!":
        return "int", lambda names, memory: int(not inner(names, memory))
    kind = common(kind)
    sign = {"-": -1, "+": 1, "~": -1}[op]
    less = 1 if op == "~" else 0
    convert = converter(kind)
    return kind, lambda names, memory: convert(sign * inner(names, memory) - less)


def _logical(op: str, left: Function, right: Function) -> Function:
    if op == "&&":
        return lambda names, memory: int(bool(left(names, memory)) and bool(right(names, memory)))
    return lambda names, memory: int(bool(left(names, memory)) or bool(right(names, memory)))


def _binary(op: str, left: Compiled, right: Compiled) -> Compiled:
    kind = common(left[0], *(() if op in ("<<", ">>") else (right[0],)))
    one, other = left[1], right[1]
    function = _operation(kind, op)
    return ("int" if op in _COMPARISONS else kind,
            lambda names, memory: function(one(names, memory), other(names, memory)))


def _chosen(condition: Function, then: Compiled, otherwise: Compiled) -> Compiled:
    kind = common(then[0], otherwise[0])
    convert, yes, no = converter(kind), then[1], otherwise[1]
    return kind, lambda names, memory: convert((yes if condition(names, memory) else no)(names, memory))


def _call(function: str, arguments: list[Compiled]) -> Compiled:
    """Functions of math.h other than minima are arbitrary functions of the field."""
    own = {"abs": "int", "labs": "long", **BIT_FUNCTIONS}
    kind = own.get(function, "float" if function.endswith("f") else "double")
    parts = [inner for _, inner in arguments]

    def call(names: Names, memory: Elements) -> Number:
        values = [wrap(kind, part(names, memory)) for part in parts]
        name = function.removesuffix("f")
        if name in ("fmin", "fmax"):
            return min(values) if name == "fmin" else max(values)
        if name in ("abs", "labs", "fabs"):
            return abs(values[0])
        return wrap(kind, sum((7 * k + 3) * int(v) * int(v) for k, v in enumerate(values)) + len(name))

    return kind, call
