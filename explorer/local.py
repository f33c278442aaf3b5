"""Iterated hill climbing with simulated-annealing acceptance.

A neighbour of a walk differs in one decision (and in what the graph repairs after it); near numbers come first. The
search moves to a neighbour that costs less, and to one that costs more with probability (Kirkpatrick, Gelatt & Vecchi
1983, on relative cost)

    exp(-(log cost - log current cost) / T),   T = temperature * cooling^(walks since the climb began)

A climb ends when all neighbours were asked, or `patience` walks did not improve it. The next one starts a few changes
away from the best walk, or anywhere (iterated local search: Lourenço, Martin & Stützle 2003).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from explorer.best import Scored
from explorer.colony import Starts
from explorer.stepwise import Openings, ask_each
from explorer.unseen import UnseenWalks
from explorer.variation import Genes, Neighbours, Scales, redrawn, repaired
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms

_TOLD = 2**32 - 1
"""Seeds the random generators of `tell`; no walk of an iteration has this number, so those of `ask` differ."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The parameters of local search, tuned on the recorded spaces of docs/benchmarks/explorers.md.

    The first `opening` walks are random, and the first climb starts from the best of them. `temperature`, `cooling`
    and `patience` are explained above. A new climb starts `kick` changed decisions away from the best walk, or, with
    probability `elsewhere`, at a random walk. `retries` neighbours in a row that were asked before end a climb, too.
    """

    opening: int = 10
    temperature: float = 0.1
    cooling: float = 0.9
    patience: int = 20
    kick: int = 2
    elsewhere: float = 0.5
    retries: int = 30


@dataclass(slots=True)
class Climb:
    """The current walk of a climb, and its remaining neighbours. `idle`: walks since the last improvement."""

    current: Scored
    neighbours: Iterator[Genes]
    temperature: float
    idle: int = 0


class Local:
    """The local search explorer."""

    def __init__(self, space: Space, seed: int, options: LocalOptions = LocalOptions(), starts: Starts = ()) -> None:
        """Explore `space`; the same seed, options, starts and history give the same walks.

        The first walks are `starts`.
        """
        self._options = options
        self._seed = seed
        self._iteration = 0
        self._walks = UnseenWalks(space)
        self._openings = Openings(self._walks, starts)
        self._scales = Scales()
        self._told = 0
        self._best: Scored | None = None
        self._climb: Climb | None = None
        self._asked: list[Walk] = []  # in this iteration
        self._kicks: list[Walk] = []  # those of them to start a climb from

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge."""
        return self._walks.graph

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        self._kicks.clear()
        self._asked = ask_each(count, (self._seed, self._iteration), self._propose)
        self._iteration += 1
        return tuple(self._asked)

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer. A walk that was not asked (a seed) is moved to like any other."""
        known = self._walks.record(walk, outcome)
        self._told += 1
        climb = self._climb
        if climb is not None and any(known is asked for asked in self._asked):
            climb.temperature *= self._options.cooling
            climb.idle += 1
        cost = cost_ms(outcome)
        if cost is not None:
            self._take_in(Scored(known, cost))

    def _take_in(self, scored: Scored) -> None:
        """Decide whether to move to this walk, or to begin a climb there."""
        climb, cost = self._climb, scored.cost_ms
        if self._best is None or cost < self._best.cost_ms:
            self._best = scored
            self._climb = self._begin(scored)
        elif climb is None:
            self._climb = self._begin(scored) if any(scored.walk is kick for kick in self._kicks) else None
        elif cost < climb.current.cost_ms:
            self._move(climb, scored)
            climb.idle = 0
        elif self._accepts(climb, cost):
            self._move(climb, scored)

    def _propose(self, rng: np.random.Generator) -> Walk | None:
        opening = self._openings.draw()
        if opening is not None:
            return opening
        if self._best is None or self._told < self._options.opening:
            return self._walks.draw(uniform(rng))
        return self._neighbour(rng) or self._kicked(self._best.walk, rng)

    def _neighbour(self, rng: np.random.Generator) -> Walk | None:
        """Return an unseen neighbour of the current walk; None if the climb is over."""
        climb = self._climb
        if climb is None or climb.idle > self._options.patience:
            return None
        for wanted in islice(climb.neighbours, self._options.retries):
            walk = self._walks.draw_once(repaired(wanted, rng))
            if walk is not None:
                return walk
        return None

    def _kicked(self, best: Walk, rng: np.random.Generator) -> Walk | None:
        """End the climb, and return a walk from which the next one starts; None if the space is exhausted."""
        self._climb = None
        walk = None
        if best.choices and rng.random() >= self._options.elsewhere:
            wanted = redrawn(self.graph.path(best), self._options.kick, rng)
            walk = self._walks.draw_once(repaired(wanted, rng))
        walk = walk or self._walks.draw(uniform(rng))
        self._kicks += [walk] if walk is not None else []
        return walk

    def _begin(self, start: Scored) -> Climb:
        return Climb(start, self._around(start.walk), self._options.temperature)

    def _move(self, climb: Climb, to: Scored) -> None:
        climb.current = to
        climb.neighbours = self._around(to.walk)

    def _around(self, walk: Walk) -> Iterator[Genes]:
        return Neighbours(self.graph.path(walk), self._scales, self._drawn())

    def _accepts(self, climb: Climb, cost: float) -> bool:
        if climb.temperature <= 0.0 or climb.current.cost_ms <= 0.0:
            return False
        worse = math.log(cost / climb.current.cost_ms)
        return bool(self._drawn().random() < math.exp(-worse / climb.temperature))

    def _drawn(self) -> np.random.Generator:
        """Return a random generator for the walk that was told last."""
        return np.random.default_rng((self._seed, self._told, _TOLD))
