"""Loops over the elements of two stages become one loop where the stages have boxes of the same size.

    for x: ix[x] = gray[x + 2] - gray[x]
    for x: iy[x] = gray[x + w] - gray[x]        become      for x: ix[x] = ..; iy[x] = ..;

Values that both need are then loaded once. Intel's CPU runtime (2026.22.10) does not merge loops itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.expr import Expr, loads_of, names_of
from generator.nest import Assign, Declare, For, If, Node, Note, expressions, walk

MOST_WRITTEN = 4
"""The most arrays that a merged loop writes: each has an address of its own, and vectors in registers."""


@dataclass(frozen=True, slots=True)
class _Uses:
    """The names that the body of a loop reads with subscripts, writes, declares, and mentions in any way."""

    reads: frozenset[str]
    writes: frozenset[str]
    declares: frozenset[str]
    mentions: frozenset[str]


def with_merged_loops(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return `nodes`, where adjacent loops with the same iterations are merged if they read a common array, and none
    reads or writes what the other one writes.
    """
    found: list[Node] = []
    for node in nodes:
        both = _merged(found[-1], node) if found else None
        found[-1:] = [both] if both is not None else [*found[-1:], node]
    return tuple(map(_inside, found))


def _inside(node: Node) -> Node:
    match node:
        case For(body=body):
            return replace(node, body=with_merged_loops(body))
        case If(condition, then, otherwise):
            return If(condition, with_merged_loops(then), with_merged_loops(otherwise))
        case _:
            return node


def _merged(one: Node, other: Node) -> For | None:
    if not (isinstance(one, For) and isinstance(other, For)):
        return None
    if _header(one) != _header(other):
        return None
    first, second = _uses(one), _uses(other)
    if first is None or second is None or not _apart(first, second) or not _apart(second, first):
        return None
    written = first.writes | second.writes
    if not written.isdisjoint(_mentioned((one.start, one.condition))):
        return None
    if first.reads.isdisjoint(second.reads) or len(written - first.declares - second.declares) > MOST_WRITTEN:
        return None
    notes = dict.fromkeys(loop.note for loop in (one, other) if loop.note)
    return replace(one, body=(*one.body, *other.body), note="; ".join(notes))


def _header(loop: For) -> For:
    """Return the loop without what merged loops need not have in common."""
    return replace(loop, body=(), note="")


def _apart(one: _Uses, other: _Uses) -> bool:
    """Return whether `one` changes nothing that `other` mentions, and hides no name of it."""
    return (one.writes | one.declares).isdisjoint(other.mentions)


def _uses(loop: For) -> _Uses | None:
    """Return what the body of a loop uses; None if it does more than loops, conditions and assignments."""
    nodes = list(walk(loop.body))
    if not all(isinstance(node, For | If | Assign | Declare | Note) for node in nodes):
        return None
    targets = [node.target for node in nodes if isinstance(node, Assign)]
    values = [node.value for node in nodes if isinstance(node, Assign)]
    values += [expr for node in nodes if not isinstance(node, Assign) for expr in expressions(node)]
    values += [index for target in targets for index in target.index]
    reads = frozenset(load.array for expr in values for load in loads_of(expr) if load.index)
    writes = frozenset(target.array for target in targets)
    declares = frozenset(node.name for node in nodes if isinstance(node, Declare))
    return _Uses(reads, writes, declares, writes | declares | _mentioned(values))


def _mentioned(values: Sequence[Expr]) -> frozenset[str]:
    """Return the names of all arrays and variables in `values`."""
    return frozenset(name for expr in values for name in (*names_of(expr), *(load.array for load in loads_of(expr))))
