"""Loop headers: `for (i = a; i < b; i += c)` in all common forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.places import where


@dataclass(frozen=True, slots=True)
class Header:
    """The syntax of a loop header; the iterator advances by `sign * step`."""

    iterator: str
    start: Any
    test: Any
    sign: int
    step: Any


def read_header(loop: Any) -> Header:
    """Return the parts of a `for` header. Raises InputError if it is not a counted loop."""
    iterator, start = _init(loop)
    if loop.cond is None:
        raise InputError("this loop has no condition: the number of iterations must be known", where(loop))
    found = advance(loop.next, iterator)
    if found is None:
        raise bad_step(loop, iterator)
    return Header(iterator, start, loop.cond, *found)


def bad_step(loop: Any, iterator: str) -> InputError:
    """Return the error for a loop whose iterator does not advance by a constant other than 0."""
    found = f"not by `{to_c(loop.next)}`" if loop.next is not None else "in the last part of its header, which is empty"
    return InputError(
        f"the loop must advance `{iterator}` by a constant (`{iterator}++`, `{iterator} -= 2`), {found}", where(loop)
    )


def _init(loop: Any) -> tuple[str, Any]:
    init = loop.init
    if isinstance(init, c_ast.DeclList) and len(init.decls) == 1 and init.decls[0].init is not None:
        return init.decls[0].name, init.decls[0].init
    if isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue.name, init.rvalue
    raise InputError("the loop must start with `i = value` for one iterator", where(loop))


def advance(node: Any, iterator: str) -> tuple[int, Any] | None:
    """Return sign and size of the step: `i += 2` -> (1, 2); None for any other update."""
    if isinstance(node, c_ast.UnaryOp) and _is(node.expr, iterator):
        sign = {"++": 1, "p++": 1, "--": -1, "p--": -1}.get(node.op)
        return (sign, c_ast.Constant("int", "1", node.coord)) if sign else None
    if isinstance(node, c_ast.Assignment) and _is(node.lvalue, iterator):
        if node.op in ("+=", "-="):
            return 1 if node.op == "+=" else -1, node.rvalue
        if node.op == "=" and isinstance(node.rvalue, c_ast.BinaryOp):
            return _sum(node.rvalue, iterator)
    return None


def _sum(node: Any, iterator: str) -> tuple[int, Any] | None:
    if node.op in ("+", "-") and _is(node.left, iterator):
        return 1 if node.op == "+" else -1, node.right
    return (1, node.left) if node.op == "+" and _is(node.right, iterator) else None


def _is(node: Any, iterator: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == iterator
