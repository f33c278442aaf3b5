"""Random search: every decision is drawn uniformly. The baseline for all other explorers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.unseen import UnseenWalks
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome


class RandomWalk:
    """Draws uniformly at every node (not uniformly over walks), without repeated walks."""

    asks_ahead = True

    def __init__(self, space: Space, seed: int) -> None:
        """Explore `space`; the same seed gives the same walks."""
        self._walks = UnseenWalks(space)
        self._seed = seed
        self._iteration = 0

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge."""
        return self._walks.graph

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        drawn = []
        for ant in range(count):
            walk = self._walks.draw(uniform(np.random.default_rng((self._seed, self._iteration, ant))))
            if walk is None:
                break
            drawn.append(walk)
        self._iteration += 1
        return drawn

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer."""
        self._walks.record(walk, outcome)
