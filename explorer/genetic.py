"""Evolution of walks: the fittest walks are crossed and changed, and what comes out is repaired by the graph.

After the search of the Halide prototype (Ragan-Kelley 2014; the rules are those of its published code): tournament
selection, elitism, two-point crossover between whole functions, mutation by rules that know what belongs together. What
is a function there is a subject here (explorer.variation). Evolution is steady: every evaluated walk competes with the
population at once, and the best `population` of them survive. So there are no generations that a call of `ask` could
cut in two.

What became of its rules of mutation:

- loop fusion (a stage takes in what it reads, and what that reads, going on with probability 0.85 after each): `fuse`
  gives one option to a run of neighbours, as long as there. Who reads whom no explorer can see; their order in the walk
  stands for it, and the option may also be one that parts them. What is asked about kernels that come of it is answered
  as for one of the parent's, where the prototype draws a tile.
- template (a pattern that people write, for one function): `template` takes what one of the starts says about a run of
  neighbours.
- copy is `spread`, replace is `renew`; consts, edit and chunk are `step`, `redraw` and `redraw some`.

Left out are add and remove (every decision of a walk has an answer), group (switched off there, too), more mutations
when the search is stuck, and fixed weights (59 % of the mutations there are by template or loop fusion): how often an
operator has its turn follows from how often it improved (explorer.credit). `borrow` and the forecast are ours.

Fitness and survival are DEAP's. Its operators that draw at random use one generator for the whole process, which
would break "same seed, same run"; those are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from deap.tools import selBest

from explorer.belief import Belief, standardised
from explorer.colony import Starts
from explorer.credit import ProbabilityMatching
from explorer.fitness import Cost
from explorer.resemblance import Resemblance
from explorer.stepwise import Openings, ask_each
from explorer.unseen import UnseenWalks, kernel_times
from explorer.variation import (
    Genes,
    Scales,
    Subject,
    another,
    block,
    blocks,
    crossed,
    differences,
    fused,
    genes,
    key,
    redrawn,
    repaired,
    templated,
)
from graph.foretelling import foretelling_of
from graph.optimization_graph import OptimizationGraph
from graph.policies import preferences, uniform
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms


@dataclass(frozen=True, slots=True)
class GeneticOptions:
    """The parameters of evolution, tried out on the recorded spaces of docs/explorers.md.

    `population` walks survive. One that is born into a full population and differs from its closest member in at most
    `niche` decisions can only take that member's place, so that the population stays diverse (crowding: De Jong 1975).
    The first `opening` walks are random. A parent is the best of `tournament` random members. Of `candidates` children
    the one is asked that resembles the best walks most (explorer.resemblance); costs that the space foretells
    (graph.foretelling) count, too, as far as they are believed (explorer.belief). A child that was asked before is bred
    anew, up to `retries` times; a random walk takes its place after that, and that of the share `immigrants`.
    When `patience` walks brought no better one, only the `kept` best survive and a new opening begins.
    """

    population: int = 8
    niche: int = 2
    opening: int = 10
    tournament: int = 3
    candidates: int = 8
    immigrants: float = 0.05
    retries: int = 12
    patience: int = 50
    kept: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Individual:
    """A walk that was evaluated."""

    walk: Walk
    genes: Genes
    fitness: Cost


@dataclass(frozen=True, slots=True)
class Wish:
    """Genes that an operator made from a parent's; what becomes of them is up to the graph."""

    wanted: Genes
    operator: int
    parent: Individual


@dataclass(frozen=True, slots=True)
class Birth:
    """A walk that was asked: which operator made it, and from whom."""

    walk: Walk
    operator: int
    parent: Individual


Operator: TypeAlias = "Callable[[Genetic, Individual, np.random.Generator], Genes]"


