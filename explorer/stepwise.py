"""Proposing walks one by one, each with a random generator of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from explorer.unseen import UnseenWalks
from graph.policies import first, replay
from graph.walk import Walk


def ask_each(count: int, stream: tuple[int, int], propose: Callable[[np.random.Generator], Walk | None]) -> list[Walk]:
    """Return up to `count` walks from `propose`, until it returns None.

    Each call gets a random generator seeded with `stream` (seed, number of the iteration) and the walk's number.
    """
    walks: list[Walk] = []
    while len(walks) < count and (walk := propose(np.random.default_rng((*stream, len(walks))))) is not None:
        walks.append(walk)
    return walks


class Openings:
    """Draws given walks, one after the other; or tells which are left."""

    def __init__(self, walks: UnseenWalks, starts: Sequence[Walk]) -> None:
        """Draw `starts`, and mark them as asked in `walks`. They are read at the first draw: they may not be made yet.
        """
        self._walks = walks
        self._starts: Sequence[Walk] = starts
        self._left: list[Walk] | None = None
        self._candidates: list[Walk] | None = None

    def draw(self) -> Walk | None:
        """Return the next start that was not asked before; None if there is none left."""
        left = self._read()
        while left:
            walk = self._walks.draw_once(replay(left.pop(0).choices, first))
            if walk is not None:
                return walk
        return None

    def left(self) -> Sequence[Walk]:
        """Return the starts that were not asked yet, as this graph walks to them."""
        if self._candidates is None:
            peeked = (self._walks.peek(replay(walk.choices, first)) for walk in self._read())
            self._candidates = [walk for walk in peeked if walk is not None]
        self._candidates = [walk for walk in self._candidates if not self._walks.asked(walk)]
        return self._candidates

    def _read(self) -> list[Walk]:
        """Return the starts that were not drawn."""
        if self._left is None:
            self._left, self._starts = list(self._starts), ()
        return self._left
