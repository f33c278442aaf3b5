"""Loops with sequential iterations that Intel's CPU runtime would vectorize.

If rows of a box are kept from step to step, row `r` is at `r & (rows - 1)`. The runtime's vectorizer (`vplan-vec`,
2026.22.10) does not see that steps come back to a row. It runs eight steps at once if the loops inside are unrolled,
and most values are those of other rows (docs/compilers.md). A pragma prevents it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generator.expr import Binary, Load, loads_of, parts
from generator.nest import Assign, For, If, Node, walk


def with_steps_in_order(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` with loops that write and read the rows of a ring marked as not to be vectorized."""
    return tuple(_in_order(node) for node in body)


def _in_order(node: Node) -> Node:
    match node:
        case If(condition, then, otherwise):
            return If(condition, with_steps_in_order(then), with_steps_in_order(otherwise))
        case For(body=body):
            return replace(node, body=with_steps_in_order(body), in_order=_comes_back(body))
        case _:
            return node


def _comes_back(body: tuple[Node, ...]) -> bool:
    stores = [node for node in walk(body) if isinstance(node, Assign)]
    written = {array for node in stores for array in _rings(node.target)}
    return any(array in written for node in stores for load in loads_of(node.value) for array in _rings(load))


def _rings(load: Load) -> Iterator[str]:
    """Yield the array of `load`, if its subscripts are cyclic."""
    if any(isinstance(part, Binary) and part.op == "&" for index in load.index for part in parts(index)):
        yield load.array
