"""Functions on expressions, with Halide's names.

Functions of real numbers take integers as float32. `round` breaks ties to even. `abs` and `absd` of integers are
unsigned. The `fast_` functions are the plain ones: a device's compiler chooses.
"""

from __future__ import annotations

import builtins
from functools import reduce
from typing import Any

from generator.errors import InputError
from generator.frontend_py.definition import is_tuple, separate
from generator.frontend_py.nodes import Const, Expr, Op, arithmetic, as_expr, bitwise, cast_to, matched, power
from generator.frontend_py.types import BOOL, FLOAT32, FLOAT64, Int, Type, UInt
from generator.frontend_py.where import here


def cast(kind: Type, value: Any) -> Expr:
    """Return `value` in another type: integers wrap around, floating-point numbers are truncated towards 0."""
    direct = isinstance(value, int | float) and kind.holds(value) and (isinstance(value, int) or kind.is_float())
    return cast_to(kind, as_expr(value, kind if direct else None))


def saturating_cast(kind: Type, value: Any) -> Expr:
    """Return `value` in another type; values that do not exist there become the nearest one that does."""
    given = as_expr(value)
    if kind.is_float():
        return cast_to(kind, given)
    low = builtins.max(kind.least, given.type.least)
    high = builtins.min(kind.greatest, given.type.greatest)
    if given.type.is_float():
        digits, bits = (24 if given.type.bits == 32 else 53), kind.bits - kind.is_int()
        low, high = float(kind.least), float((2**digits - 1) << (bits - digits) if bits > digits else kind.greatest)
    return cast_to(kind, clamp(given, low, high))


def clamp(value: Any, low: Any, high: Any) -> Expr:
    """Return `value`, but at least `low` and at most `high`, in the type of `value`.

    Raises InputError if a bound changes in that type.
    """
    given = as_expr(value)
    least, most = (_bound(as_expr(bound, given.type), given.type) for bound in (low, high))
    return Op("max", given.type, (Op("min", given.type, (given, most)), least))


def _bound(bound: Expr, kind: Type) -> Expr:
    if isinstance(bound, Const):
        inside = kind.holds(bound.value) and not bound.type.is_float()
    else:
        inside = not bound.type.is_float() and kind.least <= bound.type.least and bound.type.greatest <= kind.greatest
    if not kind.is_float() and not inside:
        raise InputError(
            f"clamp of a {kind} to a bound of type {bound.type}, which may not exist there: cast one of them", here()
        )
    return cast_to(kind, bound)


def min(*values: Any) -> Expr:
    """The least of the values."""
    return _extreme("min", values)


def max(*values: Any) -> Expr:
    """The greatest of the values."""
    return _extreme("max", values)


def _extreme(name: str, values: tuple[Any, ...]) -> Expr:
    if len(values) < 2:
        raise InputError(f"{name} needs two values or more", here())
    return as_expr(reduce(lambda a, b: arithmetic(name, a, b), values))


def select(condition: Any, then: Any, *more: Any) -> Any:
    """Return `then` if `condition` holds, else the next: select(c1, a, c2, b, otherwise). Tuples are selected
    elementwise, by one condition or a tuple of them.
    """
    if not more or len(more) % 2 == 0:
        raise InputError("select needs condition, value, ..., otherwise: an odd number of arguments", here())
    otherwise = more[0] if len(more) == 1 else select(*more)
    if is_tuple(then):
        count = len(then)
        if any(is_tuple(part) and len(part) != count for part in (condition, otherwise)) or not is_tuple(otherwise):
            raise InputError(f"select of a tuple of {count} values: all its values, and its condition if that is a "
                             "tuple, have as many", here())
        tests = separate(condition) if is_tuple(condition) else (condition,) * count
        return tuple(map(select, tests, separate(then), separate(otherwise)))
    test = as_expr(condition)
    if not test.type.is_bool():
        raise InputError(f"select needs a condition, not a {test.type}; compare it with something, e.g. `e != 0`, or "
                         "use an input of type Bool() (a numpy array of bool)", here())
    one, other = matched(then, otherwise)
    return Op("select", one.type, (test, one, other))


tuple_select = select


