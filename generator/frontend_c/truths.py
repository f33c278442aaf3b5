"""Variables of type `_Bool` hold 0 or 1: values assigned to them are compared with 0.

    b = x;  b += 2;  (_Bool)x    ->    b = x != 0;  b = b + 2 != 0;  x != 0
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pycparser import c_ast

from generator.frontend_c.ctypes import is_truth
from generator.frontend_c.elements import nodes, put_child
from generator.frontend_c.layouts import innermost

_STEPS = {"++": "+", "p++": "+", "--": "-", "p--": "-"}


def write_truths(items: Sequence[Any], scope: Mapping[str, Any], typedefs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return `items` with comparisons for C's conversions to `_Bool` (changed in place)."""
    declared = {
        **scope,
        **{node.name: node for item in items for node in nodes(item) if isinstance(node, c_ast.Decl) and node.name},
    }
    truths = {name for name, node in declared.items()
              if isinstance(node, c_ast.Decl) and is_truth(innermost(node.type), typedefs)}
    return tuple(_rewritten(item, truths) for item in items)


def _rewritten(node: Any, truths: set[str]) -> Any:
    for label, child in node.children():
        put_child(node, label, _rewritten(child, truths))
    match node:
        case c_ast.Cast() if is_truth(node.to_type.type, {}):
            return _compared(node.expr)
        case c_ast.Assignment() if _root(node.lvalue) in truths:
            value = (
                node.rvalue
                if node.op == "="
                else c_ast.BinaryOp(node.op[:-1], copy.deepcopy(node.lvalue), node.rvalue, node.coord)
            )
            return c_ast.Assignment("=", node.lvalue, _compared(value), node.coord)
        case c_ast.UnaryOp() if node.op in _STEPS and _root(node.expr) in truths:
            one = c_ast.Constant("int", "1", node.coord)
            return c_ast.Assignment(
                "=",
                node.expr,
                _compared(c_ast.BinaryOp(_STEPS[node.op], copy.deepcopy(node.expr), one, node.coord)),
                node.coord,
            )
        case c_ast.Decl() if node.name in truths and node.init is not None:
            node.init = _compared(node.init)
            return node
        case _:
            return node


def _compared(value: Any) -> Any:
    return c_ast.BinaryOp("!=", value, c_ast.Constant("int", "0", value.coord), value.coord)


def _root(node: Any) -> str:
    """Return the variable of an lvalue."""
    while isinstance(node, (c_ast.ArrayRef, c_ast.UnaryOp)):
        node = node.name if isinstance(node, c_ast.ArrayRef) else node.expr
    return str(node.name) if isinstance(node, c_ast.ID) else ""
