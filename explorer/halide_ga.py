"""The genetic search of Halide's prototype, generation by generation (Ragan-Kelley 2014, and the published code).

`genetic` adapts the parts of that search that help on our graphs; this explorer follows the publication. A generation
has 128 members, of which 25 elites stay unchanged. The others come from crossover, mutation and random schedules, in
shares that adapt to stagnation. Parents are selected by tournaments; crossover is two-point between stages; there are
nine modes of mutation (`halide_mutations`). The first generation has all-root and reasonable schedules
(`halide_schedules`). The parameters are in `halide_options`.

Differences:

- The prototype draws again if a child is illegal. Here the graph repairs children, so all are legal; the retries are
  used for children that were asked before.
- A tournament selects among the best of its sample, as the prototype documents; its code does not sort.
- Elites keep their measured cost. The members of a generation are asked in random order, over several calls of `ask`.
  If a generation ends within a call, the next one begins with the outcomes told so far; later ones join the parents.
- Grouping of stages by name is left out; it is switched off in the prototype, too. This is the prototype's GPU mode,
  which has no fragments for vectors and parallel loops of CPUs.
- If the space has no stage graph (C programs, recordings), the given starts are the seeds and the templates.

Fitness and selection of the best are DEAP's. DEAP's operators (cxTwoPoint, selTournament) and algorithms (eaSimple,
varAnd) use one random generator for the whole process, which would break "same seed, same run". Its algorithms also
call the evaluation themselves, which does not fit ask and tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias, assert_never

import numpy as np
from deap.tools import selBest

from explorer.colony import Starts
from explorer.fitness import Cost
from explorer.halide_lists import Lists, Stages, lists_of, two_point
from explorer.halide_mutations import Mutant, mutated
from explorer.halide_options import PUBLISHED, HalideGaOptions
from explorer.halide_schedules import Drawing, Patterns
from explorer.stepwise import Openings, ask_each
from explorer.unseen import UnseenWalks
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.prefixes import Path
from graph.space import Space
from graph.stage_graph import stage_graph_of
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms

Way: TypeAlias = Literal["seed", "crossover", "mutation", "random"]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A walk that succeeded."""

    walk: Walk
    fitness: Cost


