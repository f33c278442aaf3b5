"""What the colony learns: quality against random search, rewards per kernel, the combine ant, restarts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from experiments.studies.recorded.arena import Source, open_arena
from experiments.studies.recorded.race import race
from explorer.ant_systems import MaxMinAntSystem
from explorer.colony import Colony, ColonyOptions, published
from explorer.pheromone import Bounds, Trails
from explorer.random_walk import RandomWalk
from explorer.screening import Screening
from generator.plan import Plan
from graph.node import Node
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, first, prefer
from graph.space import Chooser, Decision
from metrics.outcome import Outcome
from tests.support.recordings import recorded_space
from tests.support.searches import mean_found
from tests.support.slow import few, in_turn
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, chosen, failed, options_of, plan_of, timed

BOUNDS = Bounds(1.0, 0.1, 0.95, shared=True)


def pheromone(colony: Colony, decision: Decision) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The trails after all that was told."""
    colony.ask(0)
    node = colony.graph.nodes[decision]
    return colony.trails.level(node)


@in_turn
@pytest.mark.parametrize(("kernels", "budget"), few([(3, 50), (6, 50), (3, 200)], 1))
def test_the_colony_beats_random_search_by_far(kernels: int, budget: int) -> None:
    space = Kernels(kernels)
    assert mean_found(Colony, space, budget) < 0.75 * mean_found(RandomWalk, space, budget)


@in_turn
def test_rewards_per_kernel_pay() -> None:
    space = Kernels(4)
    alone = published(MaxMinAntSystem())
    rewarded = replace(alone, kernel_share=0.5, combine=True)
    means = [mean_found(partial(Colony, options=options), space, 100) for options in (rewarded, alone)]
    assert means[0] < 0.8 * means[1]


def moving(chooser: Chooser) -> Plan:
    """A stage is computed in a kernel of its own or with one of three others; each kernel has a tile."""
    place = chosen(chooser, Decision("stage", ("S",)), range(4))
    kernels = [("S",)] * (place == 0) + [(f"T{k}", *["S"] * (place == k)) for k in (1, 2, 3)]
    return plan_of([chosen(chooser, Decision("tile", kernel), range(1, 129)) for kernel in kernels])


@pytest.mark.parametrize("inherit", [True, False])
def test_kernels_that_no_walk_has_had_inherit_the_choices_of_similar_ones(inherit: bool) -> None:
    """The stage of the only measured walk is apart; where others compute it, there are new kernels."""
    colony = Colony(moving, 3, ColonyOptions(screening=Screening(strangers=0.0), inherit=inherit))
    wanted: Preferences = {("tile", (kernel,)): 64 for kernel in ("S", "T1", "T2", "T3")}
    walk = OptimizationGraph().walk(moving, prefer(wanted, first))
    assert walk is not None and options_of(walk) == (0, 64, 64, 64, 64)
    colony.tell(walk, timed(1.0))
    new = [choice.option for one in colony.ask(40) for choice in one.choices if len(choice.decision.subject) > 1]
    assert len(new) > 5
    assert (new.count(64) > 0.5 * len(new)) == inherit, new


@pytest.mark.slow
def test_the_colony_comes_close_to_the_optimum() -> None:
    assert mean_found(Colony, Kernels(3), 1000) < 1.15


def test_the_best_ant_of_the_iteration_is_rewarded_as_in_equation_5() -> None:
    colony = Colony(FlatSpace((4,)), 1)
    walks = colony.ask(2)
    for walk, cost in zip(walks, (2.0, 1.0), strict=True):
        colony.tell(walk, timed(cost))
    expected = np.full(4, 0.9 * 0.25)
    [best] = options_of(walks[1])
    assert isinstance(best, int)
    expected[best] += 0.1
    assert pheromone(colony, Decision("d0")) == pytest.approx(expected)


def test_failures_leave_the_trails_alone() -> None:
    colony = Colony(FlatSpace((4,)), 1)
    for walk in colony.ask(3):
        colony.tell(walk, failed())
    assert pheromone(colony, Decision("d0")) == pytest.approx(np.full(4, 0.25))


