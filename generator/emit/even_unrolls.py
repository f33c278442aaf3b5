"""Loops of kernels with barriers that PoCL's compiler would unroll with a rest.

PoCL 3.0 (LLVM 14) handles the first thread of a block apart where a kernel has barriers. If a loop is to be unrolled
and its number of rounds is no constant, as at the rim of an array, that thread may run some rounds twice:
docs/devices.md has the case. Without the word, it is right; LLVM then decides by itself.
"""

from __future__ import annotations

from dataclasses import replace

from generator.nest import Barrier, For, If, Node, rounds, walk


def with_even_unrolls(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """`body`; if it has barriers, with no more loops to unroll than those whose rounds are a multiple of the factor."""
    return tuple(_even(node) for node in body) if any(isinstance(node, Barrier) for node in walk(body)) else body


def _even(node: Node) -> Node:
    match node:
        case If(condition, then, otherwise):
            return If(condition, tuple(_even(one) for one in then), tuple(_even(one) for one in otherwise))
        case For(body=body):
            count = rounds(node)
            uneven = node.unroll > 1 and not node.vector and (count is None or count % node.unroll != 0)
            return replace(node, body=tuple(_even(one) for one in body), unroll=1 if uneven else node.unroll)
        case _:
            return node
