"""Loops over the points of a thread with constant bounds, so that registers have constant subscripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generator.expr import Binary, Expr, Int, Name
from generator.nest import For, If, Instance, Node, walk
from generator.polyhedral.memory.mapping import Points


def over_all_points(nodes: tuple[Node, ...], loops: Mapping[str, Mapping[Points, str]]) -> tuple[Node, ...]:
    """Return the nodes with loops over all points; a condition inside excludes points that do not exist.

    Completely unrolled, such a loop has constant subscripts. If a bound depends on the thread, compilers put the
    registers into memory. `loops` names the loops over points by statement; their values must be the numbers of the
    points.
    """
    counts = {name: {loop: points.count for points, loop in found.items()} for name, found in loops.items()}
    return tuple(_over_all(node, counts) for node in nodes)


def _over_all(node: Node, counts: Mapping[str, Mapping[str, int]]) -> Node:
    match node:
        case For(body=body):
            inside = replace(node, body=tuple(_over_all(n, counts) for n in body))
            found = {counts.get(n.name, {}).get(node.iterator) for n in walk(body) if isinstance(n, Instance)}
            [count] = found if len(found) == 1 else [None]  # another branch may use the name for another loop
            if count is None:
                return inside
            inside = replace(inside, points=count)
            return inside if _is_constant(node) else _with_condition(inside, count)
        case If(condition, then, otherwise):
            return If(condition, tuple(_over_all(n, counts) for n in then),
                      tuple(_over_all(n, counts) for n in otherwise))
        case _:
            return node


def _is_constant(loop: For) -> bool:
    """Return whether the bounds are numbers."""
    return isinstance(loop.start, Int) and isinstance(loop.condition, Binary) and isinstance(loop.condition.right, Int)


def _with_condition(loop: For, count: int) -> For:
    if loop.step != 1:
        return loop
    point = Name(loop.iterator)
    exists: Expr = loop.condition
    if loop.start != Int(0):
        exists = Binary("&&", Binary("<=", loop.start, point), exists)
    return replace(loop, start=Int(0), condition=Binary("<", point, Int(count)), body=(If(exists, loop.body),))
