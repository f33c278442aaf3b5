"""The loops of a thread, as a decision about one of them needs them."""

from __future__ import annotations

from dataclasses import dataclass

from generator.decisions.size_lists import InnerTiles

POINTS = frozenset({"point", "neighbour"})
"""Kinds of loops over points of a thread."""


@dataclass(frozen=True, slots=True)
class Loops:
    """The decisions that determine the loops of a kernel's threads."""

    tile: tuple[int, ...]
    block: tuple[int, ...]
    run: int
    inner_tile: InnerTiles
    points_inside: bool
    shared: bool
    uncopied: tuple[str, ...]
    whole: tuple[str, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class ThreadLoop:
    """A loop of a thread: its name in plans, its kind (`tile`, `point`, `neighbour`, "" for most others), and the kinds
    of all loops inside it (generator.lowering.naming.LoopKey). `own`: it runs over points that each have variables of
    their own for values of the program, so that it is unrolled completely.
    """

    name: str
    kind: str
    inside: frozenset[str]
    own: bool = False
