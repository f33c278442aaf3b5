"""A definition of a Func, pure or an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from generator.errors import Location
from generator.frontend_py.domain import RDom
from generator.frontend_py.images import Image
from generator.frontend_py.nodes import Expr, as_expr
from generator.frontend_py.prepared import Note
from generator.frontend_py.types import Type

if TYPE_CHECKING:
    from generator.frontend_py.func import FuncRef


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """`f[args] = values` (several values: a tuple), for all points of `domain` if it is an update over one."""

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    at: Location
    domain: RDom | None = None
    notes: tuple[Note, ...] = ()

    @property
    def computed(self) -> tuple[Expr, ...]:
        """The expressions that kernels evaluate: values, coordinates, the condition of the domain."""
        condition = self.domain.predicate if self.domain is not None else None
        return (*self.values, *self.args, *(() if condition is None else (condition,)))

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The expressions that the interpreter evaluates: the same, and those of prints and requirements."""
        return (*self.computed, *(expr for note in self.notes for expr in note.exprs))


@dataclass(frozen=True, slots=True, eq=False)
class Accumulation:
    """The argument of a definition for `f[x] += e`; `ref` is the updated element."""

    ref: FuncRef
    op: str
    values: tuple[Any, ...]


def values_of(value: Any, kinds: Sequence[Type] = ()) -> tuple[Expr, ...]:
    """Return the values of a definition, one or those of a tuple; Python numbers get the types of `kinds` if possible.
    """
    values = separate(value)
    wanted = kinds if len(kinds) == len(values) else [None] * len(values)
    return tuple(as_expr(v, kind) for v, kind in zip(values, wanted, strict=True))


def separate(value: Any) -> tuple[Any, ...]:
    """Return the values of a tuple, or the only one."""
    return tuple(value[k] for k in range(len(value))) if is_tuple(value) else (value,)


def is_tuple(value: Any) -> bool:
    """Return whether a value consists of several: a tuple, a use of a Func of tuples, or any object with a length and
    elements (a class for complex numbers, for example).
    """
    if isinstance(value, tuple):
        return True
    if isinstance(value, str | list | dict | Image | np.ndarray | np.generic) or not hasattr(value, "__len__"):
        return False
    values: Any = value
    return hasattr(value, "__getitem__") and not isinstance(value, RDom) and (
        len(values) > 1 or not isinstance(value, Expr))
