"""Replace variables that hold an index by the index: after `int at = y * w + x`, `a[at - 1]` is `a[y * w + x - 1]`.

Expressions of iterators and sizes only are known before the program runs; in a variable they would count as data. Trees
are changed in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.frontend_c.c_types import converted
from generator.frontend_c.ctypes import INTEGER_TYPES, declared, integers_of, is_truth
from generator.frontend_c.elements import assigned, iterators_of, nodes, put_child
from generator.program import ElementType

_LONGEST = 60  # operations, variables and constants
_OPERATORS = frozenset(["+", "-", "*", "/", "%", "<<", ">>", "&", "<", "<=", ">", ">=", "==", "!=", "&&", "||"])


def write_indices(items: Sequence[Any], scope: Mapping[str, Any], dead: Collection[str],
                  typedefs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return `items` with index variables replaced by their values; assignments to variables that become dead are
    removed.

    `scope`: the declarations before the SCoP. `dead`: the variables that are not read after it.
    """
    inside = {node.name: node for item in items for node in nodes(item) if isinstance(node, c_ast.Decl)}
    kinds = integers_of({**scope, **inside}, typedefs)
    changed = {name for item in items for node in nodes(item) for name in (*assigned(node), *_stepped(node))}
    work = _Indices(kinds, {name for name in kinds if name not in changed and name not in inside})
    block = c_ast.Compound(list(items))
    work.block(block, frozenset())
    _leave_out(block, work.written & (set(dead) | set(inside)))
    return tuple(block.block_items)


def _stepped(node: Any) -> list[str]:
    return iterators_of(node) if isinstance(node, c_ast.For) else []


@dataclass
class _Indices:
    """`kinds`: the types of integer scalars. `fixed`: those that do not change. `written`: collects the replaced
    variables.
    """

    kinds: Mapping[str, ElementType]
    fixed: Collection[str]

    def __post_init__(self) -> None:
        self.written: set[str] = set()

    def block(self, node: Any, around: frozenset[str]) -> None:
        """Replace the index variables of a block, then those of its inner blocks. `around`: the iterators of the outer
        loops.
        """
        items = node.block_items or [] if isinstance(node, c_ast.Compound) else []
        for k, item in enumerate(items):
            match _set(item):
                case (name, value) if self.is_index(name, value, around):
                    value = converted(value, self.kinds[name], self.kinds, {})
                    end = next((n for n in range(k + 1, len(items)) if _changes(items[n], name)), len(items))
                    items[k + 1:end] = [_replaced(later, name, value) for later in items[k + 1:end]]
                    self.written.add(name)
        inner = around | set(_stepped(node))
        for _, child in node.children():
            self.block(child, inner)

    def is_index(self, name: str, value: Any, around: frozenset[str]) -> bool:
        """Return whether the `value` of a variable is a short expression of `around` and of variables that do not
        change.
        """
        return name in self.kinds and name not in around and sum(1 for _ in nodes(value)) <= _LONGEST and all(
            self.is_part(part, around) for part in nodes(value))

    def is_part(self, node: Any, around: frozenset[str]) -> bool:
        """Return whether a node of an expression is a number, an operation on integers, an iterator or an unchanged
        variable.
        """
        match node:
            case c_ast.ID(name=name):
                return name in self.kinds and (name in around or name in self.fixed)
            case c_ast.Constant():
                return "int" in node.type
            case c_ast.BinaryOp():
                return node.op in _OPERATORS
            case c_ast.UnaryOp():
                return node.op in ("-", "+", "!")
            case c_ast.Cast():
                return _names_integer(node)
            case _:
                return isinstance(node, (c_ast.TernaryOp, c_ast.Typename, c_ast.TypeDecl, c_ast.IdentifierType))


def _names_integer(cast: Any) -> bool:
    kind = declared(cast.to_type.type, {})
    return (
        kind is not None and not kind.extents and kind.element in INTEGER_TYPES and not is_truth(cast.to_type.type, {})
    )


def _set(item: Any) -> tuple[str, Any] | None:
    """Return the variable that a statement sets, and the value."""
    match item:
        case c_ast.Decl(init=value) if isinstance(item.type, c_ast.TypeDecl) and value is not None:
            return item.name, value
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
            return name, value
        case _:
            return None


def _changes(item: Any, name: str) -> bool:
    """Return whether a statement may change a variable."""
    return any(name in (*assigned(node), *_stepped(node)) for node in nodes(item))


def _replaced(node: Any, name: str, value: Any) -> Any:
    """Return `node` with copies of `value` in place of a variable."""
    if isinstance(node, c_ast.ID) and node.name == name:
        return deepcopy(value)
    for label, child in node.children():
        put_child(node, label, _replaced(child, name, value))
    return node


def _leave_out(block: Any, names: Collection[str]) -> None:
    """Remove the assignments to those of `names` that are never read from `block`."""
    read = Counter(node.name for node in nodes(block) if isinstance(node, c_ast.ID))
    blocks = [node for node in nodes(block) if isinstance(node, c_ast.Compound) and node.block_items]
    read -= Counter(found[0] for node in blocks for item in node.block_items
                    if isinstance(item, c_ast.Assignment) and (found := _set(item)) is not None)
    unread = {name for name in names if not read[name]}
    for node in blocks:
        node.block_items = [item for item in node.block_items if not _is_set_of(item, unread)]


def _is_set_of(item: Any, names: Collection[str]) -> bool:
    """Return whether a statement only sets or only declares one of `names`."""
    found = _set(item)
    name = found[0] if found is not None else item.name if isinstance(item, c_ast.Decl) and item.init is None else None
    return name in names
