"""Loops around shared copies: the places inside sequential loops of a kernel where copies may be filled.

Of several sequential loops in one another that cannot be tiled together, only the outermost is usually tiled, and a
copy holds everything that the inner ones read. With a depth, as many of these loops run value by value around the
place of the copies, and the next ones are tiled. The order of instances stays the same:

    for k: [fill] for l: S      depth 1:  for k: for l/I: [fill] for l%I: S
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from generator.polyhedral.kit.tree import Band, Sequence, Tree
from generator.polyhedral.schedules.kernels import Dimension, dimension


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A place of a kernel: the sequential loops around it, the tree there, the instances that it runs.

    Statements elsewhere may share these loops, and have other ranges in them: each Dimension has the range of all.
    """

    outer: tuple[Dimension, ...]
    tree: Tree
    domain: Any


def paths(tree: Tree, domain: Any, depth: int,
          together: Callable[[Sequence, Any], bool] = lambda tree, domain: False,
          outer: tuple[Dimension, ...] = ()) -> Iterator[Path]:
    """Yield a Path for each way from the top of `tree` to a loop inside `depth` others (or to the innermost one of
    fewer), in order. Sequences that need something `together` are not entered.
    """
    if isinstance(tree, Sequence) and not together(tree, domain):
        for filters, child in zip(tree.filters, tree.children, strict=True):
            yield from paths(child, domain.intersect(filters), depth, together, outer)
    elif depth and isinstance(tree, Band) and (inside := first_around(tree)):
        yield from paths(inside, domain, depth - 1, together, (*outer, dimension(tree.members[0], domain)))
    else:
        yield Path(outer, tree, domain)


def first_around(band: Band) -> Tree | None:
    """Return what is inside the first loop of a band; None if that has no loop."""
    rest = band.child
    if len(band.members) > 1:
        rest = replace(band, members=band.members[1:], coincident=band.coincident[1:], notes=band.notes[1:])
    return rest if _nested(rest) else None


def depths(tree: Tree) -> tuple[int, ...]:
    """Return the numbers of loops around copies that differ from 0, and from tile sizes of loops that can be tiled
    together: those at whose end another band begins.
    """
    return tuple(sorted(set(_depths(tree, 0))))


def _depths(tree: Tree, around: int) -> Iterator[int]:
    match tree:
        case Band(members=members, child=child):
            inside = around + len(members)
            if not tree.permutable:
                yield from range(around + 1, inside)
            if _nested(child):
                yield inside
                yield from _depths(child, inside)
        case Sequence(children=children):
            for child in children:
                yield from _depths(child, around)
        case _:
            return


def deepest(tree: Tree) -> int:
    """Return the greatest number of loops around a loop."""
    return max(0, _nested(tree) - 1)


def _nested(tree: Tree) -> int:
    """Return the greatest number of loops in one another."""
    match tree:
        case Band(members=members, child=child):
            return len(members) + _nested(child)
        case Sequence(children=children):
            return max(map(_nested, children), default=0)
        case _:
            return 0


def tiled_members(band: Band) -> int:
    """Return how many leading members may be tiled together: all of a permutable band, else only the first."""
    return len(band.members) if band.permutable else 1
