"""Beam search over prefixes of walks, with costs from the space's guide (Anderson et al. 2021).

One walk is the result of a beam search in several passes. After it and the start walks, all come from greedy runs (a
beam of one) that skip prefixes at random: different good walks, to measure and as training data for cost models. The
guide (`graph.guiding.Guide`) estimates the costs of prefixes; if the space has none, they are estimated from the
measured walks with the same choices (`explorer.hindsight`), and the start walks come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from explorer.beam_pass import COARSE, BeamOptions, Blessed, ForBeams, Pass
from explorer.colony import Starts
from explorer.hindsight import Hindsight
from explorer.stepwise import Openings, ask_each
from explorer.threads import one_thread
from explorer.unseen import UnseenWalks
from graph.guiding import Guide, Prefix, guide_of
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay, uniform
from graph.space import DeadEnd, Space
from graph.states import start_of
from graph.walk import Walk
from metrics.outcome import Outcome

RETRIES = 3
"""Greedy runs to find a walk that was not asked before; after that, one is drawn at random."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of a search.

    `end`: the last prefix of its best walk (None: it found none). `extended`, `judged`: the numbers of prefixes that
    were extended, and whose cost was estimated. `deepest`: the number of decisions of the longest prefix. `guide`: with
    freezing, all but the most important decisions are those of this walk.
    """

    end: Prefix | None
    extended: int
    judged: int
    deepest: int
    guide: Guide

    @property
    def length(self) -> int:
        """The approximate number of decisions of a walk, at least 1; `deepest` if no walk was found."""
        return max(1, self.end.decisions if self.end is not None else self.deepest)


@one_thread()
def search(space: Space, guide: Guide, options: BeamOptions, rng: np.random.Generator) -> Searched:
    """Run a beam search in passes: with `freezing`, a coarse one, then passes that leave few decisions open, the others
    being those of the best walk so far.
    """
    best: Prefix | None = None
    frozen_at: Prefix | None = None
    done, passes = list[Pass](), options.passes
    coarse = guide.coarse() if options.freezing and passes > 1 else None
    if coarse is not None:
        done.append(Pass(coarse, options, COARSE, rng, Blessed()))
        frozen_at, passes = done[-1].run(_start(space)), passes - 1
        passes += options.turns if frozen_at is not None else 0
    blessed = Blessed()
    for number in range(passes):
        narrow = guide.frozen(best or frozen_at, number) if frozen_at is not None else guide
        done.append(Pass(narrow, options, number, rng, blessed))
        end = done[-1].run(_start(space))
        if end is not None and (best is None or end.cost < best.cost):
            best = end
    return Searched(best, sum(run.extended for run in done), sum(run.judged for run in done),
                    max((run.deepest for run in done), default=0),
                    guide.frozen(best or frozen_at) if frozen_at is not None else guide)


@one_thread()
def greedy(space: Space, guide: Guide, options: BeamOptions, rng: np.random.Generator, length: int) -> Prefix | None:
    """Run a greedy search with dropout. `length`: the approximate number of decisions of a walk. Raises DeadEnd."""
    alone = replace(options, beam=1, passes=1)
    return Pass(guide, alone, 0, rng, Blessed(), dropping=True, length=length).run(_start(space))


def _start(space: Space) -> Prefix:
    return Prefix(start_of(space))


class Beam:
    """The beam search explorer."""

    def __init__(self, space: Space, seed: int, options: BeamOptions | None = None, starts: Starts = ()) -> None:
        """Explore `space`; the same seed, options (by default those of the space), starts and history give the same
        walks.

        The first walk is that of the beam search if the space has a guide, then come the `starts`; without a guide,
        costs are known only after these.
        """
        self._options = options or (space.beam if isinstance(space, ForBeams) else BeamOptions())
        self._seed = seed
        self._iteration = 0
        self._walks = UnseenWalks(space)
        self._openings = Openings(self._walks, starts)
        self._searched = False
        self._length = 1

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge."""
        return self._walks.graph

    @property
    def _guide(self) -> Guide:
        """The guide. Computed on each use, so that the frozen state (`explorer.frozen`) does not contain it."""
        return guide_of(self._walks.space) or Hindsight(self._walks.graph)

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        asked = ask_each(count, (self._seed, self._iteration), self._propose)
        self._iteration += 1
        return asked

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer. A walk that was not asked (a seed) counts like any other."""
        self._walks.record(walk, outcome)

    def _propose(self, rng: np.random.Generator) -> Walk | None:
        if guide_of(self._walks.space) is not None and (walk := self._searched_for(rng)) is not None:
            return walk
        if (opening := self._openings.draw()) is not None:
            return opening
        if (walk := self._searched_for(rng)) is not None:
            return walk
        for _ in range(RETRIES):
            try:
                end = greedy(self._walks.space, self._guide, self._options, rng, self._length)
            except DeadEnd:
                end = None
            if end is not None and (walk := self._taken(end)) is not None:
                return walk
        return self._walks.draw(uniform(rng))

    def _searched_for(self, rng: np.random.Generator) -> Walk | None:
        """Return the walk that the beam search finds, when called first; None afterwards, or if it finds none."""
        if self._searched:
            return None
        self._searched = True
        found = search(self._walks.space, self._guide, self._options, rng)
        self._length = found.length
        return self._taken(found.end) if found.end is not None else None

    def _taken(self, end: Prefix) -> Walk | None:
        """Return the walk that ends with `end`, or None if it was asked before."""
        return self._walks.draw_once(replay(end.choices, first))
