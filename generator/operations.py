"""Count the operations on data of an assignment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import assert_never

from generator.arithmetic import BIT_FUNCTIONS, FLOATING
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary, children, loads_of
from generator.facts import Operations

_ADD, _MUL, _DIV = Operations(adds=1.0), Operations(muls=1.0), Operations(divs=1.0)
_SPECIAL, _INTEGER, _NONE = Operations(special=1.0), Operations(integer=1.0), Operations()
_SIMPLE = frozenset(["fabs", "fmin", "fmax", "floor", "ceil", "round", "trunc", "copysign"])


def binary_operation(op: str, floating: bool) -> Operations:
    """Return the operations of `left op right`, including `min` and `max`; op "" or "=" is a plain store."""
    if op in ("", "="):
        return _NONE
    if not floating:
        return _INTEGER
    return {"*": _MUL, "/": _DIV}.get(op, _ADD)


def operations_of(expr: Expr, types: Mapping[str, str]) -> Operations:
    """Return the operations in `expr`, except those on indices alone. `types`: C types of arrays and variables."""
    if not is_floating(expr, types) and not any(loads_of(expr)):
        return _NONE
    match expr:
        case Int() | Real() | Name() | Load():
            return _NONE
        case Binary(op, left, right):
            total = binary_operation(op, is_floating(left, types) or is_floating(right, types))
        case Unary("-" | "+", operand) if is_floating(operand, types):
            total = _NONE  # a sign is part of the instruction that uses the value
        case Unary():
            total = _INTEGER
        case Call(function, _):
            total = _call(function)
        case Select():
            total = _INTEGER
        case Cast():
            total = _NONE
        case Fold():
            costs, before = [operations_of(part, types) for part in children(expr)], 1 + len(expr.changes)
            return reduce(Operations.plus, costs[:before]).plus(reduce(Operations.plus, costs[before:]), expr.usual)
        case _:
            assert_never(expr)
    for child in children(expr):
        total = total.plus(operations_of(child, types))
    return total


def _call(function: str) -> Operations:
    if function in ("abs", "labs") or function in BIT_FUNCTIONS:
        return _INTEGER
    name = function.removesuffix("f")
    if name == "fma":
        return _MUL.plus(_ADD)
    if name == "fmod":
        return _DIV
    return _ADD if name in _SIMPLE else _SPECIAL


def is_floating(expr: Expr, types: Mapping[str, str]) -> bool:
    """Return whether the value of `expr` is a floating-point number."""
    match expr:
        case Real():
            return True
        case Int():
            return False
        case Name(_, kind):
            return kind in ("float", "double")
        case Fold():
            return is_floating(expr.total, types)
        case Load(array, _, _):
            return types.get(array, "float") in ("float", "double")
        case Cast(kind, _):
            return kind in ("float", "double")
        case Call(function, _) if function in BIT_FUNCTIONS:
            return BIT_FUNCTIONS[function] in FLOATING
        case Call(function, _):
            return function not in ("abs", "labs")
        case Unary(op, operand):
            return op in "+-" and is_floating(operand, types)
        case Binary(op, left, right):
            return op in ("+", "-", "*", "/", "min", "max") and (is_floating(left, types) or is_floating(right, types))
        case Select(_, then, otherwise):
            return is_floating(then, types) or is_floating(otherwise, types)
        case _:
            assert_never(expr)
