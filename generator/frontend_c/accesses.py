"""The accesses of one statement: its loads are numbered, each with the relation to the elements that it may access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from generator.errors import InputError
from generator.expr import Binary, Cast, Expr, Int, Load, Select, map_children
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.expressions import without_casts
from generator.frontend_c.places import where
from generator.frontend_c.source import Variable
from generator.polyhedral.kit.affine import Iteration, NotAffine, Undefined, holds, relation, subtract
from generator.program import Access, AccessKind

Shapes: TypeAlias = Callable[[str], Sequence[int | None]]
"""Returns the extents of an array by its name; None for unknown ones."""


class Accesses:
    """Numbers the loads of one statement and records their access relations.

    A subscript that depends on data, or is otherwise not affine, may be any index of its dimension: reads of such
    elements are reads of all of them, writes may write to each of them. `conditional`: all writes are uncertain.
    """

    def __init__(self, statement: str, at: Iteration, node: Any, variables: Mapping[str, Variable], shapes: Shapes,
                 conditional: bool) -> None:
        self.statement, self.at, self.node, self.variables = statement, at, node, variables
        self.shapes, self.conditional = shapes, conditional
        self.found: list[Access] = []

    def target(self, load: Load, compound: bool) -> Load:
        """Record the write to `load`, preceded by the read for a compound assignment. Raises InputError."""
        index = self._subscripts(load, self.at)
        if compound:
            self._add(load, index, "read", self.at)
        return self._add(load, index, "write", self.at)

    def number(self, expr: Expr, at: Iteration | None = None) -> Expr:
        """Return `expr` with every load recorded as a read, in the iterations `at` in which it is evaluated.

        Raises:
            InputError: a subscript that is not affine, in an array of unknown size; or one without a value.
        """
        at = at or self.at
        match expr:
            case Load(array) if at.domain.is_empty():  # never evaluated; only its type matters
                return Cast(self.variables[array].type, Int(0))
            case Load():
                return self._add(expr, self._subscripts(expr, at), "read", at)
            case Select(test, then, otherwise):
                yes, no = _cases(test, at)
                return Select(self.number(test, at), self.number(then, yes), self.number(otherwise, no))
            case Binary("&&" | "||" as op, left, right):
                yes, no = _cases(left, at)
                return Binary(op, self.number(left, at), self.number(right, yes if op == "&&" else no))
            case _:
                return map_children(expr, lambda child: self.number(child, at))

    def _subscripts(self, load: Load, at: Iteration) -> tuple[Expr, ...]:
        """Return the subscripts of `load`, with the elements that they load recorded as reads."""
        return tuple(self.number(index, at) for index in load.index)

    def _add(self, load: Load, index: tuple[Expr, ...], kind: AccessKind, at: Iteration) -> Load:
        """Record an access to `load`, whose subscripts are numbered as `index`."""
        try:
            reached = relation(at, self.statement, load.array, load.index, self.shapes(load.array))
        except NotAffine as error:
            raise InputError(f"a subscript of `{load.array}` in `{to_c(self.node)}` is not affine: {error}"
                             f"{_advice(error, self.variables[load.array])}", where(self.node)) from None
        if kind == "write" and (self.conditional or not all(reached.exact)):
            kind = "may_write"
        self.found.append(Access(load.array, reached.text, kind))
        plain = tuple(without_casts(i) if exact else i for i, exact in zip(index, reached.exact, strict=True))
        return Load(load.array, plain, len(self.found) - 1)


def _advice(error: NotAffine, variable: Variable) -> str:
    """Return the remedy for a subscript that is not affine."""
    if isinstance(error, Undefined):
        return ""
    sizes = "".join(f"[{text or 'SIZE'}]" for text in variable.extents)
    return (f"; so it may be any element, but the size of `{variable.name}` is unknown: declare it as "
            f"`{variable.type} {variable.name}{sizes}`")


def _cases(test: Expr, at: Iteration) -> tuple[Iteration, Iteration]:
    """Return where `test` holds and where it does not; everywhere for both if that depends on data."""
    try:
        region = holds(test, at)
    except NotAffine:
        return at, at
    return at.restrict(region), subtract(at, region)
