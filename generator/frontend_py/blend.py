"""`lerp`: interpolate between two values by a weight, with Halide's rounding for integers."""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.frontend_py.functions import cast, select
from generator.frontend_py.nodes import Const, Expr, as_expr, cast_to, matched
from generator.frontend_py.types import FLOAT64, Type, UInt
from generator.frontend_py.where import here

_MOST_BITS = 32


def lerp(zero: Any, one: Any, weight: Any) -> Expr:
    """Return `zero` for the least weight, `one` for the greatest, and values between them for others.

    The weights are 0 to 1, or the range of an unsigned type. Integers, of at most 32 bits, are rounded to the nearest,
    without overflow. Raises InputError for other types.
    """
    a, b = matched(zero, one)
    w = as_expr(weight, a.type if a.type.is_float() and not isinstance(weight, Expr) else None)
    if w.type.is_int() or (a.type.bits > _MOST_BITS and not a.type.is_float()):
        raise InputError(f"lerp of {a.type} by a {w.type}: the values have at most {_MOST_BITS} bits or are real "
                         "numbers, the weight is a real number or has no sign; cast them", here())
    if a.type.is_float():
        share = w if w.type.is_float() else cast_to(a.type, w) / (2.0**w.type.bits - 1)
        share = cast_to(a.type, share)
        return a * (1 - share) + b * share
    return _whole(a, b, w)


def _whole(a: Expr, b: Expr, weight: Expr) -> Expr:
    """Interpolate between two integers: signed numbers are shifted to unsigned ones and back."""
    kind, bits = a.type, a.type.bits
    if kind.is_bool():
        return select(weight if weight.type.is_bool() else _scaled(weight, UInt(8)) >= 128, b, a)  # type: ignore[no-any-return]  # select may choose between tuples, too
    plain, wide = UInt(bits), UInt(2 * bits)
    if kind.is_int():
        least = Const(plain, 2 ** (bits - 1))
        return cast_to(kind, _whole(cast_to(plain, a) + least, cast_to(plain, b) + least, weight) + least)
    share = _scaled(weight, plain)
    rest = Const(plain, plain.greatest) - share
    total = cast_to(wide, a) * cast_to(wide, rest) + cast_to(wide, b) * cast_to(wide, share)
    total = total + Const(wide, 2 ** (bits - 1))
    return cast_to(plain, ((total >> bits) + total) >> bits)


def _scaled(weight: Expr, kind: Type) -> Expr:
    """Return `weight` as an unsigned number whose greatest value is 1."""
    given, bits = weight.type, kind.bits
    if given.is_float():
        wide = FLOAT64 if bits == _MOST_BITS else given
        return cast(kind, cast_to(wide, weight) * float(kind.greatest))
    if given.bits == 1:
        return cast_to(kind, weight) * Const(kind, kind.greatest)
    ratio = (2 ** max(given.bits, bits) - 1) // (2 ** min(given.bits, bits) - 1)
    if given.bits <= bits:
        return cast_to(kind, weight) * Const(kind, ratio) if ratio > 1 else cast_to(kind, weight)
    return cast_to(kind, weight / Const(given, ratio))
