"""Loop headers: `for (i = a; i < b; i += c)` in all the forms people write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.parse import where


@dataclass(frozen=True, slots=True)
class Header:
    """Syntax of a loop header; `step` may be negative, never 0."""

    iterator: str
    start: Any
    test: Any
    step: int


def read_header(loop: Any) -> Header:
    """The parts of a `for` header. Raises InputError when it is not a counted loop."""
    iterator, start = _init(loop)
    if loop.cond is None:
        raise InputError("this loop has no condition: the number of iterations must be known", where(loop))
    return Header(iterator, start, loop.cond, _step(loop, iterator))


def _init(loop: Any) -> tuple[str, Any]:
    init = loop.init
    if isinstance(init, c_ast.DeclList) and len(init.decls) == 1 and init.decls[0].init is not None:
        return init.decls[0].name, init.decls[0].init
    if isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue.name, init.rvalue
    raise InputError("the loop must start with `i = value` for one iterator", where(loop))


def _step(loop: Any, iterator: str) -> int:
    node = loop.next
    step: int | None = None
    if isinstance(node, c_ast.UnaryOp) and _is(node.expr, iterator):
        step = {"++": 1, "p++": 1, "--": -1, "p--": -1}.get(node.op)
    elif isinstance(node, c_ast.Assignment) and _is(node.lvalue, iterator):
        if node.op in ("+=", "-="):
            step = _signed(node.op[0], _integer(node.rvalue))
        elif node.op == "=" and isinstance(node.rvalue, c_ast.BinaryOp):
            step = _sum(node.rvalue, iterator)
    if not step:
        text = to_c(node) if node is not None else ""
        raise InputError(f"the loop must advance `{iterator}` by a constant (`{iterator}++`, `{iterator} -= 2`), "
                         f"not by `{text}`", where(loop))
    return step


def _sum(node: Any, iterator: str) -> int | None:
    if node.op in "+-" and _is(node.left, iterator):
        return _signed(node.op, _integer(node.right))
    return _integer(node.left) if node.op == "+" and _is(node.right, iterator) else None


def _is(node: Any, iterator: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == iterator


def _signed(op: str, value: int | None) -> int | None:
    return None if value is None else value if op == "+" else -value


def _integer(node: Any) -> int | None:
    if isinstance(node, c_ast.UnaryOp) and node.op in "+-":
        value = _integer(node.expr)
        return None if value is None else value if node.op == "+" else -value
    if isinstance(node, c_ast.Constant) and "int" in node.type:
        return int(node.value.rstrip("uUlL"), 0)
    return None
