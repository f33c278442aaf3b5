"""Do not unroll loops with a remainder, for compilers that then give wrong results (docs/compilers.md has examples).

PoCL 3.0 (LLVM 14) peels the first thread of a block in kernels with barriers. If a loop has an unroll pragma and a
variable trip count, as at the edge of an array, that thread may run some iterations twice. Intel's CPU runtime
vectorizes over the threads of a block; with such loops inside, many elements are wrong. So they are in blocks of one
thread with such loops inside steps that come back to the rows of a ring (`in_order.py`). Without the pragma the results
are right, and the compilers decide themselves.
"""

from __future__ import annotations

from dataclasses import replace

from generator.nest import Barrier, For, If, Node, rounds, walk


def with_even_unrolls(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` with unroll factors only at loops whose trip count is a multiple of them."""
    return tuple(_even(node) for node in body)


def with_even_steps(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` with the same inside loops that must stay in order; other loops keep their factors."""
    return tuple(_even_steps(node) for node in body)


def _even_steps(node: Node) -> Node:
    match node:
        case If(condition, then, otherwise):
            return If(condition, with_even_steps(then), with_even_steps(otherwise))
        case For(in_order=True):
            return _even(node)
        case For(body=body):
            return replace(node, body=with_even_steps(body))
        case _:
            return node


def has_barriers(body: tuple[Node, ...]) -> bool:
    """Return whether the threads of a block wait for each other anywhere in `body`."""
    return any(isinstance(node, Barrier) for node in walk(body))


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