def mux(index: Any, values: Any) -> Expr:
    """Return value number `index` of the list; the last one for any other index."""
    given, listed = as_expr(index), tuple(values)
    result = as_expr(listed[-1])
    for number in reversed(range(len(listed) - 1)):
        result = select(given == number, listed[number], result)
    return result


def abs(value: Any) -> Expr:
    """The absolute value; that of an integer is unsigned: abs(int8(-128)) is 128."""
    given = as_expr(value)
    if given.type.is_uint():
        return given
    return Op("abs", given.type if given.type.is_float() else UInt(given.type.bits), (given,))


def absd(left: Any, right: Any) -> Expr:
    """The absolute difference; that of integers is unsigned and never wraps around."""
    one, other = matched(left, right)
    if one.type.is_float():
        return abs(one - other)
    return Op("absd", UInt(one.type.bits), (one, other))


def _real(name: str, *values: Any) -> Expr:
    """Return a function of real numbers: float64 if an operand is, else float32."""
    given = [as_expr(v) for v in values]
    kind = FLOAT64 if builtins.any(g.type == FLOAT64 for g in given) else FLOAT32
    return Op(name, kind, tuple(cast_to(kind, g) for g in given))


def _rounding(name: str, value: Any) -> Expr:
    given = as_expr(value)
    return _real(name, given) if given.type.is_float() else given


def sqrt(value: Any) -> Expr:
    """The square root."""
    return _real("sqrt", value)


def exp(value: Any) -> Expr:
    """e to the power of the value."""
    return _real("exp", value)


def log(value: Any) -> Expr:
    """The natural logarithm."""
    return _real("log", value)


def pow(base: Any, exponent: Any) -> Expr:
    """`base` to the power of `exponent`; an integer constant multiplies `base` out in its own type."""
    return power(base, exponent)


fast_exp, fast_log, fast_pow = exp, log, pow


def fast_inverse(value: Any) -> Expr:
    """1 / value."""
    return 1.0 / _real("cast", value) if not as_expr(value).type.is_float() else 1.0 / as_expr(value)


def fast_inverse_sqrt(value: Any) -> Expr:
    """1 / sqrt(value)."""
    return 1.0 / sqrt(value)


def memoize_tag(value: Any, *keys: Any) -> Expr:
    """`value`: a hint for Halide's cache, without effect here."""
    return as_expr(value)


def sin(value: Any) -> Expr:
    """The sine."""
    return _real("sin", value)


def cos(value: Any) -> Expr:
    """The cosine."""
    return _real("cos", value)


fast_sin, fast_cos = sin, cos


def tan(value: Any) -> Expr:
    """The tangent."""
    return _real("tan", value)


def asin(value: Any) -> Expr:
    """The arc sine."""
    return _real("asin", value)


def acos(value: Any) -> Expr:
    """The arc cosine."""
    return _real("acos", value)


def atan(value: Any) -> Expr:
    """The arc tangent."""
    return _real("atan", value)


def atan2(y: Any, x: Any) -> Expr:
    """The angle of the point (x, y)."""
    return _real("atan2", y, x)


def sinh(value: Any) -> Expr:
    """The hyperbolic sine."""
    return _real("sinh", value)


def cosh(value: Any) -> Expr:
    """The hyperbolic cosine."""
    return _real("cosh", value)


def tanh(value: Any) -> Expr:
    """The hyperbolic tangent."""
    return _real("tanh", value)


def asinh(value: Any) -> Expr:
    """The inverse of the hyperbolic sine."""
    return _real("asinh", value)


def acosh(value: Any) -> Expr:
    """The inverse of the hyperbolic cosine."""
    return _real("acosh", value)


def atanh(value: Any) -> Expr:
    """The inverse of the hyperbolic tangent."""
    return _real("atanh", value)


def erf(value: Any) -> Expr:
    """The error function."""
    return _real("erf", value)


def hypot(x: Any, y: Any) -> Expr:
    """sqrt(x^2 + y^2)."""
    return _real("hypot", x, y)


def floor(value: Any) -> Expr:
    """The next integer below, of the same type."""
    return _rounding("floor", value)


