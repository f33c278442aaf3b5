"""Passes that replace the statements of a SCoP: one may become several, also where C has room for one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

BODIES = ("stmt", "iftrue", "iffalse")
"""The names of statements in loops and `if`s."""


class Rewriting(ABC):
    """Rewrites statements, in place where it can."""

    @abstractmethod
    def statement(self, node: Any) -> list[Any]:
        """Return one rewritten statement, which may become several."""

    def block(self, items: Sequence[Any]) -> list[Any]:
        """Return the rewritten statements in text order."""
        return [found for item in items for found in self.statement(item)]

    def one(self, node: Any) -> Any:
        """Return the body of a loop or one part of an `if`."""
        found = self.statement(node)
        return found[0] if len(found) == 1 else c_ast.Compound(found, node.coord)


class StructureRewriting(Rewriting):
    """Rewrites statements with structures: an assignment of a whole one becomes several, of its numbers."""

    def statement(self, node: Any) -> list[Any]:
        """Return one rewritten statement, which may become several."""
        match node:
            case c_ast.Compound():
                node.block_items = self.block(node.block_items or [])
                return [node]
            case c_ast.For() | c_ast.If():
                for name, child in node.children():
                    setattr(node, name, self.one(child) if name in BODIES else self.rewritten(child))
                return [node]
            case c_ast.Assignment(op="=") if (target := self.whole(node.lvalue)) is not None:
                return self.copied(target, node.rvalue, node)
            case _:
                return [self.rewritten(node)]

    @abstractmethod
    def whole(self, node: Any) -> Any:
        """Return the structure that `node` is as a whole, if it is one."""

    @abstractmethod
    def copied(self, target: Any, value: Any, node: Any) -> list[Any]:
        """Return the assignment of a structure to another one, number by number."""

    @abstractmethod
    def rewritten(self, node: Any) -> Any:
        """Return an expression or statement without members of structures (changed in place). Raises InputError."""
