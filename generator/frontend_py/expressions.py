"""Expressions of the pipeline language and their operators: numbers and operations; `nodes.py` has the other nodes.

Operators follow Halide: operands are converted to one type (`types.promoted`), Python numbers take the type of the
other operand, integer division rounds so that the remainder is never negative, and `x / 0` and `x % 0` are 0 for
integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from generator.errors import InputError
from generator.frontend_py.no_number import NoNumber
from generator.frontend_py.types import BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, Type, promoted
from generator.frontend_py.where import here

Number: TypeAlias = int | float | bool
ExprLike: TypeAlias = Union["Expr", int, float, bool]
_MOST_FACTORS = 64


class Converting(type):
    """`Expr(3)` is the number as an expression, `Expr()` no value; subclasses are instantiated as usual."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """A new expression."""
        if cls is Expr:
            return as_expr(*args) if args else Undefined()
        return super().__call__(*args, **named)


class Expr(NoNumber, metaclass=Converting):
    """A value without side effects, made by operators and functions; `Expr(3)` is a number, `Expr()` is undefined."""

    __slots__ = ()
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # subclasses have their own; an abstract class could not be called, but `Expr(3)` can
        def __init__(self, value: ExprLike = ...) -> None: ...

        @property
        def type(self) -> Type:
            """The type of the value."""

    def defined(self) -> bool:
        """Return whether it has a value: all do except `Expr()`."""
        return True

    def __bool__(self) -> bool:
        raise InputError("whether an expression is true is known only when the pipeline runs; use select(condition, a, "
                         "b) instead of `if`, and & | ~ instead of `and`, `or`, `not`", here())

    def __iter__(self) -> Iterator[Expr]:
        raise InputError("an expression cannot be iterated over", here())

    def __add__(self, other: ExprLike) -> Expr:
        return arithmetic("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return arithmetic("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return arithmetic("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return arithmetic("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return arithmetic("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return arithmetic("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return arithmetic("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return arithmetic("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return _floor_divide(self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return _floor_divide(other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return arithmetic("%", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return arithmetic("%", other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return power(self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return power(other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return bitwise("&", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return bitwise("&", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return bitwise("|", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return bitwise("|", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return bitwise("^", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return bitwise("^", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return shifted("<<", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return shifted("<<", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return shifted(">>", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return shifted(">>", other, self)

    def __invert__(self) -> Expr:
        if self.type.is_float():
            raise InputError("~ needs integers or truth values, not a floating-point number", here())
        return Op("!" if self.type.is_bool() else "~", self.type, (as_expr(self),))

    def __neg__(self) -> Expr:
        return Op("neg", self.type, (as_expr(self),)) if self.type.is_float() else arithmetic("-", 0, self)

    def __pos__(self) -> Expr:
        return as_expr(self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]  # a comparison is an expression here
        return compared("==", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]  # makes an Expr, as in Halide
        return compared("!=", self, other)

    def __lt__(self, other: ExprLike) -> Expr:
        return compared("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return compared("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return compared(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return compared(">=", self, other)


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A number; `kind` is its type."""

    kind: Type
    value: int | float

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.kind


@dataclass(frozen=True, slots=True, eq=False)
class Op(Expr):
    """An operator or a function on values: `functions.py` lists the kinds, `interpret.py` defines their meaning."""

    name: str
    kind: Type
    args: tuple[Expr, ...]

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.kind


class Undefined(Expr):
    """`Expr()`, no value: a dimension without limits, where bounds are given."""

    __slots__ = ()

    @property
    def type(self) -> Type:
        """Raises InputError, because there is no type."""
        raise InputError("an undefined Expr() is used as a value", here())

    def defined(self) -> bool:
        """Return False."""
        return False


def as_expr(value: object, like: Type | None = None) -> Expr:
    """Return an expression for any accepted value; a Python number gets the type `like`.

    Raises:
        InputError: neither an expression nor a number, or a number that does not exist in that type.
    """
    if hasattr(value, "as_expr"):  # accepted without being an expression
        converted: Expr = value.as_expr()
        return converted
    if isinstance(value, Undefined):
        raise InputError("an undefined Expr() is used as a value", here())
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic | np.ndarray):
        if value.ndim:
            raise InputError(
                f"a numpy array of shape {value.shape} is not an expression; use its elements, or a Buffer of it",
                here(),
            )
        value = value.item()
    if isinstance(value, bool) and like is None:
        return Const(BOOL, int(value))
    if isinstance(value, int | float):
        return constant(value, like)
    if isinstance(value, tuple | list):
        raise InputError(f"{len(value)} values are used as one expression; choose one of them, or define a Func by the "
                         "tuple", here())
    raise InputError(f"{value!r} is not an expression; use numbers, Vars, Funcs, images and operators on them", here())