class Genetic:
    """The explorer."""

    def __init__(
        self, space: Space, seed: int, options: GeneticOptions = GeneticOptions(), starts: Starts = ()
    ) -> None:
        """Explore `space`; the same seed, options, starts and history give the same walks.

        The first walks are `starts`.
        """
        self._options = options
        self._seed = seed
        self._iteration = 0
        self._walks = UnseenWalks(space)
        self._openings = Openings(self._walks, starts)
        self._templates = tuple(preferences(start.choices) for start in starts if start.choices)
        self._scales = Scales()
        self._population: list[Individual] = []  # best first
        self._parents: list[Individual] = []  # those of them that can have children: successes with a choice
        self._told = 0
        self._improved = 0  # so many walks were told when the best was found, or the population renewed
        self._known = Resemblance()
        self._belief = Belief()
        self._open_until = options.opening
        self._kernels: dict[Subject, tuple[float, Genes]] = {}  # the fastest run of each
        self._credit = ProbabilityMatching(len(OPERATORS))
        self._births: list[Birth] = []

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge."""
        return self._walks.graph

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        self._births.clear()
        asked = ask_each(count, (self._seed, self._iteration), self._propose)
        self._iteration += 1
        return asked

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer. A walk that was not asked (a seed) joins the population like any other."""
        known = self._walks.record(walk, outcome)
        born = Individual(known, genes(known), Cost.of(cost_ms(outcome)))
        self._told += 1
        self._known.learn(born.genes, cost_ms(outcome))
        if (foretell := foretelling_of(self._walks.space)) is not None:
            self._belief.compare(foretell(known.plan), cost_ms(outcome))
        self._survive(born)
        for subject, kernel_ms in kernel_times(outcome).items():
            if subject not in self._kernels or kernel_ms < self._kernels[subject][0]:
                self._kernels[subject] = kernel_ms, block(born.genes, subject)
        for birth in self._births:
            if birth.walk is known:
                self._credit.reward(birth.operator, float(born.fitness > birth.parent.fitness))

    def _survive(self, born: Individual) -> None:
        """Let `born` compete for a place in the population."""
        if not self._population or born.fitness > self._population[0].fitness:
            self._improved = self._told
        elif self._told - self._improved > self._options.patience:
            self._improved = self._told
            self._open_until = self._told + self._options.opening
            self._population = self._population[: self._options.kept]
        rivals = list(self._population)
        if len(rivals) >= self._options.population:
            alike = min(rivals, key=lambda one: differences(one.genes, born.genes))
            if differences(alike.genes, born.genes) <= self._options.niche:
                rivals.remove(alike)
                born = max(alike, born, key=attrgetter("fitness"))
        self._population = selBest([*rivals, born], self._options.population)
        self._parents = [one for one in self._population if one.fitness != Cost.of(None) and one.genes]

    def _propose(self, rng: np.random.Generator) -> Walk | None:
        return self._openings.draw() or self._bred(rng) or self._walks.draw(uniform(rng))

    def _bred(self, rng: np.random.Generator) -> Walk | None:
        """A child; None when it is the turn of a random walk."""
        if not self._parents or self._told < self._open_until or rng.random() < self._options.immigrants:
            return None
        for _ in range(self._options.retries):
            found = self._most_promising([self._wish(rng) for _ in range(self._options.candidates)], rng)
            if found is not None and self._walks.take(found.walk):
                self._births.append(found)
                return found.walk
        return None

    def _most_promising(self, wishes: Sequence[Wish], rng: np.random.Generator) -> Birth | None:
        """The unseen walk with the best forecast; None when all of them are known."""
        forecasts = [(forecast, number) for number, wish in enumerate(wishes)
                     if (forecast := self._known.forecast(wish.wanted)) is not None]
        foretell = foretelling_of(self._walks.space)
        if foretell is None:
            return self._born(wishes[min(forecasts)[1]], rng) if forecasts else None
        found = [(forecast, birth) for forecast, number in forecasts if (birth := self._born(wishes[number], rng))]
        if not found:
            return None
        foretold = [foretell(birth.walk.plan) for _, birth in found]
        costs = standardised([forecast for forecast, _ in found]) + self._belief.trust * standardised(foretold)
        return found[int(np.argmin(costs))][1]

    def _born(self, wish: Wish, rng: np.random.Generator) -> Birth | None:
        """What the graph makes of a wish; None for a known walk."""
        walk = self._walks.peek(repaired(wish.wanted, rng))
        return Birth(walk, wish.operator, wish.parent) if walk is not None else None

    def _wish(self, rng: np.random.Generator) -> Wish:
        parent = self._selected(rng)
        operator = int(rng.choice(len(OPERATORS), p=self._credit.chances(self._usable(parent))))
        return Wish(tuple(OPERATORS.values())[operator](self, parent, rng), operator, parent)

    def _usable(self, parent: Individual) -> Sequence[bool]:
        """Which operators can do something to `parent`."""
        names = {name for name, _ in parent.genes}
        needed = {"template": bool(self._templates), "fuse": len(names) < len(parent.genes)}
        return [needed.get(name, True) for name in OPERATORS]

    def _selected(self, rng: np.random.Generator) -> Individual:
        """The winner of a tournament between parents."""
        drawn = rng.integers(len(self._parents), size=self._options.tournament)
        winner: Individual = max((self._parents[place] for place in drawn), key=attrgetter("fitness"))
        return winner

    def cross(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Two-point crossover with another parent, and a small change where they are too much alike to differ."""
        child = crossed(parent.genes, self._selected(rng).genes, rng)
        return child if rng.random() < 0.5 else self._stepped(parent, child, rng)

    def step(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """One number a place up or down; anything else drawn anew."""
        return self._stepped(parent, parent.genes, rng)

    def redraw(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """One decision drawn anew."""
        return redrawn(self._walks.graph.path(parent.walk), 1, rng)

    def redraw_some(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Two or three decisions drawn anew."""
        return redrawn(self._walks.graph.path(parent.walk), int(rng.integers(2, 4)), rng)

    def renew(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """All decisions of a subject drawn anew."""
        wanted = parent.genes
        parts = blocks(wanted)
        left_out = set(parts[rng.integers(len(parts))])
        return {gene: option for gene, option in wanted.items() if gene not in left_out}

    def borrow(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """A subject's choices from where they served best: a kernel's from its fastest run, others from a parent."""
        wanted = parent.genes
        subjects = list(dict.fromkeys(subject for _, subject in wanted))
        subject = subjects[rng.integers(len(subjects))]
        if subject in self._kernels:
            return {**wanted, **self._kernels[subject][1]}
        return {**wanted, **block(self._selected(rng).genes, subject)}

    def spread(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """A subject's choices for another subject that has decisions of the same names."""
        wanted = parent.genes
        subjects = list(dict.fromkeys(subject for _, subject in wanted))
        giver, taker = (subjects[place] for place in rng.integers(len(subjects), size=2))
        given = {(name, taker): option for (name, _), option in block(wanted, giver).items()}
        return {**wanted, **{gene: option for gene, option in given.items() if gene in wanted}}

    def template(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """What one of the starts says about a run of neighbours."""
        return templated(parent.genes, self._templates[rng.integers(len(self._templates))], rng)

    def fuse(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """One option for a run of neighbours, such as to be computed by the kernel that reads them."""
        return fused(self._walks.graph.path(parent.walk), rng)

    def _stepped(self, parent: Individual, wanted: Genes, rng: np.random.Generator) -> Genes:
        path = self._walks.graph.path(parent.walk)
        node, index = path[rng.integers(len(path))]
        near = self._scales.steps(node, index, 1) or (another(node, index, rng),)
        return {**wanted, key(node): node.options[near[int(rng.integers(len(near)))]]}


OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "cross": Genetic.cross,
        "step": Genetic.step,
        "redraw": Genetic.redraw,
        "redraw some": Genetic.redraw_some,
        "renew": Genetic.renew,
        "borrow": Genetic.borrow,
        "spread": Genetic.spread,
        "template": Genetic.template,
        "fuse": Genetic.fuse,
    }
)
"""The ways to make a child."""
