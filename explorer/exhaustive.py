"""Enumerates all walks of a space in a fixed order, first options first. For small spaces."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.unseen import kernels_of, program_of
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay
from graph.prefixes import PrefixTree
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome


class Exhaustive:
    """Every walk once; the last decision changes fastest. Neither the seed nor the costs matter.

    Walks are not stored: the order determines which were asked. Only the digests of their Plans are kept (walks with
    the same Plan are duplicates), and a prefix tree with the current position.
    """

    def __init__(self, space: Space) -> None:
        """Enumerate `space`."""
        self.graph = OptimizationGraph()
        self._space = space
        self._done = PrefixTree()
        self._seen: set[str] = set()
        self._pending: dict[str, Walk] = {}  # asked and not told yet

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        asked: list[Walk] = []
        while len(asked) < count and (walk := self.graph.walk(self._space, first, self._done)) is not None:
            identity = walk.identity
            self._done.close(self.graph.path(walk))
            if identity not in self._seen:
                self._seen.add(identity)
                self._pending[identity] = walk
                asked.append(walk)
        return asked

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer."""
        known = self._pending.pop(walk.identity, None) or self._adopt(walk)
        self.graph.record(known, program_of(outcome), kernels_of(outcome))

    def _adopt(self, walk: Walk) -> Walk:
        """Add a walk that another explorer chose, and return it as this graph knows it.

        Raises ValueError if the space does not allow it.
        """
        replayed = self.graph.walk(self._space, replay(walk.choices, first))
        if replayed is None or replayed.identity != walk.identity:
            raise ValueError(f"walk {walk.identity} does not belong to this space")
        self._done.close(self.graph.path(replayed))
        self._seen.add(walk.identity)
        return replayed
