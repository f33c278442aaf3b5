"""The places of barriers, and their rules, enforced on the final loops of a kernel.

Threads wait before they use what others wrote to a box, and before they overwrite what others may still read.

All threads of a block must reach a barrier together. So every loop around it must have the same bounds in all threads.
On CPUs it must not be in a branch (PoCL 3 miscompiles even a uniform one), on GPUs only in one that all threads take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from generator.errors import IllegalPlan
from generator.expr import Expr, loads_of, names_of
from generator.nest import Assign, Atomic, Barrier, For, Fragments, If, Node, expressions, walk


class BarrierRefused(IllegalPlan):
    """A barrier that not all threads of a block would reach, or not equally often."""


def in_turn(parts: Iterable[tuple[Node, ...]], boxes: Collection[str]) -> list[Node]:
    """Return all nodes, with a barrier between parts of which one writes a box that the other one uses."""
    nodes, written, read = list[Node](), set[str](), set[str]()
    for part in parts:
        writes, reads = _written(part) & set(boxes), _read(part) & set(boxes)
        if written & (reads | writes) or read & writes:
            nodes.append(Barrier())
            written, read = set(), set()
        nodes += part
        written, read = written | writes, read | reads
    return nodes


def _written(nodes: tuple[Node, ...]) -> set[str]:
    return {node.target.array for node in walk(nodes) if isinstance(node, Assign | Atomic)}


def _read(nodes: tuple[Node, ...]) -> set[str]:
    found: set[str] = set()
    for node in walk(nodes):
        parts = (*node.target.index, node.value) if isinstance(node, Assign) and not node.op else expressions(node)
        found |= {load.array for part in parts for load in loads_of(part)}
    return found


def check_barriers(nodes: tuple[Node, ...], threads: tuple[str, ...], branches: bool = False) -> None:
    """Raise IllegalPlan if a barrier is under a branch or in a loop whose bounds depend on the thread.

    `branches`: allow conditions that are the same in all threads of a block (on block indices and loops).
    """
    _check(nodes, frozenset(threads), branches)


def _check(nodes: tuple[Node, ...], varying: frozenset[str], branches: bool) -> None:
    for node in nodes:
        match node:
            case If(condition, then, otherwise):
                inside = (*then, *otherwise)
                if _has_barrier(inside) and not (branches and _is_uniform(condition, varying)):
                    raise BarrierRefused("a barrier would stand under a condition")
                _check(inside, varying, branches)
            case For(iterator, start, condition, _, body):
                differs = bool((names_of(start) | names_of(condition)) & varying)
                if differs and _has_barrier(body):
                    raise BarrierRefused("a barrier would stand in a loop whose bounds differ between threads")
                _check(body, varying | {iterator} if differs else varying, branches)
            case _:
                pass


def _has_barrier(nodes: tuple[Node, ...]) -> bool:
    return any(isinstance(node, Barrier) for node in walk(nodes))


def _is_uniform(condition: Expr, varying: frozenset[str]) -> bool:
    """Return whether all threads of a block get the same result, without loads, which may differ."""
    return not names_of(condition) & varying and not any(loads_of(condition))


def without_last(nodes: tuple[Node, ...], boxes: Collection[str]) -> tuple[Node, ...]:
    """Return the nodes of a kernel without the barriers after which no thread uses the `boxes`, its shared memory."""
    return _without_last(nodes, frozenset(boxes))[0]


def _without_last(nodes: tuple[Node, ...], boxes: frozenset[str]) -> tuple[tuple[Node, ...], bool]:
    """Return the nodes without their last barriers, and whether they use the boxes or wait for more than these."""
    kept, used = list[Node](), False
    for node in reversed(nodes):
        if not used:
            match node:
                case Barrier(arrays=False, copies=False):
                    continue
                case If(condition, then, otherwise):
                    (first, one), (second, other) = (_without_last(part, boxes) for part in (then, otherwise))
                    node = If(condition, first, second)
                    used = one or other or any(load.array in boxes for load in loads_of(condition))
                case _:
                    used = _uses((node,), boxes)
        kept.append(node)
    return tuple(reversed(kept)), used


def _uses(nodes: tuple[Node, ...], boxes: frozenset[str]) -> bool:
    waits = any(isinstance(node, Barrier | Fragments) for node in walk(nodes))
    return waits or bool((_written(nodes) | _read(nodes)) & boxes)
