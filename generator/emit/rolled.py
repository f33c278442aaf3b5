"""Long loops that a compiler would unroll before it vectorizes.

Intel's CPU runtime (2026.22.10) unrolls loops with a constant trip count, and then finds few vectors in them: the steps
of a blur of 16-bit integers, rows of 1536 elements, take 6 times as long as with a pragma against it. It also unrolls
short loops around such rows, and then vectorizes none of their copies: steps of two rows of an unsharp mask take 2.5
times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generator.expr import names_of
from generator.nest import Assign, Declare, For, If, Node, rounds, walk

LEAST_ROUNDS = 32
"""Shorter loops may be unrolled."""


def with_rolled_loops(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return `nodes` with long innermost loops, and loops around them, marked against unrolling, except those that the
    plan unrolls.

    A loop around rows that are unrolled completely (`generator.decisions.jam`) is innermost, too. Marks that are there
    (`streams.py`) stay.
    """
    return tuple(_rolled(node) for node in nodes)


def _rolled(node: Node) -> Node:
    match node:
        case If(condition, then, otherwise):
            return If(condition, with_rolled_loops(then), with_rolled_loops(otherwise))
        case For(body=body) if any(isinstance(inner, For) for inner in walk(body)) and not _around_rows(node):
            inside = with_rolled_loops(body)
            around = node.unroll <= 1 and any(isinstance(inner, For) and inner.rolled for inner in walk(inside))
            return replace(node, body=inside, rolled=node.rolled or around)
        case For(unroll=0 | 1) if (rounds(node) or 0) >= LEAST_ROUNDS:
            return replace(node, rolled=True)
        case _:
            return node


def _around_rows(loop: For) -> bool:
    """Return whether all loops inside are unrolled completely, and every iteration of `loop` stores its own elements.

    (Sums in registers are stored in all iterations of the loop around their points.)
    """
    inside = [node for node in walk(loop.body) if isinstance(node, For)]
    own = {node.name for node in walk(loop.body) if isinstance(node, Declare)}
    stores = [node.target for node in walk(loop.body) if isinstance(node, Assign) and node.target.array not in own]
    return all(node.points > 1 and node.unroll == node.points for node in inside) and all(
        any(loop.iterator in names_of(index) for index in store.index) for store in stores)
