"""Funcs of a declared type: `Func(UInt(8), 2, "f")` must be defined with two coordinates and values of that type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from generator.errors import InputError, Location
from generator.frontend_py.nodes import Expr
from generator.frontend_py.types import Type
from generator.frontend_py.where import here


@dataclass(frozen=True, slots=True)
class Declared:
    """The types of the values, and the number of coordinates (None: any)."""

    types: tuple[Type, ...]
    dimensions: int | None

    def check(self, title: str, args: Sequence[Expr], kinds: Sequence[Type], at: Location) -> None:
        """Raise InputError if a definition of Func `title` does not match."""
        if tuple(kinds) != self.types:
            raise InputError(
                f"Func `{title}` is declared with the type {', '.join(map(str, self.types))} but defined with "
                f"{', '.join(map(str, kinds))}; cast the value",
                at,
            )
        if self.dimensions is not None and len(args) != self.dimensions:
            raise InputError(
                f"Func `{title}` is declared with {self.dimensions} coordinate(s) but defined with {len(args)}", at
            )


def declared(first: Any, dimensions: int | None) -> Declared | None:
    """Return the declaration in a Func's arguments: a Type or a list of them, and its dimensions; None if there is
    none.

    Raises InputError for dimensions without a type.
    """
    kinds = (first,) if isinstance(first, Type) else tuple(first) if isinstance(first, list | tuple) else ()
    if kinds and all(isinstance(kind, Type) for kind in kinds):
        return Declared(kinds, dimensions)
    if dimensions is not None:
        raise InputError("Func(type, dimensions, name): a Type, or a list of them, comes first", here())
    return None
