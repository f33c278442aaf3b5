"""`undef`, `print`, `print_when` and `require`: values with an additional meaning (`prepared.py`)."""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.frontend_py.nodes import Const, Expr, Op, as_expr
from generator.frontend_py.prepared import Noted
from generator.frontend_py.types import BOOL, Type
from generator.frontend_py.where import here


def undef(kind: Type) -> Expr:
    """No particular value: scratch in the pure definition; in an update, nothing is stored."""
    return Op("undef", kind, ())


def print(value: Any, *more: Any) -> Expr:
    """`value`; the interpreter (`realize`) prints it and the following texts and expressions, at every point."""
    return print_when(Const(BOOL, 1), value, *more)


def print_when(condition: Any, value: Any, *more: Any) -> Expr:
    """`value`; the interpreter (`realize`) prints where `condition` holds."""
    given = as_expr(value)
    return _noted("print", condition, given, (given, *more))


def require(condition: Any, value: Any, *more: Any) -> Expr:
    """`value`; if `condition` does not hold, the interpreter stops with the other arguments as a message."""
    return _noted("require", condition, as_expr(value), more)


def _noted(name: str, condition: Any, value: Expr, said: tuple[Any, ...]) -> Expr:
    test = as_expr(condition)
    if not test.type.is_bool():
        raise InputError(f"{name} needs a condition, not a {test.type}", here())
    exprs = tuple(as_expr(word) for word in said if not isinstance(word, str))
    words = tuple((word or " ") if isinstance(word, str) else "" for word in said)
    return Noted(name, value.type, (value, test, *exprs), words, here())
