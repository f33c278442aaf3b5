"""Data-dependent conditions: `if (i < j && a[i] > 0)` runs its branch in some of the iterations with `i < j`.

The affine part of a condition restricts the iterations, the rest becomes the guard of each statement in the branch. C
evaluates a condition once, but every statement evaluates its guard: if the branch changes data that the condition
reads, the front end stores its value in a separate array (`extract.py`).
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
    """The context of a statement: the iterations that reach it, and its condition (a syntax tree or None)."""

    at: Iteration
    guard: Any = None

    def within(self, at: Iteration) -> StatementContext:
        """Return the same condition in other iterations."""
        return replace(self, at=at)

    def where_also(self, at: Iteration, condition: Any) -> StatementContext:
        """Return the iterations `at`, under one more condition (None: unchanged)."""
        return StatementContext(at, both(self.guard, condition))


def both(first: Any, second: Any) -> Any:
    """Return the syntax tree of `first && second`; either may be None."""
    if first is None or second is None:
        return second if first is None else first
    return c_ast.BinaryOp("&&", first, second, first.coord)


def always(value: Any, place: StatementContext) -> tuple[Any, StatementContext]:
    """Return the initial value of a variable declared at `place`, and where it is set: unconditionally.

    `if (c) { float w = e; .. }` sets w to `c ? e : 0`, so that no iteration sees the w of another. This is correct
    because w is not read elsewhere.
    """
    if place.guard is None:
        return value, place
    return c_ast.TernaryOp(place.guard, value, c_ast.Constant("int", "0"), value.coord), StatementContext(place.at)


def negation(condition: Any) -> Any:
    """Return the syntax tree of `!condition`."""
    return c_ast.UnaryOp("!", condition, condition.coord)


def divide(condition: Any, at: Iteration, read: Callable[[Any], Expr]) -> tuple[Iteration, Any]:
    """Return the iterations of `at` that satisfy the affine parts of `condition`, and its other parts (None: no
    others).

    The parts are those that must all hold. Evaluating a data-dependent part in fewer iterations than C is correct,
    because it has no side effect. `read` converts syntax trees to expressions.

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
    """Yield conditions that hold together exactly if `condition` holds, in order of evaluation."""
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
    """Return whether the parts of an `if` write data of its condition before the last read of a guard."""
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
    """Yield the names that the assignments in `node` write, in text order, and whether a loop in `node` repeats them.
    """
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
