"""Conditions that depend on data: `if (i < j && a[i] > 0)` runs its branch in some of the iterations with `i < j`.

What is affine in a condition restricts the iterations, the rest becomes the guard of each statement in the branch. C
evaluates a condition once, a guard is evaluated again by every statement: where the branch changes what the condition
reads, the front end keeps its value in an array of its own (`extract.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pycparser import c_ast

from generator.expr import Expr
from generator.frontend_c.parse import written_name
from generator.polyhedral.kit.affine import Iteration, NotAffine, Undefined, holds


@dataclass(frozen=True, slots=True)
class StatementContext:
    """Where a statement stands: the iterations that reach it, and the condition (a syntax tree or None) that it has."""

    at: Iteration
    guard: Any = None

    def within(self, at: Iteration) -> StatementContext:
        """The same condition in other iterations."""
        return replace(self, at=at)

    def where_also(self, at: Iteration, condition: Any) -> StatementContext:
        """In the iterations `at`, under one more condition (None: no more)."""
        return StatementContext(at, both(self.guard, condition))


def both(first: Any, second: Any) -> Any:
    """The syntax tree of `first && second`, either of which may be None."""
    if first is None or second is None:
        return second if first is None else first
    return c_ast.BinaryOp("&&", first, second, first.coord)


def always(value: Any, place: StatementContext) -> tuple[Any, StatementContext]:
    """The first value of a variable that is declared at `place`, and where it gets one: without the condition, since
    nobody reads it elsewhere.

    `if (c) { float w = e; .. }` sets w to `c ? e : 0`, so that no iteration sees the w of another.
    """
    if place.guard is None:
        return value, place
    return c_ast.TernaryOp(place.guard, value, c_ast.Constant("int", "0"), value.coord), StatementContext(place.at)


def negation(condition: Any) -> Any:
    """The syntax tree of `!condition`."""
    return c_ast.UnaryOp("!", condition, condition.coord)


def divide(condition: Any, at: Iteration, read: Callable[[Any], Expr]) -> tuple[Iteration, Any]:
    """The iterations that the affine parts of `condition` leave of `at`, and its other parts (None: no others).

    The parts are those that must all hold. That C would evaluate one that depends on data in more iterations does not
    matter: it has no effect. `read` makes expressions of syntax trees.

    Raises:
        Undefined: one of them has no value.
    """
    rest = None
    for part in _parts(condition):
        if at.domain.is_empty():
            return at, None
        try:
            at = at.restrict(holds(read(part), at))
        except Undefined:
            raise
        except NotAffine:
            rest = both(rest, part)
    return at, rest


def _parts(condition: Any) -> Iterator[Any]:
    """Conditions that hold together exactly where `condition` holds, in the order of their evaluation."""
    match condition:
        case c_ast.BinaryOp(op="&&"):
            yield from _parts(condition.left)
            yield from _parts(condition.right)
        case c_ast.UnaryOp(op="!", expr=c_ast.BinaryOp(op="||") as either):
            yield from _parts(negation(either.left))
            yield from _parts(negation(either.right))
        case c_ast.UnaryOp(op="!", expr=c_ast.UnaryOp(op="!") as negated):
            yield from _parts(negated.expr)
        case _:
            yield condition


def changes_condition(branch: Any) -> bool:
    """Whether the parts of an `if` write what its condition reads before the last time that a guard would read it."""
    read = _Mentioned()
    read.visit(branch.cond)
    written = [*writes(branch.iftrue, False), *writes(branch.iffalse, False)]
    return any(name in read.names and (again or k < len(written) - 1) for k, (name, again) in enumerate(written))


class _Mentioned(c_ast.NodeVisitor):  # type: ignore[misc]  # pycparser has no types
    """All names in a syntax tree."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_ID(self, node: Any) -> None:
        self.names.add(node.name)


def writes(node: Any, repeated: bool) -> Iterator[tuple[str, bool]]:
    """The names that the assignments in `node` write, in text order, and whether a loop in `node` repeats them."""
    match node:
        case c_ast.Compound():
            for item in node.block_items or []:
                yield from writes(item, repeated)
        case c_ast.For():
            yield from writes(node.stmt, True)
        case c_ast.If():
            yield from writes(node.iftrue, repeated)
            yield from writes(node.iffalse, repeated)
        case c_ast.Assignment():
            yield from writes(node.rvalue, repeated)
            yield written_name(node.lvalue), repeated
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
            yield written_name(node.expr), repeated
        case c_ast.Decl() if node.init is not None:
            yield node.name, repeated
        case _:
            return