def constant(value: float, like: Type | None) -> Const:
    """Return a number as an expression of type `like`; by default int32 or float32. Raises InputError if it does not
    fit.
    """
    if like is None:
        like = INT32 if isinstance(value, int) else FLOAT32
    elif isinstance(value, float) and (not like.is_float() or like == FLOAT16):
        like = FLOAT32
    if not like.holds(value):
        raise InputError(
            f"the constant {value} does not exist in {like}; cast the other operand to a wider type, or write "
            "cast(type, value)",
            here(),
        )
    return Const(like, float(value) if like.is_float() else int(value))


def matched(left: object, right: object) -> tuple[Expr, Expr]:
    """Return two operands in one type."""
    one = as_expr(left, right.type if isinstance(right, Expr) else None)
    other = as_expr(right, one.type if not isinstance(right, Expr) else None)
    kind = promoted(one.type, other.type)
    return cast_to(kind, one), cast_to(kind, other)


def cast_to(kind: Type, value: Expr) -> Expr:
    """Return `value` in another type: integers wrap around, floating-point numbers are truncated towards 0."""
    if value.type == kind:
        return value
    if isinstance(value, Const) and kind.holds(value.value) and not (value.type.is_float() and not kind.is_float()):
        return Const(kind, float(value.value) if kind.is_float() else int(value.value))
    return Op("cast", kind, (value,))


def arithmetic(name: str, left: object, right: object) -> Expr:
    """Return `left name right` with one of + - * / % min max."""
    one, other = matched(left, right)
    if one.type.is_bool() and name not in ("min", "max"):
        raise InputError(f"`{name}` of truth values; use & | ^, or cast them to a number", here())
    if name == "%" and one.type.is_float():
        name = "fmod"
    return Op(name, one.type, (one, other))


def _floor_divide(left: object, right: object) -> Expr:
    quotient = arithmetic("/", left, right)
    return Op("floor", quotient.type, (quotient,)) if quotient.type.is_float() else quotient


def power(base: object, exponent: object) -> Expr:
    """Return `base ** exponent`: multiplied out in the type of `base` for an integer constant, else in floating point.

    That is float64 if `base` is, else float32.
    """
    one = as_expr(base, exponent.type if isinstance(exponent, Expr) and exponent.type.is_float() else None)
    given = as_expr(exponent)
    if (
        isinstance(given, Const)
        and given.type.is_int()
        and (abs(given.value) <= _MOST_FACTORS or not one.type.is_float())
    ):
        return _integer_power(one, int(given.value))
    other = given if isinstance(exponent, Expr) else as_expr(exponent, one.type if one.type.is_float() else FLOAT32)
    kind = FLOAT64 if one.type == FLOAT64 else FLOAT32
    return Op("pow", kind, (cast_to(kind, one), cast_to(kind, other)))


def _integer_power(base: Expr, exponent: int) -> Expr:
    """Return the product of `exponent` factors, or 1 divided by it."""
    if abs(exponent) > _MOST_FACTORS:  # the text of the kernels would contain all of them
        raise InputError(
            f"{base.type} to the power of {exponent}: at most {_MOST_FACTORS} integers are multiplied in one "
            "expression; use product(...) over an RDom",
            here(),
        )
    if exponent > 0:
        return _multiplied(base, exponent)
    unit = cast_to(base.type, Const(INT32, 1))
    return unit if exponent == 0 else unit / _multiplied(base, -exponent)


def _multiplied(base: Expr, count: int) -> Expr:
    """Return the product of `count` factors `base`, by squaring."""
    if count == 1:
        return base
    half = _multiplied(base, count // 2)
    return half * half * base if count % 2 else half * half


def bitwise(name: str, left: object, right: object) -> Expr:
    """Return `left name right` with one of & | ^, on integers or truth values."""
    one, other = matched(left, right)
    if one.type.is_float():
        raise InputError(f"`{name}` needs integers or truth values, not floating-point numbers", here())
    return Op(name, one.type, (one, other))


def shifted(name: str, left: object, right: object) -> Expr:
    """Return `left << right` or `left >> right`; a negative count shifts in the other direction.

    The result has the signedness of `left` and, for two expressions, the greater number of bits.
    """
    one, other = as_expr(left), as_expr(right)
    if one.type.is_float() or other.type.is_float():
        raise InputError(f"`{name}` needs integers, not floating-point numbers", here())
    kind = one.type.with_bits(max(one.type.bits, other.type.bits)) if isinstance(right, Expr) else one.type
    return Op(name, kind, (cast_to(kind, one), cast_to(INT32, other)))


def compared(name: str, left: object, right: object) -> Expr:
    """Return `left name right` as a truth value."""
    one, other = matched(left, right)
    return Op(name, BOOL, (one, other))
