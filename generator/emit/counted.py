"""Loops that share elements among the threads of a block, with the same iterations in all threads.

    for (int e = t1; e < 32; e += 16) box[t0][e] = ..;     ->     for (int e = 0; e < 32; e += 16) box[0][e + t1] = ..;

Intel's CPU runtime (2026.22.10) runs the threads of a block as lanes of vectors. It does not see that such a loop ends
at the same time in all lanes, and masks every access in it; nor that the only index along a dimension is 0. Computing
boxes of 16x32 sums of nine terms took 2.7 times as long (depthwise_conv, 2026-11-27). Loops are changed where each
thread has as many elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generator.expr import Binary, Expr, Fold, Int, Name, map_children, parts
from generator.linear import substitute
from generator.nest import Declare, For, If, Node, expressions, map_expressions, walk


def with_counted_loops(body: tuple[Node, ...], block: tuple[int, ...]) -> tuple[Node, ...]:
    """Return `body` with such loops from 0 on, and without indices along which a `block` (x first) has one thread."""
    sizes = {f"t{d}": size for d, size in enumerate(reversed(block))}
    single = frozenset(name for name, size in sizes.items() if size == 1) - _bound(body)
    body = map_expressions(body, lambda expr: _without(expr, single)) if single else body
    return tuple(_counted(node, sizes) for node in body)


def _without(expr: Expr, single: frozenset[str]) -> Expr:
    """Return `expr` with 0 in place of `single` names, and left out of sums."""
    match expr:
        case Name(name) if name in single:
            return Int(0)
        case Binary("+" | "-", left, Name(name)) if name in single:
            return _without(left, single)
        case Binary("+", Name(name), right) if name in single:
            return _without(right, single)
        case _:
            return map_children(expr, lambda part: _without(part, single))


def _counted(node: Node, sizes: Mapping[str, int]) -> Node:
    match node:
        case If(condition, then, otherwise):
            return If(condition, tuple(_counted(one, sizes) for one in then),
                      tuple(_counted(one, sizes) for one in otherwise))
        case For(body=body):
            inside = replace(node, body=tuple(_counted(one, sizes) for one in body))
            return _from_zero(inside, sizes) or inside
        case _:
            return node


def _from_zero(loop: For, sizes: Mapping[str, int]) -> For | None:
    """Return the loop with the thread's index in its body; None if threads may have different numbers of iterations."""
    match loop:
        case For(iterator=name, start=Name(thread), condition=Binary("<", Name(counted), Int(end)), step=step):
            pass
        case _:
            return None
    even = counted == name and sizes.get(thread) == step and step > 1 and end % step == 0 and end > step
    if not even or loop.vector or not _bound(loop.body).isdisjoint((name, thread)):
        return None
    value = {name: Binary("+", Name(name), Name(thread))}
    return replace(loop, start=Int(0), body=map_expressions(loop.body, lambda expr: substitute(expr, value)))


def _bound(nodes: tuple[Node, ...]) -> set[str]:
    """Return the names to which `nodes` give a meaning of their own."""
    inside = tuple(walk(nodes))
    own = {node.iterator for node in inside if isinstance(node, For)}
    own |= {node.name for node in inside if isinstance(node, Declare)}
    for fold in (part for node in inside for expr in expressions(node) for part in parts(expr)):
        if isinstance(fold, Fold):
            own |= {fold.iterator.name, *(one[0].name for one in fold.changes), *(name.name for name, _ in fold.lets)}
    return own
