"""The update rules of the ant systems, against their published formulas worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.ant_systems import (
    ANT_SYSTEMS,
    AntColonySystem,
    AntRule,
    AntSystem,
    ElitistAntSystem,
    MaxMinAntSystem,
    RankBasedAntSystem,
    bounds,
    deposit,
    weights,
)
from explorer.best import Scored
from explorer.colony import Colony, published
from explorer.pheromone import Bounds, Trails
from graph.node import Node
from graph.space import Decision
from graph.walk import Walk
from tests.support.slow import few, in_turn
from tests.support.spaces import Kernels, plan_of, timed

NODE = Node(Decision("d"), tuple(range(4)))
ANTS = [Scored(Walk((), plan_of([number])), cost) for number, cost in enumerate((1.0, 2.0, 4.0))]
BEST = Scored(Walk((), plan_of([9])), 0.5)
EDGES = {ant.walk.identity: [(NODE, number)] for number, ant in enumerate([*ANTS, BEST])}
"""Every ant takes an option of its own, the best so far took the last."""


def levels(rule: AntRule, start: Bounds, updates: int = 100) -> list[float]:
    """The trails after one update of an iteration with t_ref = 1 ms."""
    trails = Trails(rule.rho, start)
    rewarded = weights(rule, ANTS, BEST, updates, len(ANTS))
    deposit(rule, trails, [(EDGES[ant.walk.identity], weight / ant.cost_ms) for ant, weight in rewarded])
    return list(trails.level(NODE))


@pytest.mark.parametrize(("rule", "expected"), [
    (AntSystem("plain", 0.5), [0.5 + 1, 0.5 + 1 / 2, 0.5 + 1 / 4, 0.5]),
    (ElitistAntSystem("plain", 0.5, elite=5), [0.5 + 1, 0.5 + 1 / 2, 0.5 + 1 / 4, 0.5 + 5 * 2]),
    (RankBasedAntSystem("plain", 0.1, ranks=3), [0.9 + 2, 0.9 + 1 / 2, 0.9, 0.9 + 3 * 2]),
    (MaxMinAntSystem("plain", 0.02), [0.98, 0.98, 0.98, 0.98 + 2]),
    (AntColonySystem(), [1.0, 1.0, 1.0, 0.9 + 0.1 * 2]),
    (AntSystem(), [0.9 + 0.1 * 4 / 7, 0.9 + 0.1 * 2 / 7, 0.9 + 0.1 / 7, 0.9]),
    (ElitistAntSystem(elite=1), [0.9 + 0.4 / 15, 0.9 + 0.2 / 15, 0.9 + 0.1 / 15, 0.9 + 0.8 / 15]),
    (MaxMinAntSystem(), [0.9, 0.9, 0.9, 1.0]),
])
def test_one_update(rule: AntRule, expected: list[float]) -> None:
    assert levels(rule, Bounds(1.0)) == pytest.approx(expected)


def test_hypercube_levels_stay_a_mean_of_walks() -> None:
    for name in ("as-hcf", "elitist-hcf", "rank-hcf", "mmas-hcf"):
        assert sum(levels(ANT_SYSTEMS[name], Bounds(1.0, shared=True))) == pytest.approx(1.0), name


def test_max_min_goes_over_from_the_iterations_best_to_the_best_so_far() -> None:
    rule = MaxMinAntSystem(early=2, ramp=3)
    shares = []
    for updates in range(6):
        by_walk = {ant.walk.identity: weight for ant, weight in weights(rule, ANTS, BEST, updates, len(ANTS))}
        assert sum(by_walk.values()) == pytest.approx(1.0)
        shares.append(by_walk.get(BEST.walk.identity, 0.0))
    assert shares == pytest.approx([0, 0, 1 / 3, 2 / 3, 1, 1])


def test_start_levels_are_the_published_ones() -> None:
    path = [(NODE, 0)] * 5
    assert bounds(ANT_SYSTEMS["as"], 10, path, 1.0).start == 10
    assert bounds(ANT_SYSTEMS["elitist"], 10, path, 1.0).start == pytest.approx((10 + 10) / 0.5)
    assert bounds(ANT_SYSTEMS["rank"], 10, path, 1.0).start == pytest.approx(0.5 * 6 * 5 / 0.1)
    assert bounds(ANT_SYSTEMS["acs"], 10, path, 1.0).start == pytest.approx(1 / 5)
    assert bounds(ANT_SYSTEMS["mmas-hcf"], 10, path, 1.0).start_of(4) == 0.25


def test_a_converged_ant_of_max_min_repeats_the_best_walk_with_the_given_probability() -> None:
    nodes = [Node(Decision(f"d{number}"), tuple(range(6))) for number in range(8)]
    limits = bounds(MaxMinAntSystem("plain", 0.02, decided=0.05), 10, [(node, 0) for node in nodes], 1.0)
    assert limits.high == pytest.approx(1 / 0.02)
    repeats = limits.high / (limits.high + 5 * limits.low)  # one of six options has tau_max, five have tau_min
    assert repeats ** len(nodes) == pytest.approx(0.05)


def test_failed_ants_count_for_the_weight_of_the_elite() -> None:
    assert weights(ElitistAntSystem("plain", 0.5), ANTS, BEST, 3, ants=10)[-1] == (BEST, 10.0)


@pytest.mark.parametrize(
    ("name", "start", "kept", "each", "elite"),
    [
        ("as", 10.0, 0.5, 1.0, 0.0),
        ("elitist", 40.0, 0.5, 1.0, 10.0),
        ("rank", 150.0, 0.9, None, None),
        ("acs", None, 1.0, 0.0, 0.1),
    ],
)
def test_a_colony_starts_with_the_published_trails(name: str, start: float | None, kept: float, each: float | None,
                                                   elite: float | None) -> None:
    """Also on the nodes that its first ants reached: before their update, nobody knew how many they are, or how
    good.
    """
    colony = Colony(Kernels(2), 1, published(ANT_SYSTEMS[name]))
    walks = colony.ask(10)
    for walk in walks:
        colony.tell(walk, timed(1.0))  # F = 1, the first is the best
    colony.ask(0)
    first = Decision("fuse")
    taken = [next(c.option for c in walk.choices if c.decision == first) for walk in walks]
    level = start if start is not None else 1 / len(walks[0].choices)
    node = colony.graph.nodes[first]
    got = colony.trails.level(node)
    if each is None or elite is None:  # ranks: 5 for the best ant to 1, and 6 for the best so far
        expected = [
            kept * level + sum(6 - rank for rank, t in enumerate(taken[:5], 1) if t == o) + 6 * (taken[0] == o)
            for o in node.options
        ]
    else:
        worn = 1.0 - elite if name == "acs" else 1.0
        expected = [
            (worn if taken[0] == o else 1.0) * kept * level + each * taken.count(o) + elite * (taken[0] == o)
            for o in node.options
        ]
    assert got == pytest.approx(expected)


def test_ants_of_the_colony_system_wear_their_edges_down() -> None:
    colony = Colony(Kernels(2), 1, published(AntColonySystem()))
    for walk in colony.ask(10):
        colony.tell(walk, timed(1.0))
    colony.ask(0)
    rewarded = max(colony.trails.level(colony.graph.nodes[Decision("fuse")]))
    colony.ask(10)
    assert max(colony.trails.level(colony.graph.nodes[Decision("fuse")])) < rewarded


@in_turn
@pytest.mark.parametrize("name", few(ANT_SYSTEMS, ("as-hcf", "mmas-hcf")))
def test_every_system_learns(name: str) -> None:
    """The mean cost of an ant falls from the first to the last iterations; plain MMAS takes its time, with rho 0.02."""
    space, costs = Kernels(2), []
    for seed in range(2):
        colony = Colony(space, seed, published(ANT_SYSTEMS[name]))
        for _ in range(40):
            outcomes = [(walk, space.outcome(walk.plan)) for walk in colony.ask(10)]
            for walk, outcome in outcomes:
                colony.tell(walk, outcome)
            costs.append([outcome.median_ms for _, outcome in outcomes])
    by_iteration = np.array(costs).reshape(2, 40, 10).mean(axis=(0, 2))
    assert by_iteration[-8:].mean() < 0.95 * by_iteration[:3].mean()
