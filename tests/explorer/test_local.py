"""Where local search goes next: nearest neighbours, what it accepts, when it starts anew. And plain enumeration."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from explorer.exhaustive import Exhaustive
from explorer.local import Local, LocalOptions
from explorer.random_walk import RandomWalk
from explorer.variation import Neighbours, Scales, differences, genes
from graph.node import Node
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, uniform
from graph.space import Chooser, Decision
from graph.walk import Walk
from tests.support.searches import best_found, mean_found
from tests.support.slow import few, in_turn
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, Staircase, failed, options_of, plan_of, timed


def at(space: FlatSpace, *options: int) -> tuple[OptimizationGraph, Walk]:
    graph = OptimizationGraph()
    walk = graph.walk(space, prefer({(f"d{i}", ()): option for i, option in enumerate(options)}, first))
    assert walk is not None
    return graph, walk


@pytest.mark.parametrize(("kernels", "budget"), few([(3, 50), (6, 100), (3, 200)], 1))
def test_local_search_beats_random_search_by_far(kernels: int, budget: int) -> None:
    space = Kernels(kernels)
    assert mean_found(Local, space, budget) < 0.85 * mean_found(RandomWalk, space, budget)


@in_turn
@pytest.mark.parametrize("sizes", few([[1, 50], [1, 7, 50]], 1), ids=str)
def test_the_size_of_iterations_matters_little(sizes: list[int]) -> None:
    space = Kernels(3)
    for ants in sizes:
        found = [best_found(Local(space, seed), space, 150, ants) for seed in range(5)]
        assert float(np.mean(found)) < 0.85 * mean_found(RandomWalk, space, 150)


def test_neighbours_differ_in_one_decision_and_the_nearest_come_first() -> None:
    graph, walk = at(FlatSpace((9, 5, 2)), 4, 0, 1)
    found = list(Neighbours(graph.path(walk), Scales(), np.random.default_rng(1)))
    assert len(found) == len({tuple(one.values()) for one in found}) == 8 + 4 + 1
    assert all(differences(one, genes(walk)) == 1 for one in found)
    steps = [sum(abs(int(str(one[gene])) - int(str(option))) for gene, option in genes(walk).items()) for one in found]
    assert steps == sorted(steps)


def test_neighbours_of_a_decision_with_many_options_are_made_as_they_are_asked_for() -> None:
    graph, walk = at(FlatSpace((10_000, 2)), 5000, 0)
    found = list(islice(Neighbours(graph.path(walk), Scales(), np.random.default_rng(1)), 5))
    assert {one["d0", ()] for one in found} == {4998, 4999, 5000, 5001, 5002}


def test_words_are_all_equally_near_and_all_offered() -> None:
    node = Node(Decision("word"), tuple("abcde"))
    found = Neighbours([(node, 2)], Scales(), np.random.default_rng(1))
    assert sorted(str(one["word", ()]) for one in found) == ["a", "b", "d", "e"]


def test_numbers_are_near_by_size_whatever_the_order_of_the_options() -> None:
    node = Node(Decision("size"), (32, 1, 8, 16, 4))
    assert [node.options[index] for index in Scales().steps(node, 2, 1)] == [4, 16]
    assert Scales().steps(Node(Decision("switch"), (False, True)), 0, 1) == ()


def test_a_climb_without_obstacles_reaches_the_top() -> None:
    """One top, no interactions: 60 walks in a space of 8,000 are enough."""
    for seed in range(5):
        explorer = Local(FlatSpace((20, 20, 20)), seed)
        best = 1e9
        for _ in range(25):
            for walk in explorer.ask(5):
                cost = 1.0 + sum(abs(int(str(option)) - 7) for option in options_of(walk))
                explorer.tell(walk, timed(cost))
                best = min(best, cost)
        assert best <= 2.0


def test_a_climb_that_is_stuck_starts_anew() -> None:
    """All near walks are bad, and the top lies far away: only a start elsewhere finds it."""
    explorer = Local(FlatSpace((200, 200)), 1, LocalOptions(patience=5, opening=3))
    quarters = set()
    for _ in range(40):
        for walk in explorer.ask(5):
            x, y = (int(str(option)) for option in options_of(walk))
            quarters.add((x // 100, y // 100))
            explorer.tell(walk, timed(1.0 + abs(x - 30) + abs(y - 30)))
    assert len(quarters) == 4


def moved(temperature: float, worse: float) -> float:
    """The share of climbs that follow a neighbour that costs `worse` times as much."""
    followed = 0
    for seed in range(60):
        explorer = Local(FlatSpace((1000, 2)), seed, LocalOptions(temperature=temperature, cooling=1.0, opening=1))
        [start] = explorer.ask(1)
        explorer.tell(start, timed(1.0))
        [neighbour] = explorer.ask(1)
        explorer.tell(neighbour, timed(worse))
        [after] = explorer.ask(1)
        followed += differences(genes(after), genes(start)) == 2 or abs(
            int(str(options_of(after)[0])) - int(str(options_of(start)[0]))) == 2
    return followed / 60


def test_worse_neighbours_are_followed_the_more_the_hotter_it_is() -> None:
    assert moved(0.0, 1.5) <= 0.05
    assert moved(100.0, 1.5) > 0.4
    assert moved(0.01, 1.5) <= 0.05


def test_failures_are_never_moved_to() -> None:
    explorer = Local(FlatSpace((50, 50)), 1, LocalOptions(opening=1, temperature=100.0))
    [start] = explorer.ask(1)
    explorer.tell(start, timed(1.0))
    for _ in range(5):
        for walk in explorer.ask(2):
            assert differences(genes(walk), genes(start)) == 1
            explorer.tell(walk, failed())


@pytest.mark.parametrize("space", [Staircase(4), DeadEnds(4), FlatSpace((3, 1, 4))], ids=["stairs", "dead", "flat"])
def test_enumeration_is_in_the_order_of_the_options(space: Staircase | DeadEnds | FlatSpace) -> None:
    walks = Exhaustive(space).ask(1000)
    options = [tuple(int(str(option)) for option in options_of(walk)) for walk in walks]
    if isinstance(space, FlatSpace):
        assert options == [(a, b) for a in range(3) for b in range(4)]
    whole = [walk.plan.kernels[0].tile for walk in walks]
    assert whole == sorted(whole)
    everything = {walk.identity for walk in RandomWalk(space, 1).ask(1000)}
    assert {walk.identity for walk in walks} == everything


def test_enumeration_begins_a_space_that_nobody_can_finish() -> None:
    explorer = Exhaustive(FlatSpace((100,) * 20))
    for _ in range(30):
        for walk in explorer.ask(10):
            explorer.tell(walk, timed(1.0))
    [after] = explorer.ask(1)
    assert options_of(after) == (0,) * 18 + (3, 0)
    assert len(explorer.graph.nodes) == 20


def test_enumeration_skips_what_others_asked_and_plans_that_it_has_seen() -> None:
    def space(chooser: Chooser) -> object:
        a, b = (chooser.choose(Decision(name), (0, 1, 2)) for name in "ab")
        return plan_of([int(str(a)) + int(str(b))])

    explorer = Exhaustive(space)  # type: ignore[arg-type]  # a space for this test
    graph = OptimizationGraph()
    foreign = graph.walk(space, uniform(np.random.default_rng(1)))  # type: ignore[arg-type]  # a space for this test
    assert foreign is not None
    explorer.tell(foreign, timed(1.0))
    sums = {walk.plan.kernels[0].tile for walk in explorer.ask(100)}
    assert len(sums) == 4
    assert foreign.plan.kernels[0].tile not in sums
