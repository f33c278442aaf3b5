"""Convert `while` loops that count to `for` loops: their counter is set before them, and advanced once, at the end of
their body.

    k = 0;                                             k = 0;
    while (k < n && x < 4) { x = x * x; k++; }    ->   for (k = 0; k < n && x < 4; k++) { x = x * x; }
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any

from pycparser import c_ast

from generator.frontend_c.elements import assigned, iterators_of, nodes
from generator.frontend_c.loops import advance

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)


def count_whiles(items: Sequence[Any], integers: Collection[str]) -> tuple[Any, ...]:
    """Return `items` with `for` loops in place of such `while` loops (changed in place); others stay unchanged.

    `integers`: the names of integer variables, which can count.
    """
    block = c_ast.Compound(list(items))
    for node in reversed(list(nodes(block))):  # inner loops first
        for k, item in enumerate(node.block_items or [] if isinstance(node, c_ast.Compound) else []):
            if isinstance(item, c_ast.While):
                node.block_items[k] = _as_for(node.block_items[:k], item, integers) or item
    return tuple(block.block_items)


def _as_for(before: Sequence[Any], loop: Any, integers: Collection[str]) -> Any | None:
    """Return the `for` loop for a `while` loop after the statements `before`; None if it does not count."""
    body = list(loop.stmt.block_items or []) if isinstance(loop.stmt, c_ast.Compound) else [loop.stmt]
    counters = assigned(body[-1]) if body else ()
    if not counters or counters[0] not in integers or advance(body[-1], counters[0]) is None:
        return None
    name, rest = counters[0], body[:-1]
    start = _start(before, name)
    if start is None or _changes([loop.cond, *rest], {name}) or any(map(_continues, rest)):
        return None
    first = c_ast.Assignment("=", c_ast.ID(name, loop.coord), start, loop.coord)
    return c_ast.For(first, loop.cond, body[-1], c_ast.Compound(rest, loop.coord), loop.coord)


def _start(before: Sequence[Any], name: str) -> Any | None:
    """Return the last value assigned to a variable in these statements, if that value is unchanged after them."""
    for k in reversed(range(len(before))):
        match before[k]:
            case c_ast.Decl(name=found, init=value) if found == name:
                break
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found), rvalue=value) if found == name:
                break
            case _ if _changes([before[k]], {name}):
                return None
    else:
        return None
    parts = list(nodes(value)) if value is not None else []
    names = {part.name for part in parts if isinstance(part, c_ast.ID)}
    plain = all(isinstance(part, (c_ast.ID, c_ast.Constant, c_ast.BinaryOp)) for part in parts)
    return deepcopy(value) if parts and plain and name not in names and not _changes(before[k + 1:], names) else None


def _changes(items: Sequence[Any], names: set[str]) -> bool:
    """Return whether statements or expressions may change a variable of `names`."""
    return any(
        names.intersection((*assigned(node), *(iterators_of(node) if isinstance(node, c_ast.For) else ())))
        for item in items
        for node in nodes(item)
    )


def _continues(node: Any) -> bool:
    """Return whether `node` has a `continue` of the loop around it."""
    return isinstance(node, c_ast.Continue) or (
        not isinstance(node, _LOOPS) and any(_continues(child) for _, child in node.children()))
