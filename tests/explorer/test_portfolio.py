"""Several explorers in one: who gets the budget, what they know of each other, that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from explorer.base import Explorer
from explorer.exhaustive import Exhaustive
from explorer.genetic import Genetic
from explorer.local import Local
from explorer.memoized import MemoizedSpace
from explorer.portfolio import Portfolio, PortfolioOptions
from explorer.random_walk import RandomWalk
from generator.plan import Plan
from graph.optimization_graph import OptimizationGraph
from graph.policies import prefer, uniform
from graph.space import Chooser, DeadEnd, Decision, Space
from graph.walk import Walk
from metrics.outcome import Outcome, cost_ms
from tests.support.searches import mean_found
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, Staircase, failed, options_of, timed


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


def spied(space: Space, opening: int = 0) -> tuple[Portfolio, list[Spy]]:
    """A portfolio of random searches under observation."""
    spies: list[Spy] = []

    def make(space: Space, seed: int) -> Spy:
        spies.append(Spy(RandomWalk(space, seed)))
        return spies[-1]

    return Portfolio(space, 9, [make] * 3, PortfolioOptions(opening=opening)), spies


def test_every_member_is_told_every_walk_once() -> None:
    space = FlatSpace((6, 6, 6))
    portfolio, members = spied(space)
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
    portfolio = Portfolio(space, 1, [lambda space, seed: RandomWalk(space, 1)] * 3)
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
    good, bad = Spy(Steps(True)), Spy(Steps(False))
    portfolio = Portfolio(space, 1, (lambda space, seed: bad, lambda space, seed: good))
    for _ in range(15):
        for walk in portfolio.ask(10):
            owner = walk.identity in good.asked
            portfolio.tell(walk, timed(0.001 * float(str(options_of(walk)[0])) if owner else 500.0))
    assert len(good.asked) > 2 * len(bad.asked)
    assert len(bad.asked) >= 3  # nobody is given up for good


def test_failures_are_no_gain_and_members_without_gain_share_evenly() -> None:
    space = Kernels(2)
    portfolio, members = spied(space)
    for _ in range(12):
        for walk in portfolio.ask(10):
            portfolio.tell(walk, failed())
    shares = [len(member.asked) for member in members]
    assert max(shares) - min(shares) <= 4
    assert sum(shares) == pytest.approx(90, abs=8)


def test_the_opening_belongs_to_the_first_member() -> None:
    space = FlatSpace((9, 9))
    portfolio, members = spied(space, opening=7)
    for count in (4, 4):
        for walk in portfolio.ask(count):
            portfolio.tell(walk, timed(1.0))
    assert len(members[0].asked) == 7
    assert sum(len(member.asked) for member in members) == 8


@pytest.mark.slow
def test_a_portfolio_is_about_as_good_as_its_best_member() -> None:
    space = Kernels(4)
    best = min(mean_found(Genetic, space, 150), mean_found(Local, space, 150))
    found = mean_found(lambda s, k: Portfolio(s, k, (Genetic, Local)), space, 150)
    assert found < 1.25 * best


def test_the_graph_holds_the_walks_of_all_members() -> None:
    space = Kernels(2)
    portfolio = Portfolio(space, 1, (Genetic, Local))
    costs = []
    for _ in range(5):
        for walk in portfolio.ask(10):
            portfolio.tell(walk, space.outcome(walk.plan))
            costs.append(cost_ms(space.outcome(walk.plan)))
    fuse = next(node for node in portfolio.graph.nodes.values() if node.decision.name == "fuse")
    assert sum(edge.visits for edge in fuse.edges.values()) == 50
    mean = sum(edge.cost.mean * edge.cost.count for edge in fuse.edges.values()) / 50
    assert mean == pytest.approx(float(np.mean([cost for cost in costs if cost is not None])))


@pytest.mark.parametrize("space", [Staircase(4), DeadEnds(4), Kernels(2), FlatSpace((1, 1))],
                         ids=["stairs", "dead ends", "kernels", "nothing to decide"])
def test_a_memoized_space_is_the_same_space(space: Space) -> None:
    memoized, plain, other = MemoizedSpace(space), OptimizationGraph(), OptimizationGraph()
    for seed in range(150):
        expected = plain.walk(space, uniform(np.random.default_rng(seed)))
        assert other.walk(memoized, uniform(np.random.default_rng(seed))) == expected
        if seed % 50 == 40:
            memoized.forget()
    assert set(plain.nodes) == set(other.nodes)


def test_a_memoized_space_asks_the_original_once_per_walk() -> None:
    runs: list[None] = []

    def space(chooser: Chooser) -> Plan:
        runs.append(None)
        if chooser.choose(Decision("a"), (0, 1, 2)) == 2:
            raise DeadEnd
        return FlatSpace((2, 2))(chooser)

    memoized = MemoizedSpace(space)
    for seed in range(300):
        assert OptimizationGraph().walk(memoized, prefer({("a", ()): seed % 2}, uniform(np.random.default_rng(seed))))
    assert len(runs) == 8
    for _ in range(3):
        walk = OptimizationGraph().walk(memoized, prefer({("a", ()): 2}, uniform(np.random.default_rng(1))))
        assert walk is not None  # backed up from the dead end
    assert len(runs) <= 8 + 3
