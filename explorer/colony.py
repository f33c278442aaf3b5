"""An ant colony: by default the Max-Min Ant System in the hyper-cube framework, with rewards per kernel.

Papenhausen & Mueller, "Coding Ants: Optimization of GPU code using ant colony optimization" (2018), sections 5 and 6;
the numbers are theirs unless the option says otherwise.

An ant at node i takes option j with probability (eq. 2, over the allowed options)

    p(i -> j) = tau_ij^alpha * eta_ij^beta / sum_l tau_il^alpha * eta_il^beta

where eta comes from metrics (explorer.desirability), times the prediction of a cost model if the space has one
(explorer.foresight). A regression tree blocks options (explorer.tree_filter). At the end of an iteration, the rule of
the ant system updates the trails tau (explorer.ant_systems), and for each kernel the ant with its fastest version is
rewarded within the kernel's decisions. An iteration in which every plan failed does not change the trails.

Beyond the paper, there are more candidates than measurements: ants, copies of the best walks with one or two decisions
changed, and random walks. A model fitted to all measurements selects the most promising candidates
(explorer.screening); of many start walks, it also selects those to measure after the first. Kernels that no walk has
had inherit the choices of similar ones (explorer.variation): trails say nothing of them yet.
docs/benchmarks/explorers.md has measurements of each part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from explorer.ant_systems import AntColonySystem, AntRule, MaxMinAntSystem, bounds, deposit, deposit_inside, weights
from explorer.attributes import Array
from explorer.belief import LEAST_MS
from explorer.best import Best, Scored
from explorer.desirability import MetricDesirability
from explorer.experience import Experience
from explorer.foresight import Foresight
from explorer.kernel_forecast import KernelForecaster
from explorer.pheromone import Trails
from explorer.roulette import Roulette
from explorer.screening import Screen, Screening
from explorer.stepwise import Openings
from explorer.tree_filter import FilterTree, SplitFilter, import_trees
from explorer.unseen import UnseenWalks, kernel_times, kernels_of, program_of
from explorer.variation import inherited, redrawn, where_known
from graph.foretelling import foresight_of, foretelling_of, foretold_alone
from graph.node import Node, Policy
from graph.optimization_graph import OptimizationGraph
from graph.policies import prefer, preferences, uniform
from graph.prefixes import Path
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms

DEPOSIT = 0.15
"""Pheromone that the best walk deposits on its way down the regression tree (as in the authors' public code)."""

MOST_FITTED = 1000
"""Upper limit of the walks that the regression tree is fitted to, which bounds the time of fitting in long searches."""

GOLDEN_RATIO = (5**0.5 - 1) / 2
"""The fractional parts of its first n multiples are spread evenly over the unit interval, for every n."""

MOST_MISSES = 100
"""After so many repeated candidates in a row, no more are generated."""

Starts: TypeAlias = Sequence[Walk]
"""Walks to try first, most promising first."""


@dataclass(frozen=True, slots=True)
class ColonyOptions:
    """The colony's parameters.

    `rule`: the ant system. `alpha`, `beta`: exponents of trails and desirability. `kernel_share`: reward of a
    kernel's  best ant relative to that of the program's best (0: none; the paper's: 1/2). `metrics`: eta by
    equation 6, else 1.  `tree`: half of the ants stay in the best leaf of a regression tree, the others in a drawn
    leaf. `screening`: None  measures every ant. `kernels_apart`: for programs with several kernels, a model of
    kernels selects half of the  candidates. `combine`: after a kernel's best improved, one ant combines the best
    choices of all kernels. `inherit`:  kernels that no walk has had get the choices of the most similar kernel of a
    good walk. `restart`:  reset the trails if ants follow fewer than `branching` options per decision on average,
    and `patience` iterations  brought no better program (both numbers are ours). `retries`: so many times a
    repeated walk is drawn again, before  exhausted prefixes are excluded.
    """

    rule: AntRule = field(default_factory=MaxMinAntSystem)
    alpha: float = 1.0
    beta: float = 1.0
    kernel_share: float = 0.5
    metrics: bool = True
    tree: bool = True
    screening: Screening | None = field(default_factory=Screening)
    kernels_apart: bool = True
    combine: bool = True
    inherit: bool = True
    restart: bool = True
    branching: float = 1.3
    patience: int = 10
    retries: int = 10


def published(rule: AntRule) -> ColonyOptions:
    """Return the options of an ant system as published, without our additions. Only MMAS restarts; no walk is repeated.
    """
    return ColonyOptions(rule, kernel_share=0.0, metrics=False, tree=False, screening=None, combine=False,
                         inherit=False, restart=isinstance(rule, MaxMinAntSystem))


def coding_ants(metrics: bool, tree: bool) -> ColonyOptions:
    """Return the options of Coding Ants: hyper-cube MMAS with rewards per kernel, and the two additions it compares.

    The combine ant is in the authors' public code. All ants are measured. Only the restarts are ours.
    """
    return ColonyOptions(metrics=metrics, tree=tree, screening=None, kernels_apart=False, inherit=False)


class Colony:
    """The ant colony explorer. One call of `ask` is one iteration; its `count` is the number of ants."""

    asks_ahead = True

    def __init__(self, space: Space, seed: int, options: ColonyOptions = ColonyOptions(), starts: Starts = ()) -> None:
        """Explore `space`; the same seed, options, starts and history give the same walks.

        The first ants are `starts`.
        """
        self._options = options
        self._seed = seed
        self._walks = UnseenWalks(space, options.retries)
        self.trails = Trails(options.rule.rho, bounds(options.rule, 1, (), 1.0))
        self._openings = Openings(self._walks, starts)
        self._eta = MetricDesirability()
        self._foresight = Foresight()
        self._experience = Experience()
        self._screen = Screen(self._experience, KernelForecaster() if options.kernels_apart else None)
        self._tree: FilterTree | None = None
        self._filter = SplitFilter()
        self._roulette = Roulette()
        self._elite: dict[int, Path] = {}  # paths of the best walks, by rank
        self._iteration = 0
        self._opened = 0  # starts drawn
        self._most_kernels = 1  # of a walk that was told
        self._ants = 1  # of the iteration that was asked last
        self._updates = 0  # since the last start
        self._stale = 0  # updates without a better program since the last start
        self._first_ms: float | None = None  # t_ref of the ant systems
        self._succeeded: list[Scored] = []  # this iteration
        self._since_start = Best()
        self._ever = Best()
        self._to_combine = False

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge."""
        return self._walks.graph

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        self._learn()
        try:
            ants = self._ants_of(count)
        finally:
            self._forget()
        self._iteration += 1
        self._ants = max(1, len(ants))
        return ants

    def _ants_of(self, count: int) -> list[Walk]:
        """Return the walks of this iteration."""
        ants = self._combined() if count > 0 else []
        while len(ants) < count and (opening := self._opening()) is not None:
            ants.append(opening)
            self._foresee(opening)
        ants += self._promising_openings(count - len(ants))
        ants += self._picked(count - len(ants))
        self._update_locally(ants)
        while len(ants) < count:
            rng = np.random.default_rng((self._seed, self._iteration, len(ants)))
            walk = self._walks.draw(self._ant(len(ants), rng))
            if walk is None:
                break
            ants.append(walk)
            self._update_locally([walk])
            self._foresee(walk)
        return ants

    def _opening(self) -> Walk | None:
        """Return the next start; None if the screening is to choose from those that are left, or none is left."""
        screening = self._options.screening
        if screening is not None and self._opened >= screening.openings:
            return None
        self._opened += 1
        return self._openings.draw()

    def _promising_openings(self, count: int) -> list[Walk]:
        """Return the most promising of the starts that are left: a share of `count` walks, at least one."""
        screening, left = self._options.screening, self._openings.left()
        if screening is None or not left or count <= 0:
            return []
        return self._chosen(left, max(1, round(screening.opening_share * count)))

    def _update_locally(self, ants: Sequence[Walk]) -> None:
        """Apply the local update of Ant Colony System: it lowers the trails of walked edges, so later ants differ."""
        rule = self._options.rule
        if not ants or not isinstance(rule, AntColonySystem):
            return
        for walk in ants:
            self.trails.approach(self.graph.path(walk), self.trails.bounds.start, rule.xi)
        self._roulette.forget()

    def _forget(self) -> None:
        """Clear the values cached for the ants of this iteration."""
        self._roulette.forget()
        self._filter.forget()
        self._elite.clear()

    def prepare(self) -> None:
        """See explorer.base.PreparingExplorer."""
        if self._options.tree:
            import_trees()

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer. A walk that was not asked (a seed) counts like an ant's."""
        known = self._walks.record(walk, outcome)
        cost = cost_ms(outcome)
        times = kernel_times(outcome)
        self._most_kernels = max(self._most_kernels, len(times))
        self._experience.learn(known, cost)
        if self._screen.kernels is not None:
            self._screen.kernels.learn(known, times)
        if cost is None:
            return
        self._succeeded.append(Scored(known, cost))
        foresee = foresight_of(self._walks.space)
        if foresee is not None:
            self._foresight.belief.compare(foresee(known.plan).program, cost)
        improved, _ = self._since_start.add(known, cost, times)
        best, kernel_improved = self._ever.add(known, cost, times)
        self._stale = 0 if improved else self._stale
        self._to_combine |= kernel_improved
        program = program_of(outcome)
        if best and program is not None:
            self._eta.improved(program, kernels_of(outcome))

    def _picked(self, count: int) -> list[Walk]:
        """Return the candidates that the screening selects; fewer than `count` if the space is nearly exhausted."""
        screening = self._options.screening
        if screening is None or count <= 0 or not (screening.spread or self._experience.walks):
            return []
        rng = np.random.default_rng((self._seed, self._iteration))
        crowd: dict[str, Walk] = {}
        misses, steps = 0, 0  # misses in a row
        enough = len(self.graph.nodes) + screening.news * count
        for number in range(screening.size(count)):
            if len(crowd) >= count and (len(self.graph.nodes) > enough or steps > screening.steps * count):
                break
            walk = self._walks.peek(self._candidate(number, screening, rng))
            misses = misses + 1 if walk is None else 0
            if misses == MOST_MISSES:
                break
            if walk is not None:
                if walk.identity not in crowd:
                    self._foresee(walk)
                crowd.setdefault(walk.identity, walk)
                steps += len(walk.choices)
        return self._chosen(list(crowd.values()), count)

    def _chosen(self, candidates: Sequence[Walk], count: int) -> list[Walk]:
        """Return the candidates that the screening selects; they count as asked."""
        space = self._walks.space
        picked = self._screen.pick(candidates, count, foretelling_of(space), foretold_alone(space))
        for walk in picked:
            self._walks.take(walk)
        return picked

    def _candidate(self, number: int, screening: Screening, rng: np.random.Generator) -> Policy:
        """Return a policy of a random walk, a changed copy of a good walk, or an ant, in an even mixture."""
        place, strangers = number * GOLDEN_RATIO % 1.0, screening.strangers / self._most_kernels
        if place < strangers:
            return uniform(rng)
        if place < strangers + screening.moves and self._ever.program is not None:
            return self._moved(rng, screening.elite)
        return self._ant(number, rng)

    def _moved(self, rng: np.random.Generator, elite: int) -> Policy:
        """Return a policy that repeats one of the best walks with one or two decisions changed."""
        walks = self._experience.best(elite)
        number = int(rng.integers(len(walks)))
        if number not in self._elite:
            self._elite[number] = self.graph.path(walks[number])
        wanted = redrawn(self._elite[number], 1 + int(rng.random() < 0.5), rng)
        otherwise = self._follow(rng)
        return inherited(wanted, otherwise) if self._options.inherit else prefer(wanted, otherwise)

    def _ant(self, number: int, rng: np.random.Generator) -> Policy:
        """Return an ant's policy: within the tree's best leaf if `number` is even, else within a drawn leaf."""
        policy, tree = self._follow(rng), self._tree
        if self._options.inherit and (best := self._since_start.program) is not None:
            policy = where_known(policy, inherited(preferences(best.walk.choices), policy))
        if tree is None:
            return policy
        return self._filter.filtered(tree.drawn(rng) if number % 2 else tree.best_leaf, policy)

    def _follow(self, rng: np.random.Generator) -> Policy:
        rule, roulette, weigh = self._options.rule, self._roulette, self._weights
        greed = rule.q0 if isinstance(rule, AntColonySystem) else 0.0
        return lambda node, allowed: roulette.draw(node, allowed, weigh, rng, greed)

    def _weights(self, node: Node, allowed: NDArray[np.intp]) -> Array:
        options = self._options
        weights = self.trails.level(node)[allowed] ** options.alpha
        if options.metrics:
            weights = weights * self._eta.level(node)[allowed] ** options.beta
        return np.asarray(weights * self._foresight.level(node)[allowed] if self._foresight else weights)

    def _foresee(self, walk: Walk) -> None:
        """Predict the cost of `walk` with the space's model for ants, if it has one, and learn from it."""
        foresee = foresight_of(self._walks.space)
        if foresee is not None:
            self._foresight.learn(self.graph.path(walk), foresee(walk.plan))
            self._roulette.forget()

    def _strongest(self, node: Node, allowed: NDArray[np.intp]) -> int:
        return int(allowed[np.argmax(self.trails.level(node)[allowed])])

    def _combined(self) -> list[Walk]:
        """Return the combine ant: the best walk's choices, but in each kernel those of the kernel's best ant."""
        best, wanted = self._ever.program, self._to_combine and self._options.combine
        self._to_combine = False
        if best is None or not wanted:
            return []
        preferred = preferences(best.walk.choices)
        for statements, scored in self._ever.kernels.items():
            preferred |= preferences(c for c in scored.walk.choices if c.decision.subject == statements)
        walk = self._walks.draw_once(prefer(preferred, self._strongest))
        return [walk] if walk is not None else []

    def _learn(self) -> None:
        """Update trails, desirability and tree with the outcomes since the last call."""
        best = self._since_start.program
        if not self._succeeded or best is None:
            return
        iteration = sorted(self._succeeded, key=lambda scored: scored.cost_ms)
        self._succeeded = []
        if self._first_ms is None:
            self._first_ms = max(iteration[0].cost_ms, LEAST_MS)
        rule, path = self._options.rule, self.graph.path(best.walk)
        if not self._updates or isinstance(rule, MaxMinAntSystem):
            self.trails.bounds = bounds(rule, self._ants, path, self._gain(best))
        if not self._updates:
            self.trails.reset()  # only now is it known where trails start
        rewarded = weights(rule, iteration, best, self._updates, self._ants)
        deposit(rule, self.trails, [(self.graph.path(ant.walk), weight * self._gain(ant)) for ant, weight in rewarded])
        for statements, scored in self._since_start.kernels.items():
            inside = [step for step in self.graph.path(scored.walk) if step[0].decision.subject == statements]
            deposit_inside(rule, self.trails, inside, self._options.kernel_share, self._gain(best))
        self._eta.next_iteration()
        if self._options.tree:
            self._tree = FilterTree(self._experience.attributes, *self._experience.successes(MOST_FITTED), DEPOSIT)
        self._updates += 1
        self._stale += 1
        if (
            self._options.restart
            and self._stale > self._options.patience
            and self.trails.branching(path) < self._options.branching
        ):
            self._start_afresh()

    def _gain(self, ant: Scored) -> float:
        """F(s) = t_ref / t(s) of the ant systems."""
        cost_ms = max(ant.cost_ms, LEAST_MS)
        return (self._first_ms or cost_ms) / cost_ms

    def _start_afresh(self) -> None:
        self.trails.reset()
        self._since_start = Best()
        self._updates = 0
        self._stale = 0
