"""Do not unroll loops with a remainder in kernels with barriers, for PoCL's compiler.

PoCL 3.0 (LLVM 14) peels the first thread of a block in kernels with barriers. If a loop has an unroll pragma and a
variable trip count, as at the edge of an array, that thread may run some iterations twice (docs/devices.md has an
example). Without the pragma the result is right, and LLVM decides itself.
"""

from __future__ import annotations

from dataclasses import replace

from generator.nest import Barrier, For, If, Node, rounds, walk


def with_even_unrolls(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body`; if it has barriers, only loops whose trip count is a multiple of the factor keep their unroll
    factors.
    """
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
