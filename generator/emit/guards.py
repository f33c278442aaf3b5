"""Add a barrier at the beginning of kernels that Intel's CPU runtime would otherwise miscompile.

Its compiler turns conditions on a thread's index into bounds of its loop over a block's threads. With several bounds on
one index it loses iterations (docs/compilers.md has a kernel of five lines); with one bound, it does if the program has
other kernels, which is how exported code is compiled. Kernels with barriers are not affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from generator.expr import Expr, names_of
from generator.nest import Barrier, For, If, Node, expressions, walk

_THREAD = re.compile(r"t\d")


def with_first_barrier(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` after a barrier, if its conditions bound the index of a thread and it has no barrier."""
    if any(isinstance(node, Barrier) and node.level == "block" for node in walk(body)):
        return body
    bounded = any(_THREAD.fullmatch(name) for condition in _conditions(body) for name in names_of(condition))
    return (Barrier(), *body) if bounded else body


def _conditions(body: tuple[Node, ...]) -> Iterator[Expr]:
    """Yield all comparisons on which iterations depend."""
    for node in walk(body):
        if isinstance(node, If | For):
            yield from expressions(node)
