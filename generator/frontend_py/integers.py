"""Integer functions composed of others: division towards 0, half of a difference."""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.frontend_py.functions import abs, select, wider
from generator.frontend_py.nodes import Expr, arithmetic, cast_to, matched
from generator.frontend_py.types import Int
from generator.frontend_py.where import here


def div_round_to_zero(left: Any, right: Any) -> Expr:
    """Return the quotient of two integers as in C, rounded towards 0; 0 for a divisor of 0."""
    one, other = _integers("div_round_to_zero", left, right)
    size = arithmetic("/", abs(one), abs(other))
    return _with_sign(one, size, (one < 0) ^ (other < 0)) if one.type.is_int() else size


def mod_round_to_zero(left: Any, right: Any) -> Expr:
    """Return the remainder of two integers as in C, with the sign of the first; 0 for a divisor of 0."""
    one, other = _integers("mod_round_to_zero", left, right)
    size = arithmetic("%", abs(one), abs(other))
    return _with_sign(one, size, one < 0) if one.type.is_int() else size


def _integers(name: str, left: Any, right: Any) -> tuple[Expr, Expr]:
    one, other = matched(left, right)
    if one.type.is_float() or one.type.is_bool():
        raise InputError(f"{name} needs integers, not {one.type}", here())
    return one, other


def _with_sign(like: Expr, size: Expr, negative: Expr) -> Expr:
    """Return `size` or its negative in the type of `like`; both wrap around."""
    return cast_to(like.type, select(negative, arithmetic("-", 0, size), size))


def halving_sub(one: Any, other: Any) -> Expr:
    """Return (one - other) / 2, rounded down, in the operands' type; negative values wrap around in unsigned types."""
    a, b, kind = wider(one, other)
    signed = Int(a.type.bits)
    return cast_to(kind, (cast_to(signed, a) - cast_to(signed, b)) // 2)
