"""Beam search over prefixes of walks, guided by what a space says of them (Anderson et al. 2021).

The first walk is that of a beam search in several passes; all others are greedy runs (a beam of one) that skip prefixes
at random, so that they are samples of good walks: training data for cost models, and something to measure. What a space
is to know of prefixes is a `graph.guiding.Guide`; where there is none, prefixes cost what was measured of their choices
(`explorer.hindsight`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from explorer.beam_pass import COARSE, BeamOptions, Blessed, Pass
from explorer.colony import Starts
from explorer.hindsight import Hindsight
from explorer.stepwise import Openings, ask_each
from explorer.unseen import UnseenWalks
from graph.guiding import Guide, Prefix, guide_of
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay, uniform
from graph.space import DeadEnd, Space
from graph.states import start_of
from graph.walk import Walk
from metrics.outcome import Outcome

RETRIES = 3
"""Greedy runs for a walk that was not asked before; after that it is drawn at random."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found: the end of its best walk, and how many prefixes it extended and judged.

    `deepest`: decisions of the longest prefix that it reached.
    """

    end: Prefix | None
    extended: int
    judged: int
    deepest: int

    @property
    def length(self) -> int:
        """Decisions of a walk, about, 1 at least; of a search that found none, as far as it got."""
        return max(1, self.end.decisions if self.end is not None else self.deepest)


def search(space: Space, guide: Guide, options: BeamOptions, rng: np.random.Generator) -> Searched:
    """Beam search in passes: a coarse one that freezes what matters little, if that is on, then the others."""
    best: Prefix | None = None
    done, passes = list[Pass](), options.passes
    coarse = guide.coarse() if options.freezing and passes > 1 else None
    if coarse is not None:
        done.append(Pass(coarse, options, COARSE, rng, Blessed()))
        end, passes = done[-1].run(_start(space)), passes - 1
        guide = guide.frozen(end) if end is not None else guide
    blessed = Blessed()
    for number in range(passes):
        done.append(Pass(guide, options, number, rng, blessed))
        end = done[-1].run(_start(space))
        if end is not None and (best is None or end.cost < best.cost):
            best = end
    return Searched(best, sum(run.extended for run in done), sum(run.judged for run in done),
                    max((run.deepest for run in done), default=0))


def greedy(space: Space, guide: Guide, options: BeamOptions, rng: np.random.Generator, length: int) -> Prefix | None:
    """A greedy run with dropout; `length`: decisions of a walk, about."""
    alone = replace(options, beam=1, passes=1)
    return Pass(guide, alone, 0, rng, Blessed(), dropping=True, length=length).run(_start(space))


def _start(space: Space) -> Prefix:
    return Prefix(start_of(space))


class Beam:
    """The explorer."""

    def __init__(self, space: Space, seed: int, options: BeamOptions | None = None, starts: Starts = ()) -> None:
        """Explore `space`; the same seed, options, starts and history give the same walks.

        The first walks are `starts`.
        """
        self._options = options or BeamOptions()
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
        """It follows from the space, so that it is no part of the state that is frozen (`explorer.frozen`)."""
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
        opening = self._openings.draw()
        if opening is not None:
            return opening
        if not self._searched:
            self._searched = True
            found = search(self._walks.space, self._guide, self._options, rng)
            self._length = found.length
            if found.end is not None and (walk := self._taken(found.end)) is not None:
                return walk
        for _ in range(RETRIES):
            try:
                end = greedy(self._walks.space, self._guide, self._options, rng, self._length)
            except DeadEnd:
                end = None
            if end is not None and (walk := self._taken(end)) is not None:
                return walk
        return self._walks.draw(uniform(rng))

    def _taken(self, end: Prefix) -> Walk | None:
        """The walk, if it was not asked before."""
        return self._walks.draw_once(replay(end.choices, first))