class HalideGa:
    """The explorer of Halide's genetic search."""

    def __init__(
        self, space: Space, seed: int, options: HalideGaOptions = PUBLISHED, starts: Starts = ()
    ) -> None:
        """Explore `space`; the same seed, options, starts and history give the same walks.

        `starts` are the seeds and templates if the space has no stage graph; otherwise they are not used.
        """
        graph = stage_graph_of(space)
        self._options = options
        self._seed = seed
        self._iteration = 0
        self._walks = UnseenWalks(space)
        self._stages = Stages.of(graph)
        patterns = None if graph is None else Patterns(graph, options)
        self._drawing = Drawing(space, self._walks.graph, self._stages, patterns, options)
        given = starts if graph is None else ()
        self._openings = Openings(self._walks, given)
        self._templates = tuple(self._stages.lists(start.choices) for start in given)
        self._generation = 0
        self._left: list[Way] = ["seed"] * options.seeds
        self._seeds = 0
        self._parents: list[Evaluated] = []
        self._born: list[Evaluated] = []
        self._bests: tuple[float, ...] = ()
        self._asked: dict[str, int] = {}  # by identity, the generation of walks that are not told yet

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge."""
        return self._walks.graph

    @property
    def generation(self) -> int:
        """The number of the current generation; the seeds are generation 0."""
        return self._generation

    @property
    def elites(self) -> Sequence[Walk]:
        """The members that stay unchanged in the current generation, best first."""
        return [one.walk for one in self._best()]

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        asked = ask_each(count, (self._seed, self._iteration), self._propose)
        self._iteration += 1
        return asked

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer. A walk that was not asked joins the generation; one that failed does not."""
        known = self._walks.record(walk, outcome)
        generation, cost = self._asked.pop(known.identity, self._generation), cost_ms(outcome)
        if cost is not None:
            joined = self._born if generation == self._generation else self._parents
            joined.append(Evaluated(known, Cost.of(cost)))

    def _propose(self, rng: np.random.Generator) -> Walk | None:
        walk = self._openings.draw()
        if walk is None:
            if not self._left:
                self._begin()
            walk = self._made(self._left.pop(), rng) or self._walks.draw(uniform(rng))
        elif self._left:
            self._left.pop()
        if walk is not None:
            self._asked[walk.identity] = self._generation
        return walk

    def _begin(self) -> None:
        """Begin the next generation: its parents are the elites and the last children; draw how to make its children.
        """
        self._parents, self._born = [*self._best(), *self._born], []
        costs = [one.fitness.values[0] for one in self._parents]
        self._bests = (*self._bests, min(costs, default=float("inf")))[-1 - self._options.horizon :]
        self._generation += 1
        counts = self._options.shares(self._options.stagnation(self._bests))
        ways: tuple[Way, ...] = ("crossover", "mutation", "random")
        children = [way for way, count in zip(ways, counts, strict=True) for _ in range(count)]
        order = np.random.default_rng((self._seed, self._generation)).permutation(len(children))
        self._left = [children[place] for place in order]

    def _best(self) -> list[Evaluated]:
        distinct = {one.walk.identity: one for one in self._parents}
        best: list[Evaluated] = selBest([*distinct.values()], self._options.elites)
        return best

    def _made(self, way: Way, rng: np.random.Generator) -> Walk | None:
        """Return an unseen walk made in this way, or a random schedule if that fails; None if both fail."""
        match way:
            case "crossover":
                return self._crossed(rng) or self._unseen("random", rng)
            case "mutation":
                return self._mutated(rng) or self._unseen("random", rng)
            case "seed" | "random":
                return self._unseen(way, rng)
            case _:
                assert_never(way)

    def _unseen(self, way: Literal["seed", "random"], rng: np.random.Generator) -> Walk | None:
        """Return a seed or a random schedule; a random schedule replaces a seed that was asked before."""
        number, patterns = self._seeds, self._drawing.patterns
        self._seeds += way == "seed"
        for _ in range(self._options.retries):
            seeded = way == "seed" and patterns is not None
            lists = patterns.seed(number, rng) if seeded and patterns is not None else self._drawing.random(rng)
            walk = self._walks.draw_once(self._stages.following(lists, rng))
            if walk is not None:
                return walk
        return None if way == "random" else self._unseen("random", rng)

    def _crossed(self, rng: np.random.Generator) -> Walk | None:
        for _ in range(self._options.restarts):
            first, second = (self._lists(self._mate(rng)) for _ in range(2))
            if len({*first, *second}) < 2:
                continue  # nothing to cut between
            for _ in range(self._options.retries):
                walk = self._walks.draw_once(self._stages.following(two_point(first, second, rng), rng))
                if walk is not None:
                    return walk
        return None

    def _mutated(self, rng: np.random.Generator) -> Walk | None:
        for _ in range(self._options.restarts):
            path = self._parent(rng)
            spots = self._stages.spots(path)
            for _ in range(self._options.retries if spots else 0):
                stage = [*spots][int(rng.integers(len(spots)))]
                child = mutated(Mutant(path, spots, stage, self._drawing, self._templates), rng)
                walk = self._walks.draw_once(self._stages.following(child[1], rng)) if child is not None else None
                if walk is not None:
                    return walk
        return None

    def _lists(self, path: Path) -> Lists:
        return lists_of(self._stages.spots(path))

    def _mate(self, rng: np.random.Generator) -> Path:
        """Return the path of a parent for a crossover."""
        return self._stranger(rng) if rng.random() < self._options.fresh else self._parent(rng)

    def _parent(self, rng: np.random.Generator) -> Path:
        """Return the path of a tournament's winner, or of a random schedule."""
        drawn = rng.permutation(len(self._parents))[: ceil(self._options.sample * len(self._parents))]
        best: list[Evaluated] = selBest([self._parents[place] for place in drawn], self._options.top)
        place = int(rng.integers(self._options.top))
        return self._walks.graph.path(best[place].walk) if place < len(best) else self._stranger(rng)

    def _stranger(self, rng: np.random.Generator) -> Path:
        """Return the path of a random schedule that is not asked; empty if no walk is legal."""
        return self._drawing.path(self._drawing.random(rng), rng)