def test_a_kernels_best_ant_is_rewarded_even_where_the_program_is_slow() -> None:
    space = Kernels(2)
    colony = Colony(space, 1)
    walks = colony.ask(40)
    unfused = [walk for walk in walks if len(walk.plan.kernels) == 2]
    fast, slow = unfused[0], unfused[1]
    for walk in walks:
        kernels = {kernel.statements: 5.0 for kernel in walk.plan.kernels}
        total = 10.0
        if walk is fast:
            total = 1.0
        if walk is slow:
            total, kernels[("S1",)] = 100.0, 0.1
        colony.tell(walk, timed(total, kernels))
    choice = next(c for c in slow.choices if c.decision == Decision("tile x", ("S1",)))
    trails = pheromone(colony, choice.decision)
    best = next(c for c in fast.choices if c.decision == choice.decision)
    options = colony.graph.nodes[choice.decision].options
    assert choice.option != best.option
    assert trails[options.index(best.option)] == pytest.approx(0.9 / 8 + 0.1)
    assert trails[options.index(choice.option)] == pytest.approx(0.9 / 8 + 0.05)


def test_the_combine_ant_joins_the_best_choices_of_all_kernels() -> None:
    space = Kernels(3)
    colony = Colony(space, 5)
    best: dict[tuple[str, ...], float] = {}
    for walk in colony.ask(30):
        outcome = space.outcome(walk.plan)
        colony.tell(walk, outcome)
        for kernel in outcome.kernels:
            best[kernel.statements] = min(kernel.median_ms, best.get(kernel.statements, np.inf))
    combined = space.outcome(colony.ask(10)[0].plan)
    assert [k.median_ms for k in combined.kernels] == [best[k.statements] for k in combined.kernels]


def test_metrics_steer_the_ants_where_times_say_nothing() -> None:
    def judge(option: object) -> Outcome:
        return timed(1.0, {(): 1.0}, (("occupancy", 0.9 if option == 3 else 0.1),))

    colony = Colony(FlatSpace((4, 1000)), 1, replace(ColonyOptions(), beta=3.0, tree=False, screening=None))
    for _ in range(3):
        for walk in colony.ask(20):
            colony.tell(walk, judge(options_of(walk)[0]))
    drawn = [options_of(walk)[0] for walk in colony.ask(200)]
    assert 1.3 * drawn.count(0) < drawn.count(3)


def test_a_converged_colony_starts_afresh() -> None:
    """One option decides everything; once found, the trails settle, and are then reset."""

    def judge(options: tuple[object, ...]) -> Outcome:
        return timed(1.0 if options[0] == 3 else 2.0)

    colony = Colony(FlatSpace((4, 1000)), 1, published(MaxMinAntSystem()))
    levels = []
    for _ in range(80):
        for walk in colony.ask(4):
            colony.tell(walk, judge(options_of(walk)))
        levels.append(float(pheromone(colony, Decision("d0"))[3]))
    settled = int(np.argmax(np.array(levels) > 0.85))
    assert max(levels) > 0.85
    assert min(levels[settled:]) < 0.5


def test_trails_catch_up_exactly_with_the_evaporations_they_missed() -> None:
    eager, lazy = (Node(Decision("d"), tuple(range(5))) for _ in range(2))
    trails, others = Trails(0.1, BOUNDS), Trails(0.1, BOUNDS)
    trails.reward([(eager, 2)], 0.3)
    others.reward([(lazy, 2)], 0.3)
    for _ in range(30):
        trails.evaporate()
        trails.level(eager)
        others.evaporate()
    assert others.level(lazy) == pytest.approx(trails.level(eager))
    assert others.level(lazy).min() == pytest.approx(0.1 / 5)


def test_trails_never_exceed_the_ceiling() -> None:
    node = Node(Decision("d"), (0, 1))
    trails = Trails(0.1, BOUNDS)
    for _ in range(100):
        trails.evaporate()
        trails.reward([(node, 0)], 0.1)
        trails.reward([(node, 0)], 0.05)
    assert trails.level(node) == pytest.approx([0.95, 0.05])


def test_branching_counts_the_options_still_followed() -> None:
    nodes = [Node(Decision(name), tuple(range(4))) for name in "ab"]
    path = [(node, 0) for node in nodes]
    trails = Trails(0.1, BOUNDS)
    assert trails.branching(path) == pytest.approx(4.0)
    for _ in range(60):
        trails.evaporate()
        trails.reward(path, 0.1)
    assert 1.0 < trails.branching(path) < 1.2


