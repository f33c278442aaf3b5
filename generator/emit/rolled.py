"""Long loops that a compiler would unroll before it vectorizes.

Intel's CPU runtime (2026.22.10) unrolls loops with a constant trip count, and then finds few vectors in them: the steps
of a blur of 16-bit integers, rows of 1536 elements, take 6 times as long as with a pragma against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generator.nest import For, If, Node, rounds, walk

LEAST_ROUNDS = 32
"""Shorter loops may be unrolled."""


def with_rolled_loops(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return `nodes` with long innermost loops marked against unrolling, except those that the plan unrolls."""
    return tuple(_rolled(node) for node in nodes)


def _rolled(node: Node) -> Node:
    match node:
        case If(condition, then, otherwise):
            return If(condition, with_rolled_loops(then), with_rolled_loops(otherwise))
        case For(body=body) if any(isinstance(inner, For) for inner in walk(body)):
            return replace(node, body=with_rolled_loops(body))
        case For(unroll=0 | 1) if (rounds(node) or 0) >= LEAST_ROUNDS:
            return replace(node, rolled=True)
        case _:
            return node
