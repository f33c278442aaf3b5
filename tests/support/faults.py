"""Faults in lowered kernels: every kernel that differs from a given one in one place.

    barrier dropped         a barrier is removed
    plain update            an atomic update becomes an ordinary one
    condition dropped       guarded code always runs
    only full tiles         partial tiles run as if they were full
    limit dropped           the limit of a subscript is removed
    choice dropped          `c ? a : b` becomes `a`
    number changed          a size, an offset or a bound is increased by one
    element shifted         a subscript is increased by one
    first value changed     registers start from another number
    fewer lanes             a shuffle combines half of the threads
    other lane              a thread receives the value of the next lane
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from generator.expr import Binary, Expr, Int, Load, Real, Select, children, map_children
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Atomic, Barrier, For, If, Node, Receive, Shuffle, apply
from generator.target import LANES


@dataclass(frozen=True, slots=True)
class Fault:
    """A kernel with a fault: its kind, and the changed part before and after."""

    kind: str
    before: object
    after: object
    kernel: LoweredKernel


def faults(kernel: LoweredKernel) -> Iterator[Fault]:
    """Yield all kernels with one fault."""
    for kind, before, after, body in _in_nodes(kernel.body):
        yield Fault(kind, before, after, replace(kernel, body=body))


Nodes = tuple[Node, ...]
Changed = tuple[str, object, object, Nodes]


def _in_nodes(nodes: Nodes) -> Iterator[Changed]:
    for position, node in enumerate(nodes):
        for kind, before, after, changed in _at(node):
            yield kind, before, after, (*nodes[:position], *changed, *nodes[position + 1:])


def _at(node: Node) -> Iterator[Changed]:
    """Yield changes of one node and of its parts."""
    match node:
        case Barrier():
            yield "barrier dropped", node, (), ()
        case For(body=body):
            for kind, one, other, expr in _expressions(node.condition, False):
                yield kind, one, other, (replace(node, condition=expr),)
            for kind, one, other, expr in _expressions(node.start, False):
                yield kind, one, other, (replace(node, start=expr),)
            yield from _around(body, lambda new: replace(node, body=new))
        case If(condition, then, otherwise):
            yield "only full tiles" if otherwise else "condition dropped", node, then, then
            for kind, one, other, expr in _expressions(condition, False):
                yield kind, one, other, (replace(node, condition=expr),)
            yield from _around(then, lambda new: replace(node, then=new))
            yield from _around(otherwise, lambda new: replace(node, otherwise=new))
        case Assign() | Atomic():
            yield from _in_assignment(node)
        case Shuffle():
            yield "fewer lanes", node.lanes, node.lanes // 2, (replace(node, lanes=node.lanes // 2),)
        case Receive():
            lane = Binary("%", Binary("+", node.lane, Int(1)), Int(LANES))
            yield "other lane", node.lane, lane, (replace(node, lane=lane),)
        case _:
            pass


def _around(nodes: Nodes, put: Callable[[Nodes], Node]) -> Iterator[Changed]:
    for kind, before, after, changed in _in_nodes(nodes):
        yield kind, before, after, (put(changed),)


def _in_assignment(node: Assign | Atomic) -> Iterator[Changed]:
    if isinstance(node, Atomic) and node.operator != "=":
        yield "plain update", node, "", (apply(node.target, node.operator, node.value, node.type),)
    if isinstance(node, Assign) and not node.op and isinstance(node.value, Int | Real):
        other = Int(node.value.value + 1 if isinstance(node.value, Int) else 0)
        yield "first value changed", node.value, other, (replace(node, value=other),)
    for kind, before, after, expr in _expressions(node.value, False):
        yield kind, before, after, (replace(node, value=expr),)
    for kind, before, after, target in _expressions(node.target, False):
        assert isinstance(target, Load)
        yield kind, before, after, (replace(node, target=target),)


def _expressions(expr: Expr, inside: bool) -> Iterator[tuple[str, Expr, Expr, Expr]]:
    """Yield (kind, part before, part after, whole after); numbers change only in subscripts (`inside`) and conditions.
    """
    for kind, after in _replacements(expr, inside):
        yield kind, expr, after, after
    parts = children(expr)
    below = inside or isinstance(expr, Load) or (isinstance(expr, Binary) and expr.op in ("<", "<=", ">", ">=", "=="))
    for position, part in enumerate(parts):
        for kind, before, after, changed in _expressions(part, below):
            yield kind, before, after, _with_parts(expr, (*parts[:position], changed, *parts[position + 1:]))


def _with_parts(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    left = iter(parts)
    return map_children(expr, lambda _: next(left))


def _replacements(expr: Expr, inside: bool) -> Iterator[tuple[str, Expr]]:
    match expr:
        case Int(value) if inside:
            yield "number changed", Int(value + 1)
        case Load(array, index, access):
            for dim, part in enumerate(index):
                moved = (*index[:dim], Binary("+", part, Int(1)), *index[dim + 1:])
                yield "element shifted", Load(array, moved, access)
        case Binary("min" | "max", left, Int()) if inside:
            yield "limit dropped", left
        case Select(_, then, _):
            yield "choice dropped", then
        case _:
            pass
