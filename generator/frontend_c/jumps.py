"""Convert `continue` and `break` to conditions: `continue` skips the rest of the loop's body, `break` also all later
iterations.

    for (..) { A; if (c) { B; continue; } C; }   ->   for (..) { A; if (c) { B; } else { C; } }
    for (..) { A; if (c) { B; break; } C; }      ->   for (..) if (going) { A; if (c) { B; going = 0; } if (going) C; }
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pycparser import c_ast

from generator.frontend_c.elements import put_child


def without_continue(body: Any) -> Any:
    """Return a loop's `body` without `continue`s that end one part of an `if`; others stay unchanged."""
    return c_ast.Compound(_structured(_items(body)), body.coord) if _ends(body) or _has_jumps(body) else body


def _items(node: Any) -> list[Any]:
    match node:
        case None:
            return []
        case c_ast.Compound():
            return list(node.block_items or [])
        case _:
            return [node]


def _structured(items: list[Any]) -> list[Any]:
    for k, item in enumerate(items):
        rest = items[k + 1:]
        match item:
            case c_ast.Continue():
                return items[:k]
            case c_ast.If(iftrue=yes, iffalse=no) if _ends(yes):
                return [*items[:k], _branch(item, _items(yes), [*_items(no), *rest])]
            case c_ast.If(iftrue=yes, iffalse=no) if _ends(no):
                return [*items[:k], _branch(item, [*_items(yes), *rest], _items(no))]
    return items


def _branch(node: Any, yes: list[Any], no: list[Any]) -> Any:
    parts = [c_ast.Compound(_structured(items), node.coord) for items in (yes, no)]
    return c_ast.If(node.cond, *parts, node.coord)


def _ends(node: Any) -> bool:
    """Return whether `continue` is the last statement of a block."""
    items = _items(node)
    return bool(items) and isinstance(items[-1], c_ast.Continue)


def _has_jumps(body: Any) -> bool:
    """Return whether a part of an `if` in a loop's body ends with `continue`."""
    return any(isinstance(item, c_ast.If) and (_ends(item.iftrue) or _ends(item.iffalse)) for item in _items(body))


def stops(body: Any) -> bool:
    """Return whether a loop's `body` has a `break` of that loop, in an `if` or as a separate statement."""
    match body:
        case c_ast.Break():
            return True
        case c_ast.Compound():
            return any(map(stops, _items(body)))
        case c_ast.If():
            return stops(body.iftrue) or stops(body.iffalse)
        case _:
            return False


def stopping(body: Any, going: Any) -> Any:
    """Return a loop's `body` that sets the variable `going` to 0 in place of `break`, and does nothing if it is 0.

        for (..) { A; if (c) { B; break; } C; }   ->   for (..) if (going) { A; if (c) { B; going = 0; } if (going) C; }
    """
    return c_ast.If(going, c_ast.Compound(_stopped(_items(body), going), body.coord), None, body.coord)


def _stopped(items: list[Any], going: Any) -> list[Any]:
    for k, item in enumerate(items):
        if not stops(item):
            continue
        rest = _stopped(items[k + 1:], going)
        match item:
            case c_ast.Break():
                return [*items[:k], c_ast.Assignment("=", going, c_ast.Constant("int", "0"), item.coord)]
            case c_ast.If():
                parts = [
                    c_ast.Compound(_stopped(_items(part), going), item.coord) if part else None
                    for part in (item.iftrue, item.iffalse)
                ]
                found = c_ast.If(item.cond, *parts, item.coord)
            case _:
                found = c_ast.Compound(_stopped(_items(item), going), item.coord)
        return [
            *items[:k],
            found,
            *([c_ast.If(going, c_ast.Compound(rest, item.coord), None, item.coord)] if rest else []),
        ]
    return items


def without_labels(node: Any, targets: Collection[str]) -> Any:
    """Return `node` (changed in place) without the labels that are not the target of a `goto`."""
    for label, child in node.children():
        put_child(node, label, without_labels(child, targets))
    return node.stmt if isinstance(node, c_ast.Label) and node.name not in targets else node


def jump_advice(node: Any) -> str:
    """Return why a remaining `break` or `continue` is refused, and what to write instead."""
    if isinstance(node, c_ast.Continue):
        return (
            "`continue;` is not static control here: it may end one part of an `if` that stands in the loop's body "
            "itself; put what it "
            "skips into an `if`"
        )
    return "`break;` ends no `for` loop of the SCoP"


def control_advice(node: Any) -> str:
    """Return what to write instead of a statement that is not static control."""
    match node:
        case c_ast.Switch():
            return "; write it as `if`/`else if`"
        case c_ast.While():
            return (
                "; a `while` loop is understood where it counts: an integer is set before it, in the same block, and "
                "changed once, at the "
                "end of its body, without `continue`. Leave others out of the SCoP"
            )
        case c_ast.DoWhile():
            return "; write a `for` loop, or leave it out of the SCoP"
        case _:
            return ""
