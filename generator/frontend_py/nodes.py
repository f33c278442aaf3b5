"""The kinds of nodes of expressions, and traversals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from generator.errors import Location
from generator.frontend_py.called import Word
from generator.frontend_py.expressions import (
    Const,
    Converting,
    Expr,
    Op,
    arithmetic,
    as_expr,
    bitwise,
    cast_to,
    matched,
    power,
)
from generator.frontend_py.types import INT32, Type

if TYPE_CHECKING:
    from generator.frontend_py.domain import RDom
    from generator.frontend_py.func import Func
    from generator.frontend_py.images import Image
    from generator.frontend_py.param import Param

__all__ = [
    "Call",
    "Const",
    "Edge",
    "Expr",
    "Given",
    "Node",
    "Op",
    "Pixel",
    "RVar",
    "Var",
    "arithmetic",
    "as_expr",
    "bitwise",
    "cast_to",
    "matched",
    "operands",
    "parts",
    "power",
]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Var(Expr):
    """A dimension of a Func; Vars with the same name are the same. Without a name it is a unique dimension."""

    name: Word

    def __init__(self, name: str = "") -> None:
        object.__setattr__(self, "name", Word(name))

    @property
    def type(self) -> Type:
        """Coordinates are 32-bit integers."""
        return INT32

    @property
    def key(self) -> str:
        """Its identity among Vars."""
        return self.name or f"_{id(self)}"


class _Naming(Converting):
    """`RVar("ro")` is the name of a loop in a schedule: a Var, so that a definition with it is refused."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return super().__call__(*args, **named) if args and not isinstance(args[0], str) else Var(*args, **named)


@dataclass(frozen=True, slots=True, eq=False)
class RVar(Expr, metaclass=_Naming):
    """Dimension number `dim` of a reduction domain."""

    domain: RDom
    dim: int

    if TYPE_CHECKING:  # users give at most a name
        def __init__(self, domain: RDom | str = "", dim: int = 0) -> None: ...

    @property
    def type(self) -> Type:
        """Coordinates are 32-bit integers."""
        return INT32

    @property
    def name(self) -> Word:
        """`r.x` -> `r_x`."""
        return Word(f"{self.domain.name}_{'xyzw'[self.dim]}") if len(self.domain.ranges) > 1 else self.domain.name

    def min(self) -> Expr:
        """Return the least coordinate."""
        return self.domain.ranges[self.dim][0]

    def extent(self) -> Expr:
        """Return the number of coordinates."""
        return self.domain.ranges[self.dim][1]


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
    """The least coordinate of an input in dimension `dim` (`what` is "min"), or the number of coordinates ("extent").
    """

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


Node: TypeAlias = Const | Var | RVar | Call | Pixel | Edge | Given | Op


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands of `expr`."""
    return expr.args if isinstance(expr, Call | Pixel | Op) else ()


def parts(*roots: Expr) -> Iterator[Expr]:
    """Yield all different nodes below `roots`, operands before their users."""
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
