"""Values that are computed once and used several times: local variables before the statement that uses them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.c_types import converted, type_of
from generator.frontend_c.ctypes import INTEGER_TYPES, to_c
from generator.frontend_c.places import where
from generator.program import ElementType

_LONGEST_INDEX = 40  # operations, variables and constants


@dataclass(eq=False)
class Condition:
    """A condition under which values are needed; it gets a variable when it is first requested."""

    node: Any
    around: Path
    base: str


Path: TypeAlias = tuple[tuple[Condition, bool], ...]
"""Conditions, outermost first, each with whether it must hold or must not."""


@dataclass(eq=False)
class Temporaries:
    """New variables of the SCoP. `waiting`: the declarations that must precede the current statement.

    `kinds`, `returns`: the element types of variables and the result types of functions.
    """

    kinds: dict[str, ElementType]
    returns: dict[str, ElementType]
    taken: set[str]
    waiting: list[Any] = field(default_factory=list)

    def converted(self, node: Any, kind: ElementType, truth: bool = False) -> Any:
        """Return `node` with the value of a variable of type `kind`; `truth`: of type `_Bool`."""
        if truth:
            return node if _is_truth(node) else c_ast.BinaryOp("!=", node, _zero(node), node.coord)
        return converted(node, kind, self.kinds, self.returns)

    def shared(self, node: Any, base: str, path: Path) -> Any:
        """Return an expression with the value of `node` that may be used in several places. `base`: the name of its
        variable.

        The variable is set in all iterations, so that nothing depends on an older value; off the `path`, where `node`
        is not needed and may be undefined, it is 0.
        """
        if is_small(node) or self.is_index(node):
            return node
        kind = type_of(node, self.kinds, self.returns)
        if kind is None:
            raise InputError(f"the type of `{to_c(node)}` is not known here", where(node))
        for condition, holds in () if _has_value(node) else reversed(path):
            parts = (node, _zero(node)) if holds else (_zero(node), node)
            node = c_ast.TernaryOp(self.kept(condition), *parts, node.coord)
        return self._declared(node, base, kind)

    def kept_value(self, node: Any, base: str) -> Any:
        """Return a variable with the value of `node` before the statement, which changes its operands."""
        kind = type_of(node, self.kinds, self.returns)
        if kind is None:
            raise InputError(f"the type of `{to_c(node)}` is not known here", where(node))
        return self._declared(node, base, kind)

    def _declared(self, node: Any, base: str, kind: ElementType) -> Any:
        name = self.fresh(base)
        self.kinds[name] = kind
        declarator = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(kind.split()), coord=node.coord)
        self.waiting.append(c_ast.Decl(name, [], [], [], [], declarator, node, None, node.coord))
        return c_ast.ID(name, node.coord)

    def is_index(self, node: Any) -> bool:
        """Return whether `node` may be a subscript, which should not be a variable: a short expression of integer
        variables.
        """
        waiting, seen = [node], 0
        while waiting:
            part = waiting.pop()
            seen += 1
            match part:
                case c_ast.ID(name=name) if self.kinds.get(name) in INTEGER_TYPES:
                    pass
                case (
                    c_ast.Constant(type="int")
                    | c_ast.BinaryOp()
                    | c_ast.TernaryOp()
                    | c_ast.UnaryOp(op="-" | "+" | "!")
                ):
                    waiting += [child for _, child in part.children()]
                case _:
                    return False
        return seen <= _LONGEST_INDEX

    def fresh(self, base: str) -> str:
        """Return an unused name: `base_1`, `base_2`, ..."""
        name = next(name for number in count(1) if (name := f"{base}_{number}") not in self.taken)
        self.taken.add(name)
        return name

    def kept(self, condition: Condition) -> Any:
        """Return the expression of a condition, which is evaluated once."""
        condition.node = self.shared(condition.node, condition.base, condition.around)
        return condition.node

    def flush(self) -> list[Any]:
        """Return the waiting declarations, and clear them."""
        found, self.waiting = self.waiting, []
        return found


def is_small(node: Any) -> bool:
    """Return whether computing `node` again is as good as storing it: a constant, a variable, an element, one
    operation.
    """
    return _operations(node) <= 1


def _operations(node: Any) -> int:
    match node:
        case c_ast.Constant() | c_ast.ID() | c_ast.ArrayRef():
            return 0 if not _calls(node) else 2
        case c_ast.UnaryOp(op="*"):
            return 0
        case c_ast.Cast():
            return _operations(node.expr)
        case c_ast.UnaryOp(op="-" | "+" | "!"):
            return _operations(node.expr)
        case c_ast.BinaryOp(op="/" | "%"):
            return 2
        case c_ast.BinaryOp():
            return 1 + _operations(node.left) + _operations(node.right)
        case _:
            return 2


def _calls(node: Any) -> bool:
    return isinstance(node, (c_ast.FuncCall, c_ast.TernaryOp)) or any(_calls(child) for _, child in node.children())


def _has_value(node: Any) -> bool:
    """Return whether `node` can be evaluated anywhere: it loads no element and divides nothing."""
    if isinstance(node, c_ast.ArrayRef) or getattr(node, "op", "") in ("/", "%") or (
            isinstance(node, c_ast.UnaryOp) and node.op == "*"):
        return False
    return all(_has_value(child) for _, child in node.children())


def _is_truth(node: Any) -> bool:
    return getattr(node, "op", "") in ("<", "<=", ">", ">=", "==", "!=", "&&", "||", "!")


def _zero(node: Any) -> Any:
    return c_ast.Constant("int", "0", node.coord)
