"""Arrays with static storage, and memory from `malloc`, that are dead after the SCoP: nothing can read them there.

    static float t[N][M];                            no text of the file mentions it outside of the SCoP
    float (*u)[M] = malloc(sizeof(float[N][M]));     between its allocation and `free`, nothing outside of the SCoP
    #pragma scop                                     mentions it, so no other pointer leads to its memory
    for (...) { t[y][x] = ..; u[y][x] = ..t[y][x]..; out[y][x] = ..u[y][x]..; }
    #pragma endscop
    free(u);
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pycparser import c_ast

from generator.frontend_c.ctypes import declared
from generator.frontend_c.elements import nodes

ALLOCATING = frozenset(("malloc", "calloc", "aligned_alloc"))
"""Functions of C's library that return new memory, which no other pointer leads to."""


def dead_statics(tree: Any, hidden: Collection[str], items: tuple[Any, ...], scope: Mapping[str, Any],
                 typedefs: Mapping[str, Any]) -> frozenset[str]:
    """Return names in `scope` of static variables that the file `tree` mentions in the SCoP `items` only.

    `hidden`: the words of text that is not in `tree` (`Preprocessed.hidden`). Reads of values from an earlier run of
    the SCoP are not considered: such a variable is live at its entry.
    """
    if "asm" in hidden:
        return frozenset()
    outside = list(_outside(tree, {id(item) for item in items}))
    mentioned = {*hidden} | {node.name for node in outside if isinstance(node, c_ast.ID)} | _in_pragmas(outside)
    own = Counter(node.name for node in outside if isinstance(node, c_ast.Decl))
    return frozenset(name for name, node in scope.items() if name not in mentioned and own[name] == 1
                     and isinstance(node, c_ast.Decl) and "static" in node.storage and _is_plain(node, typedefs))


def dead_allocations(tree: Any, function: Any, items: tuple[Any, ...], scope: Mapping[str, Any]) -> frozenset[str]:
    """Return names in `scope` of pointers of `function` to memory that is allocated there, and used in the SCoP only.

    Outside of the SCoP, they may only be set to new memory or to 0, tested, and freed.
    """
    outside = list(_outside(function.body, {id(item) for item in items}))
    redefined = {node.decl.name for node in tree.ext if isinstance(node, c_ast.FuncDef)} & {*ALLOCATING, "free"}
    if redefined or any(_called(node) == "asm" for node in outside):
        return frozenset()
    plain, set_to_new = set[int](), set[str]()
    for node in outside:
        plain.update(map(id, _harmless(node)))
        set_to_new.update(_new(node))
    others = {node.name for node in outside if isinstance(node, c_ast.ID) and id(node) not in plain}
    lost = others | _copied(items) | _in_pragmas(outside)
    own = Counter(node.name for node in (*outside, *_arguments(function)) if isinstance(node, c_ast.Decl))
    here = {id(node) for node in outside}
    return frozenset(name for name, node in scope.items() if name in set_to_new - lost and own[name] == 1
                     and id(node) in here and isinstance(node.type, c_ast.PtrDecl)
                     and not set(node.storage) - {"auto", "register"} and not _is_volatile(node))


def _outside(node: Any, items: set[int]) -> Iterable[Any]:
    """Yield a node and the nodes below it, but not those of the SCoP."""
    if id(node) not in items:
        yield node
        for _, child in node.children():
            yield from _outside(child, items)


def _called(node: Any) -> str:
    """Return the name of a called function; "" for other nodes."""
    return node.name.name if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else ""


def _in_pragmas(found: Iterable[Any]) -> set[str]:
    """Return the words of pragmas, whose effects on names are unknown."""
    return {word for node in found if isinstance(node, c_ast.Pragma) for word in re.findall(r"\w+", node.string or "")}


def _arguments(function: Any) -> list[Any]:
    return function.decl.type.args.params if function.decl.type.args else []


def _is_plain(node: Any, typedefs: Mapping[str, Any]) -> bool:
    """Return whether a declaration is of a scalar or an array of known extents, and its name the only way to it."""
    kind = declared(node.type, typedefs)
    return (kind is not None and not kind.pointer_to_array and None not in kind.extents and not _is_volatile(node)
            and "_Thread_local" not in node.storage)


def _is_volatile(node: Any) -> bool:
    """Return whether a declaration says that others may read the variable, or the memory behind it, at any time."""
    found = {word for inner in nodes(node.type) for word in getattr(inner, "quals", None) or ()}
    return bool((found | set(node.quals)) & {"volatile", "_Atomic"})


def _harmless(node: Any) -> Iterable[Any]:
    """Yield the names in a statement or expression that is no reason to keep what is behind them."""
    if _called(node) == "free" and node.args is not None:
        yield from node.args.exprs
    if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":  # it is not evaluated
        yield from nodes(node.expr)
    if isinstance(node, (c_ast.Compound, c_ast.If, c_ast.For, c_ast.While, c_ast.DoWhile)):
        yield from (node.lvalue for node in _statements(node) if _is_new(node))
    for tested in _tested(node):
        yield tested.lvalue if _is_new(tested) else tested


def _statements(node: Any) -> Iterable[Any]:
    """Yield what a block, a loop or a condition runs, whose value nobody uses."""
    if isinstance(node, c_ast.Compound):
        return node.block_items or []
    return (node.iftrue, node.iffalse) if isinstance(node, c_ast.If) else (node.stmt,)


def _tested(node: Any) -> Iterable[Any]:
    """Yield the operands of an expression that only says whether they are 0."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "!":
        yield node.expr
    elif isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
        yield from (node.left, node.right)
    elif isinstance(node, c_ast.BinaryOp) and node.op in ("==", "!="):
        yield from (one for one, other in ((node.left, node.right), (node.right, node.left)) if _is_null(other))
    elif isinstance(node, (c_ast.If, c_ast.TernaryOp, c_ast.While, c_ast.DoWhile)):
        yield node.cond


def _new(node: Any) -> Iterable[str]:
    """Yield the name of a pointer that a declaration or an assignment sets to new memory."""
    if isinstance(node, c_ast.Decl) and node.init is not None and _allocates(node.init):
        yield node.name
    elif _is_new(node) and _allocates(node.rvalue):
        yield node.lvalue.name


def _is_new(node: Any) -> bool:
    """Return whether a node sets a variable to new memory, or to 0."""
    return (isinstance(node, c_ast.Assignment) and node.op == "=" and isinstance(node.lvalue, c_ast.ID)
            and (_allocates(node.rvalue) or _is_null(node.rvalue)))


def _allocates(node: Any) -> bool:
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return _called(node) in ALLOCATING


def _is_null(node: Any) -> bool:
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return isinstance(node, c_ast.Constant) and node.value == "0"


def _copied(items: Iterable[Any]) -> set[str]:
    """Return the names of pointers that the SCoP may copy to variables from outside, or that it sets."""
    inner = [node for item in items for node in nodes(item)]
    found, made = set[str](), list[tuple[str, set[str]]]()
    for node in inner:
        if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
            found |= {node.lvalue.name} | _whole(node.rvalue)
        elif isinstance(node, c_ast.Decl) and node.init is not None:
            made.append((node.name, _whole(node.init)))
    while more := set().union(*(names for name, names in made if name in found)) - found:
        found |= more
    return found


def _whole(node: Any) -> set[str]:
    """Return the names in an expression that are not subscripted there."""
    if isinstance(node, c_ast.ID):
        return {node.name}
    below = [node.subscript] if isinstance(node, c_ast.ArrayRef) else [child for _, child in node.children()]
    return set().union(*map(_whole, below))