def test_a_wide_decision_is_not_settled_by_one_reward() -> None:
    node = Node(Decision("d"), tuple(range(1000)))
    trails = Trails(0.1, BOUNDS)
    trails.evaporate()
    trails.reward([(node, 0)], 0.1)
    assert trails.branching([(node, 0)]) > 50


@in_turn
def test_dead_ends_do_not_stop_the_ants() -> None:
    colony = Colony(DeadEnds(30), 3)
    seen = set()
    for _ in range(20):
        for walk in colony.ask(10):
            seen.add(walk.identity)
            colony.tell(walk, timed(1.0 + sum(walk.plan.kernels[0].tile)))
    assert len(seen) == 200


def test_a_time_of_zero_does_no_harm() -> None:
    colony = Colony(FlatSpace((4, 4)), 1)
    for _ in range(4):
        for walk in colony.ask(3):
            colony.tell(walk, timed(0.0))
    assert len(colony.ask(3)) == 3


def test_the_crowd_is_small_where_walks_are_long() -> None:
    """So many decisions are made per requested walk."""
    walked = 0

    def space(chooser: Chooser) -> Plan:
        nonlocal walked
        walked += 1
        return plan_of([chosen(chooser, Decision(f"d{number}"), range(3)) for number in range(100)])

    colony = Colony(space, 1, ColonyOptions(screening=Screening(steps=250)))
    for walk in colony.ask(10):
        colony.tell(walk, timed(1.0))
    walked = 0
    assert len(colony.ask(10)) == 10
    assert 10 < walked <= 10 * 250 / 100 + 2


def test_of_many_starts_the_most_promising_ones_come_after_the_first_ten() -> None:
    """Half of the starts, in turns, have a first decision that is slow."""
    space = FlatSpace((2, 30))
    starts = [OptimizationGraph().walk(space, prefer({("d0", ()): number % 2, ("d1", ()): number}, first))
              for number in range(30)]
    known = [walk for walk in starts if walk is not None]
    colony = Colony(space, 1, ColonyOptions(screening=Screening(opening_share=1.0)), known)
    assert list(colony.ask(10)) == known[:10]
    for walk in known[:10]:
        colony.tell(walk, timed(100.0 if options_of(walk)[0] == 1 else 1.0))
    assert {walk.identity for walk in colony.ask(10)} == {walk.identity for walk in known[10::2]}
    some = Colony(space, 1, starts=known)
    for walk in some.ask(10):
        some.tell(walk, timed(100.0 if options_of(walk)[0] == 1 else 1.0))
    asked = [walk.identity for walk in some.ask(10)]
    assert len(asked) == 10 and len({*asked} & {walk.identity for walk in known[10::2]}) >= 3


@pytest.mark.parametrize("tree", [True, False])
def test_half_of_the_ants_stay_in_the_best_leaf_of_the_tree(tree: bool) -> None:
    """Only the first of eight options of a decision is fast; the trails are kept from learning that."""
    space = FlatSpace((8, 10, 10))
    options = replace(published(MaxMinAntSystem(rho=1e-6)), tree=tree)
    colony = Colony(space, 1, options)
    for _ in range(3):
        for walk in colony.ask(20):
            colony.tell(walk, timed(1.0 if walk.choices[0].option == 0 else 10.0))
    inside = sum(walk.choices[0].option == 0 for walk in colony.ask(40))
    assert inside >= 20 if tree else inside < 12


@pytest.mark.slow
@pytest.mark.parametrize(("file", "least"), [("convolution_A100", (0.7, 0.86, 0.94, 0.98)),
                                             ("dedispersion_W6600", (0.96, 0.985, 0.995, 0.998))])
def test_the_colony_keeps_its_quality_on_recorded_gpus(file: str, least: tuple[float, ...]) -> None:
    """Means of ten seeds after 50, 100, 200 and 400 evaluations; docs/benchmarks/explorers.md has those of thirty."""
    arena = open_arena(Source(recorded_space(f"{file}.json.gz"), file))
    optimum = min(arena.valid_ms)
    traces = [race(arena, Colony(arena.space, seed), 400, 10) for seed in range(10)]
    means = [
        np.mean([optimum / (trace.best_at(budget) or np.inf) for trace in traces]) for budget in (50, 100, 200, 400)
    ]
    assert all(mean > bound for mean, bound in zip(means, least, strict=True)), means
