"""Expressions of the pipeline language: trees of a few kinds of nodes, each with its type.

Operators follow Halide: operands are brought to one type (`types.promoted`), Python numbers take the type of the other
operand, integer division rounds so that the remainder is never negative, and `x / 0` and `x % 0` are 0 for integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from generator.errors import InputError, Location
from generator.frontend_py.types import BOOL, FLOAT32, FLOAT64, INT32, Type, promoted
from generator.frontend_py.where import here

if TYPE_CHECKING:
    from generator.frontend_py.domain import RDom
    from generator.frontend_py.func import Func
    from generator.frontend_py.images import Image, Param

Number: TypeAlias = int | float | bool
ExprLike: TypeAlias = Union["Expr", int, float, bool]


class _Converting(type):
    """`Expr(3)` is the number as an expression; the kinds of expressions are made as any class."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return as_expr(*args) if cls is Expr else super().__call__(*args, **named)


class Expr(metaclass=_Converting):
    """A value without side effects, made by operators and functions; `Expr(3)` is a number."""

    __slots__ = ()
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # every kind has its own; an abstract class could not be called, but `Expr(3)` can
        def __init__(self, value: ExprLike) -> None: ...

        @property
        def type(self) -> Type:
            """The type of the value."""

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

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
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
    """A number. `kind` is its type."""

    kind: Type
    value: int | float

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.kind


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A dimension of a Func; two with one name are the same. Without a name it is a dimension of its own."""

    name: str = ""

    @property
    def type(self) -> Type:
        """Coordinates are 32-bit integers."""
        return INT32

    @property
    def key(self) -> str:
        """What distinguishes it from other Vars."""
        return self.name or f"_{id(self)}"


@dataclass(frozen=True, slots=True, eq=False)
class RVar(Expr):
    """Dimension number `dim` of a reduction domain."""

    domain: RDom
    dim: int

    @property
    def type(self) -> Type:
        """Coordinates are 32-bit integers."""
        return INT32

    @property
    def name(self) -> str:
        """`r.x` -> `r_x`."""
        return f"{self.domain.name}_{'xyzw'[self.dim]}" if len(self.domain.ranges) > 1 else self.domain.name


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """Value number `index` of a Func at some coordinates; `kind` is its type."""

    func: Func
    args: tuple[Expr, ...]
    index: int
    kind: Type
    at: Location

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.kind


@dataclass(frozen=True, slots=True, eq=False)
class Pixel(Expr):
    """An element of an input."""

    image: Image
    args: tuple[Expr, ...]
    at: Location

    @property
    def type(self) -> Type:
        """The type of the elements."""
        return self.image.type


@dataclass(frozen=True, slots=True, eq=False)
class Edge(Expr):
    """The least coordinate of an input in dimension `dim` (`what` is "min"), or how many there are ("extent")."""

    image: Image
    dim: int
    what: str

    @property
    def type(self) -> Type:
        """Coordinates are 32-bit integers."""
        return INT32


@dataclass(frozen=True, slots=True, eq=False)
class Given(Expr):
    """The value of a Param."""

    param: Param

    @property
    def type(self) -> Type:
        """The type of the parameter."""
        return self.param.type


@dataclass(frozen=True, slots=True, eq=False)
class Op(Expr):
    """An operator or a function on values: the kinds are listed in `functions.py`, `interpret.py` gives their meaning."""

    name: str
    kind: Type
    args: tuple[Expr, ...]

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.kind


Node: TypeAlias = Const | Var | RVar | Call | Pixel | Edge | Given | Op


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands of `expr`."""
    return expr.args if isinstance(expr, Call | Pixel | Op) else ()


def parts(*roots: Expr) -> Iterator[Expr]:
    """All different nodes below `roots`, operands before what uses them."""
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(child, False) for child in reversed(operands(node))]


def as_expr(value: object, like: Type | None = None) -> Expr:
    """An expression of whatever can stand where one is expected; a Python number gets the type `like`.

    Raises:
        InputError: no expression and no number, or a number that does not exist in that type.
    """
    if hasattr(value, "as_expr"):  # what stands for an expression without being one
        converted: Expr = value.as_expr()
        return converted
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool) and like is None:
        return Const(BOOL, int(value))
    if isinstance(value, int | float) or hasattr(value, "__float__"):
        number = value if isinstance(value, int | float) else value.item()  # type: ignore[attr-defined]
        return constant(number, like)
    raise InputError(f"{value!r} is no expression; use numbers, Vars, Funcs, images and operators on them", here())


def constant(value: float, like: Type | None) -> Const:
    """A number as an expression of type `like`; without it, int32 or float32. Raises InputError when it does not fit."""
    if like is None:
        like = INT32 if isinstance(value, int) else FLOAT32
    elif isinstance(value, float) and not like.is_float():
        like = FLOAT32
    if not like.holds(value):
        raise InputError(f"the constant {value} does not exist in {like}; cast the other operand to a wider type, or write "
                         "cast(type, value)", here())
    return Const(like, float(value) if like.is_float() else int(value))


def matched(left: object, right: object) -> tuple[Expr, Expr]:
    """Two operands in one type."""
    one = as_expr(left, right.type if isinstance(right, Expr) else None)
    other = as_expr(right, one.type if not isinstance(right, Expr) else None)
    kind = promoted(one.type, other.type)
    return cast_to(kind, one), cast_to(kind, other)


def cast_to(kind: Type, value: Expr) -> Expr:
    """`value` in another type: integers wrap around, floating-point numbers are cut off towards 0."""
    if value.type == kind:
        return value
    if isinstance(value, Const) and kind.holds(value.value) and not (value.type.is_float() and not kind.is_float()):
        return Const(kind, float(value.value) if kind.is_float() else int(value.value))
    return Op("cast", kind, (value,))


def arithmetic(name: str, left: object, right: object) -> Expr:
    """`left name right` with one of + - * / % min max."""
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
    """`base ** exponent` in floating-point numbers: float64 if one of them is, else float32."""
    one = as_expr(base, exponent.type if isinstance(exponent, Expr) and exponent.type.is_float() else None)
    if isinstance(exponent, int) and 0 < exponent < 5 and one.type.is_float():
        result = one
        for _ in range(exponent - 1):
            result = result * one
        return result
    other = as_expr(exponent, one.type if one.type.is_float() else FLOAT32)
    kind = FLOAT64 if FLOAT64 in (one.type, other.type) else FLOAT32
    return Op("pow", kind, (cast_to(kind, one), cast_to(kind, other)))


def bitwise(name: str, left: object, right: object) -> Expr:
    """`left name right` with one of & | ^, on integers or truth values."""
    one, other = matched(left, right)
    if one.type.is_float():
        raise InputError(f"`{name}` needs integers or truth values, not floating-point numbers", here())
    return Op(name, one.type, (one, other))


def shifted(name: str, left: object, right: object) -> Expr:
    """`left << right` or `left >> right`, by a negative number the other way.

    The result has the sign of `left` and the greater number of bits of two expressions.
    """
    one, other = as_expr(left), as_expr(right)
    if one.type.is_float() or other.type.is_float():
        raise InputError(f"`{name}` needs integers, not floating-point numbers", here())
    kind = one.type.with_bits(max(one.type.bits, other.type.bits)) if isinstance(right, Expr) else one.type
    return Op(name, kind, (cast_to(kind, one), cast_to(INT32, other)))


def compared(name: str, left: object, right: object) -> Expr:
    """`left name right` as a truth value."""
    one, other = matched(left, right)
    return Op(name, BOOL, (one, other))
