"""A barrier at the beginning of kernels that Intel's CPU runtime would get wrong without one.

Its compiler turns conditions on a thread's index into bounds of its loop over a block's threads. With several bounds on one index
it loses iterations (docs/devices.md has a kernel of five lines). It leaves kernels with barriers alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from generator.expr import Binary, Expr, names_of
from generator.nest import Barrier, For, If, Node, walk

_THREAD = re.compile(r"t\d")


def with_first_barrier(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """`body` after a barrier, if its conditions bound the index of a thread more than once, and it has none yet."""
    if any(isinstance(node, Barrier) for node in walk(body)):
        return body
    bounds = Counter(name for condition in _conditions(body) for name in names_of(condition) if _THREAD.fullmatch(name))
    return (Barrier(), *body) if any(count > 1 for count in bounds.values()) else body


def _conditions(body: tuple[Node, ...]) -> Iterator[Expr]:
    """All comparisons on which iterations depend."""
    for node in walk(body):
        if isinstance(node, If):
            yield from _parts(node.condition)
        elif isinstance(node, For):
            yield node.start
            yield from _parts(node.condition)


def _parts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Binary) and condition.op in ("&&", "||"):
        yield from _parts(condition.left)
        yield from _parts(condition.right)
    else:
        yield condition
