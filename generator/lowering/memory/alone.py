"""A thread that is alone in its block: its index is 0, it needs no barriers, and its boxes are one-dimensional.

    barrier(..);                                           (nothing)
    for (int e1 = t1; ..; e1 += 1)                    ->   for (int e1 = 0; ..; ++e1)
        .. gray_here[e0][e1] + gray_here[e0][e1 + 2]          .. gray_here[e0 * 260 + e1] + gray_here[e0 * 260 + e1 + 2]

Compilers for CPUs vectorize a loop along such a row. With two subscripts, LLVM first keeps values that the next
iteration reads again in scalar variables (partial redundancy elimination of loads), and then does not vectorize the
loop-carried values: harris takes 3 times as long. It does not do so for a sum.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.linear import plain_form
from generator.lowering.memory.box import LocalBox
from generator.nest import Barrier, Declare, For, If, Node, map_expressions

_ALL = re.compile("^all threads ([a-z]+)")


def one_thread(body: tuple[Node, ...], threads: Collection[str], boxes: Sequence[LocalBox]) -> tuple[Node, ...]:
    """Return the loops of a thread that is alone in its block. `threads`: the names of its indices."""
    rows = {box.name: box.sizes for box in boxes if len(box.sizes) > 1}
    return _without_barriers(map_expressions(body, lambda expr: _placed(expr, frozenset(threads), rows)), rows)


def noted_alone(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return loops of threads that have boxes of their own: `this thread computes`, not `all threads compute`."""
    found: list[Node] = []
    for node in body:
        match node:
            case For(body=inside, note=note):
                found.append(replace(node, body=noted_alone(inside), note=_ALL.sub(_this, note)))
            case If(condition, then, otherwise):
                found.append(If(condition, noted_alone(then), noted_alone(otherwise)))
            case _:
                found.append(node)
    return tuple(found)


def _this(found: re.Match[str]) -> str:
    verb = found[1]
    return f"this thread {verb[:-1]}ies" if verb.endswith("y") else f"this thread {verb}s"


def in_a_row(box: LocalBox) -> LocalBox:
    """Return the box as it is declared then."""
    return replace(box, sizes=(prod(box.sizes),)) if len(box.sizes) > 1 else box


def _placed(expr: Expr, threads: frozenset[str], rows: Mapping[str, tuple[int, ...]]) -> Expr:
    if isinstance(expr, Name):
        return Int(0) if expr.name in threads else expr
    placed = map_children(expr, lambda child: _placed(child, threads, rows))
    if isinstance(placed, Load) and placed.array in rows:
        first, *others = zip(placed.index, rows[placed.array], strict=True)
        number = reduce(lambda whole, part: _sum(Binary("*", whole, Int(part[1])), part[0]), others, first[0])
        return Load(placed.array, (number,), placed.access)
    return placed if placed == expr else plain_form(placed) or placed


def _sum(left: Expr, right: Expr) -> Expr:
    """Return `left + right` without parentheses."""
    match right:
        case Binary("+" | "-" as op, first, second):
            return Binary(op, _sum(left, first), second)
        case _:
            return Binary("+", left, right)


def _without_barriers(nodes: tuple[Node, ...], rows: Mapping[str, tuple[int, ...]]) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        match node:
            case Barrier():
                pass
            case For(body=body):
                result.append(replace(node, body=_without_barriers(body, rows)))
            case If(condition, then, otherwise):
                result.append(If(condition, _without_barriers(then, rows), _without_barriers(otherwise, rows)))
            case Declare(name, kind, sizes) if name in rows:
                result.append(Declare(name, kind, (prod(sizes),)))
            case _:
                result.append(node)
    return tuple(result)
