"""Several explorers in one: who gets the budget, what they know of each other, that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from explorer.base import Explorer
from explorer.exhaustive import Exhaustive
from explorer.genetic import Genetic
from explorer.local import Local
from explorer.portfolio import Portfolio, PortfolioOptions
from explorer.random_walk import RandomWalk
from graph.policies import prefer
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms
from tests.support_spaces import FlatSpace, Kernels, failed, options_of, timed
from tests.test_explorer_colony import mean_found


class Spy:
    """An explorer that remembers what passed through it."""

    def __init__(self, inner: Explorer) -> None:
        self.inner = inner
        self.asked: list[str] = []
        self.told: list[str] = []

    def ask(self, count: int) -> Sequence[Walk]:
        walks = self.inner.ask(count)
        assert set(self.asked) <= set(self.told)  # all walks of an iteration are told before the next
        self.asked += [walk.identity for walk in walks]
        return walks

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        self.inner.tell(walk, outcome)
        self.told.append(walk.identity)


def spies(space: FlatSpace | Kernels, seeds: Sequence[int] = (1, 2, 3)) -> list[Spy]:
    return [Spy(RandomWalk(space, seed)) for seed in seeds]


def test_every_member_is_told_every_walk_once() -> None:
    space = FlatSpace((6, 6, 6))
    members = spies(space)
    portfolio = Portfolio(space, 9, members)
    walks = []
    for count in (10, 1, 25, 3):
        for walk in portfolio.ask(count):
            walks.append(walk.identity)
            portfolio.tell(walk, timed(1.0))
    assert all(member.told == walks for member in members)
    assert all(set(member.asked) <= set(walks) for member in members)
    assert all(member.asked for member in members)


def test_members_that_think_alike_do_not_waste_the_budget() -> None:
    space = FlatSpace((5, 5, 5))
    portfolio = Portfolio(space, 1, spies(space, (1, 1, 1)))  # and random search has the same seed
    asked = []
    for _ in range(30):
        for walk in portfolio.ask(5):
            asked.append(walk.identity)
            portfolio.tell(walk, timed(1.0))
    assert len(asked) == len(set(asked)) == 125


class Steps:
    """Asks ever better walks of a space of 1,000 options (or ever worse ones)."""

    def __init__(self, better: bool) -> None:
        self._walks = Exhaustive(FlatSpace((1000, 2)))
        self._better = better
        self._next = 999 if better else 500

    def ask(self, count: int) -> Sequence[Walk]:
        walks = []
        for _ in range(count):
            walk = self._walks.graph.walk(FlatSpace((1000, 2)), prefer({("d0", ()): self._next}, lambda *_: 0))
            assert walk is not None
            walks.append(walk)
            self._next += -1 if self._better else 1
        return walks

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        return


def test_who_finds_new_bests_gets_the_budget() -> None:
    space = FlatSpace((1000, 2))
    good, bad = Spy(RandomWalk(space, 1)), Spy(RandomWalk(space, 2))
    good.inner, bad.inner = Steps(True), Steps(False)
    portfolio = Portfolio(space, 1, (bad, good))
    for _ in range(15):
        for walk in portfolio.ask(10):
            owner = walk.identity in good.asked
            portfolio.tell(walk, timed(0.001 * float(str(options_of(walk)[0])) if owner else 500.0))
    assert len(good.asked) > 2 * len(bad.asked)
    assert len(bad.asked) >= 3  # nobody is given up for good


def test_failures_are_no_gain_and_members_without_gain_share_evenly() -> None:
    space = Kernels(2)
    members = spies(space)
    portfolio = Portfolio(space, 4, members)
    for _ in range(12):
        for walk in portfolio.ask(10):
            portfolio.tell(walk, failed())
    shares = [len(member.asked) for member in members]
    assert max(shares) - min(shares) <= 4
    assert sum(shares) == pytest.approx(90, abs=8)


def test_the_opening_belongs_to_the_first_member() -> None:
    space = FlatSpace((9, 9))
    members = spies(space)
    portfolio = Portfolio(space, 9, members, PortfolioOptions(opening=7))
    for count in (4, 4):
        for walk in portfolio.ask(count):
            portfolio.tell(walk, timed(1.0))
    assert len(members[0].asked) == 7
    assert sum(len(member.asked) for member in members) == 8


def test_a_portfolio_is_about_as_good_as_its_best_member() -> None:
    space = Kernels(4)
    best = min(mean_found(Genetic, space, 150), mean_found(Local, space, 150))
    found = mean_found(lambda s, k: Portfolio(s, 4 * k, (Genetic(s, 4 * k + 1), Local(s, 4 * k + 2))), space, 150)
    assert found < 1.25 * best


def test_the_graph_holds_the_walks_of_all_members() -> None:
    space = Kernels(2)
    portfolio = Portfolio(space, 1, (Genetic(space, 2), Local(space, 3)))
    costs = []
    for _ in range(5):
        for walk in portfolio.ask(10):
            portfolio.tell(walk, space.outcome(walk.plan))
            costs.append(cost_ms(space.outcome(walk.plan)))
    fuse = next(node for node in portfolio.graph.nodes.values() if node.decision.name == "fuse")
    assert sum(edge.visits for edge in fuse.edges.values()) == 50
    mean = sum(edge.cost.mean * edge.cost.count for edge in fuse.edges.values()) / 50
    assert mean == pytest.approx(float(np.mean([cost for cost in costs if cost is not None])))
