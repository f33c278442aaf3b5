"""A genetic algorithm over walks: the fittest walks are crossed and mutated, and the graph repairs the children.

Based on the search of the Halide prototype (Ragan-Kelley 2014, and its published code): tournament selection, elitism,
two-point crossover between whole functions, and mutations that change related decisions together. A function of Halide
is a subject here (explorer.variation). Evolution is steady-state: every evaluated walk competes with the population at
once, and the best `population` survive. So there are no generations that a call of `ask` could split.

How the prototype's mutations map onto ours:

- Loop fusion (a stage absorbs the stages that it reads, and those that these read, and continues with probability 0.85
  after each): `fuse` gives one option to a run of neighbours of the same random length. Explorers do not see which
  stage reads which, so the order in the walk is used instead, and the option may also be one that separates the
  stages. Decisions about new kernels are answered as for a kernel of the parent; the prototype draws a tile.
- Template (a typical hand-written schedule of one function): `template` takes the choices of a start walk for a run of
  neighbours.
- Copy is `spread`, replace is `renew`; consts, edit and chunk are `step`, `redraw` and `redraw some`.

Left out: add and remove (every decision of a walk has an answer), group (switched off in the prototype, too), more
mutations when the search stagnates, and fixed weights (there, 59 % of the mutations are template or loop fusion).
Instead, an operator is used in proportion to how often it improved (explorer.credit). `borrow` and the forecast are
ours.

Fitness and survival are DEAP's. DEAP's random operators use one generator for the whole process, which would break
"same seed, same run", so these are ours.
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
from graph.foretelling import foretelling_of, foretold_alone
from graph.optimization_graph import OptimizationGraph
from graph.policies import preferences, uniform
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms


@dataclass(frozen=True, slots=True)
class GeneticOptions:
    """The parameters of the genetic algorithm, tuned on the recorded spaces of docs/benchmarks/explorers.md.

    `population`: walks that survive. `niche`: in a full population, a new walk that differs from its closest member in
    at most so many decisions can only replace that member, which keeps the population diverse (crowding: De Jong 1975).
    `opening`: so many first walks are random. `tournament`: a parent is the best of so many random members.
    `candidates`: of so many children, the one with the lowest forecast is asked (explorer.resemblance, plus the costs
    that the space predicts, weighted by their trust: graph.foretelling, explorer.belief). `retries`: attempts to make
    an unseen child before a random walk replaces it. `immigrants`: the share of random walks. `patience`: after so many
    walks without improvement, only the `kept` best survive, and a new opening begins.
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
    """Genes that an operator made from those of a parent, before the graph repairs them."""

    wanted: Genes
    operator: int
    parent: Individual


@dataclass(frozen=True, slots=True)
class Birth:
    """A child walk that was asked, with the operator that made it and its parent."""

    walk: Walk
    operator: int
    parent: Individual


Operator: TypeAlias = "Callable[[Genetic, Individual, np.random.Generator], Genes]"


