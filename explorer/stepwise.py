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
    """Draws given walks, one after the other."""

    def __init__(self, walks: UnseenWalks, starts: Sequence[Walk]) -> None:
        """Draw `starts`, and mark them as asked in `walks`. They are read at the first draw: they may not be made yet.
        """
        self._walks = walks
        self._starts: Sequence[Walk] = starts
        self._left: list[Walk] | None = None

    def draw(self) -> Walk | None:
        """Return the next start that was not asked before; None if there is none left."""
        if self._left is None:
            self._left, self._starts = list(self._starts), ()
        while self._left:
            walk = self._walks.draw_once(replay(self._left.pop(0).choices, first))
            if walk is not None:
                return walk
        return None