def ceil(value: Any) -> Expr:
    """The next integer above, of the same type."""
    return _rounding("ceil", value)


def round(value: Any) -> Expr:
    """The nearest integer, of the same type; ties go to even."""
    return _rounding("round", value)


def trunc(value: Any) -> Expr:
    """The next integer towards 0, of the same type."""
    return _rounding("trunc", value)


def fract(value: Any) -> Expr:
    """The fractional part, which `trunc` removes."""
    given = as_expr(value)
    return given - trunc(given)


def is_nan(value: Any) -> Expr:
    """Whether the value is not a number."""
    given = as_expr(value)
    return Op("!=", BOOL, (given, given))


def is_inf(value: Any) -> Expr:
    """Whether the value is infinite, with either sign. Raises InputError for integers."""
    return abs(_floating("is_inf", value)) == float("inf")


def is_finite(value: Any) -> Expr:
    """Whether the value is a number and finite. Raises InputError for integers."""
    return abs(_floating("is_finite", value)) < float("inf")


def _floating(name: str, value: Any) -> Expr:
    given = as_expr(value)
    if not given.type.is_float():
        raise InputError(f"{name} needs a floating-point number, not {given.type}", here())
    return given


def logical_and(left: Any, right: Any) -> Expr:
    """Whether both conditions hold."""
    return bitwise("&", left, right)


def logical_or(left: Any, right: Any) -> Expr:
    """Whether one of the conditions holds."""
    return bitwise("|", left, right)


def logical_not(value: Any) -> Expr:
    """Whether the condition does not hold."""
    return ~as_expr(value)


def likely(value: Any) -> Expr:
    """`value`: a hint without effect here."""
    return as_expr(value)


likely_if_innermost = strict_float = likely


def unsafe_promise_clamped(value: Any, low: Any, high: Any) -> Expr:
    """clamp(value, low, high), because promises are not trusted."""
    return clamp(value, low, high)


def wider(one: Any, other: Any) -> tuple[Expr, Expr, Type]:
    """Return two integers in twice the bits of their common type, and that type. Raises InputError for other operands.
    """
    a, b = matched(one, other)
    if a.type.is_float() or a.type.bits > 32:
        raise InputError(f"this needs integers of at most 32 bits, not {a.type}", here())
    wide = a.type.with_bits(2 * a.type.bits)
    return cast_to(wide, a), cast_to(wide, b), a.type


def widening_add(one: Any, other: Any) -> Expr:
    """The sum, in twice as many bits."""
    a, b, _ = wider(one, other)
    return a + b


def widening_mul(one: Any, other: Any) -> Expr:
    """The product, in twice as many bits; each operand keeps its sign."""
    a, b, common = wider(one, other)
    if not (isinstance(one, Expr) and isinstance(other, Expr)):
        return a * b
    signed = one.type.is_int() or other.type.is_int()
    kind = (Int if signed else UInt)(2 * common.bits)
    return cast_to(kind, as_expr(one)) * cast_to(kind, as_expr(other))


def widening_sub(one: Any, other: Any) -> Expr:
    """The difference, in twice as many bits, signed."""
    a, b, kind = wider(one, other)
    signed = Int(2 * kind.bits)
    return cast_to(signed, a) - cast_to(signed, b)


def halving_add(one: Any, other: Any) -> Expr:
    """(one + other) / 2, rounded down, without overflow."""
    a, b, kind = wider(one, other)
    return cast_to(kind, (a + b) // 2)


def rounding_halving_add(one: Any, other: Any) -> Expr:
    """(one + other + 1) / 2, rounded down, without overflow."""
    a, b, kind = wider(one, other)
    return cast_to(kind, (a + b + 1) // 2)


def saturating_add(one: Any, other: Any) -> Expr:
    """The sum, or the nearest value of the type."""
    a, b, kind = wider(one, other)
    return saturating_cast(kind, a + b)


def saturating_sub(one: Any, other: Any) -> Expr:
    """The difference, or the nearest value of the type."""
    a, b, kind = wider(one, other)
    signed = Int(2 * kind.bits)
    return saturating_cast(kind, cast_to(signed, a) - cast_to(signed, b))
