"""Convert pointer arithmetic to subscripts: `*(a + i)`, `(a + i * n)[j]` and `(&a[i])[1]` become `a[i]`, `a[i * n + j]`
and `a[i + 1]`.

Also replace pointers that are declared in the SCoP and keep their values: after `float *row = a + i * n`, `row[j]` is
`a[i * n + j]`. Trees are changed in place, before any other analysis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.places import where


def write_subscripts(items: Sequence[Any], pointers: Collection[str]) -> tuple[Any, ...]:
    """Return `items` with subscripts for pointer arithmetic (changed in place).

    `pointers`: the names of arrays and pointers.

    Raises:
        InputError: a pointer declared in the SCoP whose value may change, or depends on data.
    """
    aliases: dict[str, Any] = {}
    for item in items:
        aliases |= {node.name: node for node in nodes(item) if _is_alias(node)}
    known = {*pointers, *aliases}
    _check_aliases(items, aliases, known)
    return tuple(_rewrite(item, known, aliases) for item in items)


def nodes(node: Any, headers: bool = True) -> Iterator[Any]:
    """Yield `node` and all nodes below it.

    Without `headers`, those that step a loop's iterator are left out, because its body does not see the change.
    """
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        below = list(node)
        if not headers and isinstance(node, c_ast.For):
            below = [child for child in below if child is not node.init and child is not node.next]
        waiting += reversed(below)


def _is_alias(node: Any) -> bool:
    return isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl) and node.init is not None


def _check_aliases(items: Sequence[Any], aliases: dict[str, Any], pointers: Collection[str]) -> None:
    """Raise InputError if a pointer, or an operand of its value, may have changed when it is used."""
    changed = {name for item in items for node in nodes(item, headers=False) for name in assigned(node)}
    around = {id(node): iterators for item in items for node, iterators in _placed(item, frozenset())}
    stepped = {
        name for item in items for node in nodes(item) if isinstance(node, c_ast.For) for name in iterators_of(node)
    }
    for name, node in aliases.items():
        used = [one.name for one in nodes(node.init) if isinstance(one, c_ast.ID)]
        if moved := sorted((changed | (stepped - around[id(node)])) & {name, *used}):
            raise InputError(
                f"`{to_c(node)}`: `{moved[0]}` is assigned to in the SCoP, so the pointer may point elsewhere later; "
                "write the subscripts out",
                where(node),
            )
        if sum(one in pointers for one in used) > 1:
            raise InputError(
                f"`{to_c(node)}`: where the pointer points depends on data, which may change; write the subscripts out",
                where(node),
            )


def _placed(node: Any, around: frozenset[str]) -> Iterator[tuple[Any, frozenset[str]]]:
    """Yield `node` and all nodes below it, each with the iterators of the loops around it."""
    yield node, around
    inner = around | set(iterators_of(node)) if isinstance(node, c_ast.For) else around
    for label, child in node.children():
        yield from _placed(child, inner if label == "stmt" else around)


def iterators_of(loop: Any) -> list[str]:
    """Return the variables that the header of a loop sets."""
    if isinstance(loop.init, c_ast.DeclList):
        return [declaration.name for declaration in loop.init.decls]
    return [name for node in (loop.init, loop.next) if node is not None for name in assigned(node)]


def assigned(node: Any) -> tuple[str, ...]:
    """Return the plain variables that a node itself assigns."""
    match node:
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            return (str(name),)
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--", expr=c_ast.ID(name=name)):
            return (str(name),)
        case _:
            return ()


def _rewrite(node: Any, pointers: Collection[str], aliases: dict[str, Any]) -> Any:
    """Return `node` with its children rewritten, or its replacement."""
    if isinstance(node, c_ast.Decl) and node.name in aliases:
        return c_ast.EmptyStatement(node.coord)
    if isinstance(node, (c_ast.ArrayRef, c_ast.UnaryOp)):
        found = element(node, pointers, aliases) if _has_arithmetic(node, aliases) else None
        if found is not None:
            whole = found.name
            for subscript in found.subscripts:
                whole = c_ast.ArrayRef(whole, subscript, node.coord)
            node = whole
    for label, child in node.children():
        put_child(node, label, _rewrite(child, pointers, aliases))
    return node


def put_child(node: Any, label: str, child: Any) -> None:
    """Set the child of `node` with pycparser's label: `stmt`, `block_items[3]`."""
    name, bracket, rest = label.partition("[")
    if bracket:
        getattr(node, name)[int(rest.rstrip("]"))] = child
    else:
        setattr(node, name, child)


