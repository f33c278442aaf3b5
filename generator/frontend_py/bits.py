"""Functions on the bits of numbers."""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.frontend_py.nodes import Expr, Op, as_expr, cast_to
from generator.frontend_py.types import Type, UInt
from generator.frontend_py.where import here


def popcount(value: Any) -> Expr:
    """Return the number of bits that are set, in the type of the value."""
    given = _integer("popcount", value)
    return Op("popcount", given.type, (given,))


def count_leading_zeros(value: Any) -> Expr:
    """Return the number of zeros before the first set bit; all of 0's."""
    given = _integer("count_leading_zeros", value)
    return Op("clz", given.type, (given,))


def count_trailing_zeros(value: Any) -> Expr:
    """Return the number of zeros after the last set bit; all of 0's."""
    given = _integer("count_trailing_zeros", value)
    bits = cast_to(UInt(given.type.bits), given)
    return cast_to(given.type, popcount(~bits & (bits - 1)))


def reinterpret(kind: Type, value: Any) -> Expr:
    """Return the same bits as a value of another type of that size."""
    given = as_expr(value)
    if given.type.bits != kind.bits or given.type.is_bool():
        raise InputError(f"reinterpret of {given.type} as {kind}: both need the same number of bits, 8 or more", here())
    plain = UInt(kind.bits)
    if given.type.is_float() == kind.is_float():
        return cast_to(kind, given)
    return Op("reinterpret", kind, (cast_to(plain, given),)) if kind.is_float() else cast_to(
        kind, Op("reinterpret", plain, (given,)))


def _integer(name: str, value: Any) -> Expr:
    given = as_expr(value)
    if given.type.is_float() or given.type.is_bool():
        raise InputError(f"{name} needs an integer, not {given.type}; reinterpret a real number as one", here())
    return given