class Genetic:
    """The genetic explorer."""

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
        self._improved = 0  # the value of _told when the best was found, or the population reduced
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
            self._belief.compare(foretell(known.plan).program, cost_ms(outcome))
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
        """Return an unseen child; None if a random walk is to be asked instead."""
        if not self._parents or self._told < self._open_until or rng.random() < self._options.immigrants:
            return None
        for _ in range(self._options.retries):
            found = self._most_promising([self._wish(rng) for _ in range(self._options.candidates)], rng)
            if found is not None and self._walks.take(found.walk):
                self._births.append(found)
                return found.walk
        return None

    def _most_promising(self, wishes: Sequence[Wish], rng: np.random.Generator) -> Birth | None:
        """Return the unseen child with the lowest forecast; None if all children are known."""
        forecasts = [(forecast, number) for number, wish in enumerate(wishes)
                     if (forecast := self._known.forecast(wish.wanted)) is not None]
        foretell = foretelling_of(self._walks.space)
        if foretell is None:
            return self._born(wishes[min(forecasts)[1]], rng) if forecasts else None
        found = [(forecast, birth) for forecast, number in forecasts if (birth := self._born(wishes[number], rng))]
        if not found:
            return None
        foretold = [foretell(birth.walk.plan).program for _, birth in found]
        costs = self._belief.trust * standardised(foretold)
        if not foretold_alone(self._walks.space) or all(cost is None for cost in foretold):
            costs = costs + standardised([forecast for forecast, _ in found])
        return found[int(np.argmin(costs))][1]

    def _born(self, wish: Wish, rng: np.random.Generator) -> Birth | None:
        """Return the walk that results from a wish after repair; None if it was asked before."""
        walk = self._walks.peek(repaired(wish.wanted, rng))
        return Birth(walk, wish.operator, wish.parent) if walk is not None else None

    def _wish(self, rng: np.random.Generator) -> Wish:
        parent = self._selected(rng)
        operator = int(rng.choice(len(OPERATORS), p=self._credit.chances(self._usable(parent))))
        return Wish(tuple(OPERATORS.values())[operator](self, parent, rng), operator, parent)

    def _usable(self, parent: Individual) -> Sequence[bool]:
        """Return for each operator whether it can change `parent`."""
        names = {name for name, _ in parent.genes}
        needed = {"template": bool(self._templates), "fuse": len(names) < len(parent.genes)}
        return [needed.get(name, True) for name in OPERATORS]

    def _selected(self, rng: np.random.Generator) -> Individual:
        """Return the winner of a tournament between random parents."""
        drawn = rng.integers(len(self._parents), size=self._options.tournament)
        winner: Individual = max((self._parents[place] for place in drawn), key=attrgetter("fitness"))
        return winner

    def cross(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Two-point crossover with another parent; half of the children are also changed by `step`."""
        child = crossed(parent.genes, self._selected(rng).genes, rng)
        return child if rng.random() < 0.5 else self._stepped(parent, child, rng)

    def step(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Change one decision: a number to the next larger or smaller option, any other option to a random one."""
        return self._stepped(parent, parent.genes, rng)

    def redraw(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Redraw one decision."""
        return redrawn(self._walks.graph.path(parent.walk), 1, rng)

    def redraw_some(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Redraw two or three decisions."""
        return redrawn(self._walks.graph.path(parent.walk), int(rng.integers(2, 4)), rng)

    def renew(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Redraw all decisions of a random subject."""
        wanted = parent.genes
        parts = blocks(wanted)
        left_out = set(parts[rng.integers(len(parts))])
        return {gene: option for gene, option in wanted.items() if gene not in left_out}

    def borrow(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Take the choices of a subject from elsewhere: a kernel's from its fastest run, others from another parent."""
        wanted = parent.genes
        subjects = list(dict.fromkeys(subject for _, subject in wanted))
        subject = subjects[rng.integers(len(subjects))]
        if subject in self._kernels:
            return {**wanted, **self._kernels[subject][1]}
        return {**wanted, **block(self._selected(rng).genes, subject)}

    def spread(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Copy a subject's choices to another subject, for decisions of the same name."""
        wanted = parent.genes
        subjects = list(dict.fromkeys(subject for _, subject in wanted))
        giver, taker = (subjects[place] for place in rng.integers(len(subjects), size=2))
        given = {(name, taker): option for (name, _), option in block(wanted, giver).items()}
        return {**wanted, **{gene: option for gene, option in given.items() if gene in wanted}}

    def template(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Take the choices of one of the starts for a run of neighbours."""
        return templated(parent.genes, self._templates[rng.integers(len(self._templates))], rng)

    def fuse(self, parent: Individual, rng: np.random.Generator) -> Genes:
        """Give a run of neighbours the same option, for example to be computed by the kernel that reads them."""
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
"""The operators that make a child, by name."""