def _has_arithmetic(node: Any, aliases: dict[str, Any]) -> bool:
    """Return whether the lvalue `node` has more than subscripts, or one `*` before a name."""
    inner = node.name if isinstance(node, c_ast.ArrayRef) else node.expr if node.op == "*" else None
    match inner:
        case c_ast.ID():
            return inner.name in aliases
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
            return _has_arithmetic(inner, aliases)
        case c_ast.BinaryOp() | c_ast.UnaryOp(op="&"):
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Element:
    """The syntax tree of an array's (or scalar's) name, and those of its subscripts, outermost first."""

    name: Any
    subscripts: tuple[Any, ...]


def element(node: Any, pointers: Collection[str], aliases: dict[str, Any]) -> Element | None:
    """Return the element of the lvalue `node`; None if it is not one.

    `pointers`: the names of arrays and pointers, which identify the pointer in `p + i`. `aliases`: the declarations of
    pointers that are replaced by their targets.
    """
    match node:
        case c_ast.ID() if node.name not in aliases:
            return Element(node, ())
        case c_ast.ArrayRef():
            return _shifted(_pointer(node.name, pointers, aliases), node.subscript)
        case c_ast.UnaryOp(op="*"):
            return _shifted(_pointer(node.expr, pointers, aliases), None)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Pointer:
    """The address of an element, and the distance from it in elements (None: 0)."""

    base: Element
    offset: Any


def _pointer(node: Any, pointers: Collection[str], aliases: dict[str, Any]) -> _Pointer | None:
    """Return the target of a pointer expression: `a`, `a + i`, `i + a`, `a - 1`, `&a[i]`; None for anything else."""
    match node:
        case c_ast.ID() if node.name in aliases:
            return _pointer(deepcopy(aliases[node.name].init), pointers, aliases)
        case c_ast.BinaryOp(op="+" | "-" as op) if _mentions(node.left, pointers):
            return _moved(_pointer(node.left, pointers, aliases), op, node.right)
        case c_ast.BinaryOp(op="+"):
            return _moved(_pointer(node.right, pointers, aliases), "+", node.left)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef()):
            inner = element(node.expr, pointers, aliases)
            return None if inner is None else _Pointer(Element(inner.name, inner.subscripts[:-1]), inner.subscripts[-1])
        case _:
            base = element(node, pointers, aliases)
            return None if base is None else _Pointer(base, None)


def _mentions(node: Any, pointers: Collection[str]) -> bool:
    """Return whether a pointer is at the root of `node`."""
    match node:
        case c_ast.ID():
            return node.name in pointers
        case c_ast.BinaryOp(op="+" | "-"):
            return _mentions(node.left, pointers) or (node.op == "+" and _mentions(node.right, pointers))
        case c_ast.UnaryOp(op="&" | "*"):
            return True
        case c_ast.ArrayRef():
            return _mentions(node.name, pointers)
        case _:
            return False


def _moved(pointer: _Pointer | None, op: str, by: Any) -> _Pointer | None:
    if pointer is None:
        return None
    if pointer.offset is None:
        return _Pointer(pointer.base, by if op == "+" else c_ast.UnaryOp("-", by, by.coord))
    return _Pointer(pointer.base, c_ast.BinaryOp(op, pointer.offset, by, by.coord))


def _shifted(pointer: _Pointer | None, subscript: Any) -> Element | None:
    """Return the element at distance `subscript` from the target of `pointer` (None: the target itself)."""
    if pointer is None:
        return None
    base, offset = pointer.base, pointer.offset
    if offset is None:
        last = c_ast.Constant("int", "0", base.name.coord) if subscript is None else subscript
    else:
        last = offset if subscript is None else c_ast.BinaryOp("+", offset, subscript, subscript.coord)
    return Element(base.name, (*base.subscripts, last))
