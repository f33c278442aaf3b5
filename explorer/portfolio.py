"""Several explorers share the budget; those that recently found new best walks get more of it.

The rule is OpenTuner's (Ansel et al. 2014, after Fialho, Schoenauer & Sebag 2010). H are the last `window` walks, and
n_t of them were member t's. The next walk is requested from the member with the largest

    AUC_t + exploration * sqrt(2 * log2 |H| / n_t)

where AUC_t (explorer.credit.area_under_curve) rises with each of the member's walks that was a new best. The outcomes
of an iteration are known only after it, so within an iteration only the uses n_t change.

All members receive all results, also those that other members requested. Repeating the walks in each member is cheap
(explorer.memoized).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from explorer.base import Explorer
from explorer.credit import area_under_curve
from explorer.memoized import MemoizedSpace
from explorer.random_walk import RandomWalk
from graph.optimization_graph import OptimizationGraph
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms

Maker: TypeAlias = Callable[[Space, int], Explorer]
"""Makes an explorer of a space with a seed."""


@dataclass(frozen=True, slots=True)
class PortfolioOptions:
    """OpenTuner's defaults. The first `opening` walks come from the first member, which may have start walks."""

    window: int = 500
    exploration: float = 0.05
    opening: int = 0


@dataclass(frozen=True, slots=True)
class Use:
    """A told walk: the member that requested it, and whether it was a new best."""

    member: int
    success: bool


class Portfolio:
    """The portfolio explorer. The last member is always random search, which replaces walks that members both asked."""

    def __init__(
        self, space: Space, seed: int, makers: Sequence[Maker], options: PortfolioOptions = PortfolioOptions()
    ) -> None:
        """Explore `space` with one explorer of each of `makers` and random search.

        Each gets a seed of its own, so that they begin differently. The same makers, seed, options and history give
        the same walks.
        """
        self._space = MemoizedSpace(space)
        first_seed = seed * (len(makers) + 1)
        self._filler = RandomWalk(self._space, first_seed + len(makers))
        members = [make(self._space, first_seed + number) for number, make in enumerate(makers)]
        self._members: tuple[Explorer, ...] = (*members, self._filler)
        self._options = options
        self._uses: deque[Use] = deque(maxlen=options.window)
        self._opening = options.opening
        self._best_ms = math.inf
        self._owners: dict[str, int] = {}  # of the walks of this iteration

    @property
    def graph(self) -> OptimizationGraph:
        """The graph reached so far, with statistics per edge, of the walks of all members."""
        return self._filler.graph

    def _shares(self, count: int) -> list[int]:
        """Return how many of the next `count` walks to request from each member."""
        taken = [[use.success for use in self._uses if use.member == member] for member in range(len(self._members))]
        gains = [area_under_curve(uses) for uses in taken]
        uses = [len(one) for one in taken]
        shares = [0] * len(self._members)
        shares[0] = opened = min(self._opening, count)
        uses[0] += opened
        for _ in range(count - opened):
            total = sum(uses)
            member = max(range(len(uses)), key=lambda t: self._score(gains[t], uses[t], total))
            shares[member] += 1
            uses[member] += 1
        return shares

    def ask(self, count: int) -> Sequence[Walk]:
        """See explorer.base.Explorer."""
        self._owners.clear()
        self._space.forget()
        asked: list[Walk] = []
        for number, (member, share) in enumerate(zip(self._members, self._shares(count), strict=True)):
            asked += self._new(number, member.ask(share)) if share else []
        self._opening = max(0, self._opening - count)
        while len(asked) < count and (more := self._filler.ask(count - len(asked))):
            asked += self._new(len(self._members) - 1, more)
        return asked

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See explorer.base.Explorer."""
        for member in self._members:
            member.tell(walk, outcome)
        cost = cost_ms(outcome)
        success = cost is not None and cost < self._best_ms
        if cost is not None and success:
            self._best_ms = cost
        owner = self._owners.get(walk.identity)
        if owner is not None:
            self._uses.append(Use(owner, success))

    def _score(self, gain: float, uses: int, total: int) -> float:
        if not uses:
            return math.inf
        return gain + self._options.exploration * math.sqrt(2.0 * math.log2(total) / uses)

    def _new(self, member: int, walks: Sequence[Walk]) -> list[Walk]:
        """Return those of the member's `walks` that no other member asked in this iteration."""
        new = []
        for walk in walks:
            identity = walk.identity
            if identity not in self._owners:
                self._owners[identity] = member
                new.append(walk)
        return new
