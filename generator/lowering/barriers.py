"""The rules of barriers, enforced on the final loops of a kernel.

All threads of a block must reach a barrier together. So it may stand in no branch (PoCL 3 miscompiles even a uniform
one), and every loop around it must have the same bounds in all threads.
"""

from __future__ import annotations

from generator.errors import IllegalPlan
from generator.expr import Expr, Name, children
from generator.nest import Barrier, For, If, Node, walk


def check_barriers(nodes: tuple[Node, ...], threads: tuple[str, ...]) -> None:
    """Raise IllegalPlan when a barrier stands under a branch or in a loop whose bounds depend on the thread."""
    _check(nodes, frozenset(threads))


def _check(nodes: tuple[Node, ...], varying: frozenset[str]) -> None:
    for node in nodes:
        match node:
            case If(_, then, otherwise):
                if _has_barrier((*then, *otherwise)):
                    raise IllegalPlan("a barrier would stand under a condition")
            case For(iterator, start, condition, _, body):
                differs = bool((_names(start) | _names(condition)) & varying)
                if differs and _has_barrier(body):
                    raise IllegalPlan("a barrier would stand in a loop whose bounds differ between threads")
                _check(body, varying | {iterator} if differs else varying)
            case _:
                pass


def _has_barrier(nodes: tuple[Node, ...]) -> bool:
    return any(isinstance(node, Barrier) for node in walk(nodes))


def _names(expr: Expr) -> frozenset[str]:
    if isinstance(expr, Name):
        return frozenset((expr.name,))
    return frozenset(name for child in children(expr) for name in _names(child))
