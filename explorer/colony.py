"""An ant colony: the Max-Min Ant System in the hyper-cube framework, with rewards per kernel.

Papenhausen & Mueller, "Coding Ants: Optimization of GPU code using ant colony optimization" (2018), sections 5
and 6.1; the numbers are theirs unless the option says otherwise.

An ant at node i takes option j with probability (eq. 2, over the allowed options)

    p(i -> j) = tau_ij^alpha * eta_ij^beta / sum_l tau_il^alpha * eta_il^beta

At the end of an iteration all trails evaporate and one ant is rewarded (eq. 5):

    tau = (1 - rho) * tau + rho on the edges of its walk,   tau = (1 - rho) * tau elsewhere

and for each kernel the ant that ran that kernel fastest adds `kernel_rho` within the kernel's decisions. An
iteration in which everything failed teaches nothing and changes no trail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from explorer.best import Best
from explorer.pheromone import Trails
from explorer.unseen import UnseenWalks, kernel_times
from graph.optimization_graph import Node, OptimizationGraph, Policy
from graph.policies import Preferences, prefer, preferences
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms

Starts: TypeAlias = Sequence[Preferences]
"""Choices to try first, most promising first."""

Desirability: TypeAlias = Callable[[Node], NDArray[np.float64]]
"""eta of a node's options, each above 0; what the ants know beside the trails (metrics: eq. 6)."""


def indifferent(node: Node) -> NDArray[np.float64]:
    """eta = 1: ants follow the trails alone."""
    return np.ones(len(node.options))


@dataclass(frozen=True, slots=True)
class ColonyOptions:
    """The colony's parameters.

    `alpha`, `beta`: weight of trails and desirability. `rho`: evaporation and reward per iteration.
    `kernel_rho`: reward of a kernel's best ant (0 turns it off). `floor` / n and `ceiling` bound the trails of
    a node with n options. The first `early_iterations` after a start reward the iteration's best ant, later
    ones the best since that start. `combine`: after a kernel's best improved, one ant joins the best of all
    kernels. The colony starts afresh when fewer than `branching` options per decision are followed on average
    and `patience` iterations brought no better program (ours: 1.3 and 10). A repeated walk is drawn anew up to
    `retries` times before used-up walks are excluded one by one.
    """

    alpha: float = 1.0
    beta: float = 1.0
    rho: float = 0.1
    kernel_rho: float = 0.05
    floor: float = 0.1
    ceiling: float = 0.95
    early_iterations: int = 2
    combine: bool = True
    branching: float = 1.3
    patience: int = 10
    retries: int = 10


class Colony:
    """The explorer. One call of `ask` is one iteration, and its `count` is the number of ants."""

    def __init__(
        self,
        space: Space,
        seed: int,
        options: ColonyOptions = ColonyOptions(),
        desirability: Desirability = indifferent,
        starts: Starts = (),
    ) -> None:
        """Explore `space`; the same seed, options, starts and history give the same walks.

        The first ants follow `starts`, one each, wherever these are on offer.
        """
        self._options = options
        self._seed = seed
        self._desirability = desirability
        self._walks = UnseenWalks(space, options.retries)
        self.trails = Trails(options.rho, options.floor, options.ceiling)
        self._starts = list(starts)
        self._iteration = 0
        self._updates = 0  # since the last start
        self._stale = 0  # updates without a better program since the last start
        self._this_iteration = Best()
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
        ants = self._combined() if count > 0 else []
        while self._starts and len(ants) < count:
            walk = self._walks.draw_once(prefer(self._starts.pop(0), self._strongest))
            ants += [walk] if walk is not None else []
        while len(ants) < count:
            walk = self._walks.draw(self._follow(np.random.default_rng((self._seed, self._iteration, len(ants)))))
            if walk is None:
                break
            ants.append(walk)
        self._iteration += 1
        return ants

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer. A walk that was not asked (a seed) counts like an ant's."""
        known = self._walks.record(walk, outcome)
        cost = cost_ms(outcome)
        if cost is None:
            return
        times = kernel_times(outcome)
        self._this_iteration.add(known, cost, times)
        improved, _ = self._since_start.add(known, cost, times)
        _, kernel_improved = self._ever.add(known, cost, times)
        self._stale = 0 if improved else self._stale
        self._to_combine |= kernel_improved

    def _follow(self, rng: np.random.Generator) -> Policy:
        options = self._options

        def choose(node: Node, allowed: NDArray[np.intp]) -> int:
            weights = self.trails.level(node)[allowed] ** options.alpha
            if self._desirability is not indifferent:
                weights = weights * self._desirability(node)[allowed] ** options.beta
            sums = np.cumsum(weights)
            position = np.searchsorted(sums, rng.random() * sums[-1], side="right")
            return int(allowed[min(int(position), allowed.size - 1)])  # rounding may reach the sum

        return choose

    def _strongest(self, node: Node, allowed: NDArray[np.intp]) -> int:
        return int(allowed[np.argmax(self.trails.level(node)[allowed])])

    def _combined(self) -> list[Walk]:
        """The combine ant: the program's best choices, but in each kernel those of the kernel's best ant."""
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
        """Update the trails with what was told since the last call."""
        rewarded = self._this_iteration.program
        if rewarded is None:
            return
        if self._updates >= self._options.early_iterations:
            rewarded = self._since_start.program or rewarded
        self._this_iteration = Best()
        path = self.graph.path(rewarded.walk)
        self.trails.evaporate()
        self.trails.reward(path, self._options.rho)
        for statements, scored in self._since_start.kernels.items():
            inside = [step for step in self.graph.path(scored.walk) if step[0].decision.subject == statements]
            self.trails.reward(inside, self._options.kernel_rho)
        self._updates += 1
        self._stale += 1
        if self._stale > self._options.patience and self.trails.branching(path) < self._options.branching:
            self._start_afresh()

    def _start_afresh(self) -> None:
        self.trails.reset()
        self._since_start = Best()
        self._updates = 0
        self._stale = 0
