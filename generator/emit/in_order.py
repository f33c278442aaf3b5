"""Loops whose rounds follow each other, where Intel's CPU runtime would run several at once.

Where rows of a box stay from step to step, row `r` is at `r & (rows - 1)`. The runtime's vectorizer (`vplan-vec`,
2026.22.10) does not see that steps come back to a row: it runs eight of them at once where the loops inside are
unrolled, and most values are those of other rows (docs/devices.md). A word keeps it from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generator.expr import Binary, Load, loads_of, parts
from generator.nest import Assign, For, If, Node, walk


def with_steps_in_order(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """`body`, in which loops that write and read the rows of a ring are not to be vectorized."""
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
    """The array of `load`, if its subscripts go round."""
    if any(isinstance(part, Binary) and part.op == "&" for index in load.index for part in parts(index)):
        yield load.array
