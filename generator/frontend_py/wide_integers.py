"""Integer functions on all bits: rounding and widening shifts, products that are shifted, parts of numbers."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from generator.errors import InputError
from generator.frontend_py.functions import max, saturating_cast, select
from generator.frontend_py.nodes import Const, Expr, Op, as_expr, cast_to, matched
from generator.frontend_py.types import INT32, Type, UInt
from generator.frontend_py.where import here


def rounding_shift_right(value: Any, count: Any) -> Expr:
    """Return `value` shifted right and rounded to the nearest, ties up; a negative count shifts left.

    Two expressions get the greater number of bits, as for `>>`; values wrap around.
    """
    return _rounded(value, count, cast_to(INT32, as_expr(count)))


def rounding_shift_left(value: Any, count: Any) -> Expr:
    """Return `value` shifted left; a negative count shifts right as `rounding_shift_right`."""
    return _rounded(value, count, cast_to(INT32, as_expr(count)) * -1)


def _rounded(value: Any, count: Any, by: Expr) -> Expr:
    wide = _twice(_equally_wide(value, count))
    half = Op("<<", wide.type, (Const(wide.type, 1), max(by, 0))) // 2
    return cast_to(wide.type.with_bits(wide.type.bits // 2), Op(">>", wide.type, (wide + half, by)))


def widening_shift_left(value: Any, count: Any) -> Expr:
    """Return `value` shifted left in twice as many bits."""
    return _shifted("<<", _twice(_equally_wide(value, count)), count)


def widening_shift_right(value: Any, count: Any) -> Expr:
    """Return `value` shifted right in twice as many bits."""
    return _shifted(">>", _twice(_equally_wide(value, count)), count)


def mul_shift_right(one: Any, other: Any, count: Any) -> Expr:
    """Return the product of two integers, shifted right, saturated to their common type."""
    product = _product(one, other, count)
    return saturating_cast(product.type.with_bits(product.type.bits // 2), _shifted(">>", product, count))


def rounding_mul_shift_right(one: Any, other: Any, count: Any) -> Expr:
    """Return the product of two integers, shifted right and rounded, ties up, saturated to their common type."""
    product, places = _product(one, other, count), cast_to(INT32, as_expr(count))
    last = _shifted(">>", product, max(places - 1, 0)) & 1
    rounded = _shifted(">>", product, places) + select(places > 0, last, 0)
    return saturating_cast(product.type.with_bits(product.type.bits // 2), rounded)


def widen_right_add(one: Any, other: Any) -> Expr:
    """Return the sum with a second operand of half as many bits."""
    return as_expr(one) + _half(one, other)


def widen_right_mul(one: Any, other: Any) -> Expr:
    """Return the product with a second operand of half as many bits."""
    return as_expr(one) * _half(one, other)


def widen_right_sub(one: Any, other: Any) -> Expr:
    """Return the difference from a second operand of half as many bits."""
    return as_expr(one) - _half(one, other)


def concat_bits(values: Sequence[Any]) -> Expr:
    """Return the bits of 1, 2, 4 or 8 integers of a type as one number, the first value lowest."""
    given = [_integer(value) for value in values]
    bits = given[0].type.bits * len(given) if given else 0
    if bits not in (8, 16, 32, 64) or any(value.type != given[0].type for value in given):
        raise InputError(f"concat_bits of {', '.join(str(value.type) for value in given) or 'nothing'}: give integers "
                         "of one type, with 8, 16, 32 or 64 bits together", here())
    kind, each = given[0].type.with_bits(bits), UInt(given[0].type.bits)
    found = cast_to(UInt(bits), cast_to(each, given[0]))
    for number, value in enumerate(given[1:], 1):
        found = found | (cast_to(UInt(bits), cast_to(each, value)) << number * each.bits)
    return cast_to(kind, found)


def extract_bits(kind: Type, value: Any, lowest: Any) -> Expr:
    """Return so many bits of an integer as `kind` has, from number `lowest` on, as a value of that type."""
    given = _integer(value)
    if kind.is_float() or kind.is_bool():
        raise InputError(f"extract_bits as {kind}: use an integer type", here())
    wide = UInt(builtins.max(kind.bits, given.type.bits))
    return cast_to(kind, _shifted(">>", cast_to(wide, cast_to(UInt(given.type.bits), given)), lowest))


def _integer(value: Any) -> Expr:
    given = as_expr(value)
    if given.type.is_float() or given.type.is_bool():
        raise InputError(f"this needs an integer, not {given.type}", here())
    return given


def _equally_wide(value: Any, *others: Any) -> Expr:
    """Return `value` with the greatest number of bits of all operands; Python numbers have none."""
    given = _integer(value)
    bits = [as_expr(other).type.bits for other in others if isinstance(other, Expr)]
    return cast_to(given.type.with_bits(builtins.max(given.type.bits, *bits, 0)), given)


def _twice(given: Expr) -> Expr:
    """Return an integer in twice as many bits."""
    if given.type.bits > 32:
        raise InputError(f"this needs integers of at most 32 bits, not {given.type}", here())
    return cast_to(given.type.with_bits(2 * given.type.bits), given)


def _half(one: Any, other: Any) -> Expr:
    """Return `other` in the type of `one`. Raises InputError unless it has half as many bits and the same sign."""
    wide, given = _integer(one), _integer(other)
    if given.type.with_bits(2 * given.type.bits) != wide.type:
        raise InputError(f"this needs a second operand of half as many bits and the same sign, not {wide.type} and "
                         f"{given.type}", here())
    return cast_to(wide.type, given)


def _product(one: Any, other: Any, count: Any) -> Expr:
    """Return the product of two integers in their common type, in twice as many bits."""
    left, right = matched(one, other)
    return _twice(_equally_wide(left, count)) * _twice(_equally_wide(right, count))


def _shifted(name: str, value: Expr, count: Any) -> Expr:
    places = as_expr(count)
    if places.type.is_float():
        raise InputError(f"a shift by a {places.type}; use an integer", here())
    return Op(name, value.type, (value, cast_to(INT32, places)))
