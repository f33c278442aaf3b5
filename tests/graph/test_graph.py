"""Walks, shared nodes, dead ends, preferences and statistics of the optimization graph."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.errors import InputError
from generator.plan import Plan
from graph.knowledge import Measured, Statistics
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, preferences, replay, uniform
from graph.prefixes import PrefixTree
from graph.space import Chooser, DeadEnd, Decision, Space
from graph.walk import Choice, Walk, choices_from_json, walk_to_json
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, NoWayOut, Staircase, chosen, options_of, plan_of


def random_walk(graph: OptimizationGraph, space: Space, seed: int) -> Walk:
    walk = graph.walk(space, uniform(np.random.default_rng(seed)))
    assert walk is not None
    return walk


def all_walks(space: Space) -> list[Walk]:
    graph, tree, walks = OptimizationGraph(), PrefixTree(), []
    policy = uniform(np.random.default_rng(0))
    while (walk := graph.walk(space, policy, tree)) is not None:
        walks.append(walk)
        tree.close(graph.path(walk))
    return walks


def test_a_walk_holds_the_choices_and_the_plan_they_make() -> None:
    walk = OptimizationGraph().walk(FlatSpace((3, 4)), first)
    assert walk is not None
    assert walk.choices == (Choice(Decision("d0"), 0), Choice(Decision("d1"), 0))
    assert walk.plan == plan_of([0, 0])
    assert walk.identity == walk.plan.digest


def test_json_round_trip_of_choices() -> None:
    for seed in range(10):
        walk = random_walk(OptimizationGraph(), Kernels(2), seed)
        assert choices_from_json(walk_to_json(walk)) == walk.choices


def test_json_keeps_the_types_of_options() -> None:
    decision = Decision("d", ("S", "T"), (("tile", (8, 4)), ("on", True), ("how", "fast"), ("size", 1)))
    walk = Walk((Choice(decision, (1, 2)), Choice(decision, False), Choice(decision, 0)), plan_of([0]))
    again = choices_from_json(walk_to_json(walk))
    assert repr(again) == repr(walk.choices)


@pytest.mark.parametrize("text", ["", "{", "3", "{}x", '[{"name": 1}]', '[{"name": "a", "subject": []}]', "[null]"])
def test_damaged_json_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="walk"):
        choices_from_json(text)


def test_a_kernels_decisions_are_the_same_nodes_in_any_order_of_kernels() -> None:
    graph = OptimizationGraph()
    random_walk(graph, Kernels(3), 0)
    walk = random_walk(graph, Kernels(3), 1)
    nodes = set(graph.nodes)
    turned = graph.walk(Kernels(3, reverse=True), prefer(preferences(walk.choices), first))
    assert turned is not None
    assert turned.plan == walk.plan
    assert [c.decision.subject for c in turned.choices] != [c.decision.subject for c in walk.choices]
    assert set(graph.nodes) == nodes


def test_a_kernels_decisions_are_shared_between_schedules_that_contain_it() -> None:
    class TwoRoads:
        def __call__(self, chooser: Chooser) -> Plan:
            road = chosen(chooser, Decision("road"), range(2))
            return plan_of([road, chosen(chooser, Decision("tile", ("S",)), range(4))])

    graph = OptimizationGraph()
    for seed in range(8):
        random_walk(graph, TwoRoads(), seed)
    assert [node.decision.name for node in graph.nodes.values()] == ["road", "tile"]


def test_nodes_are_made_when_first_reached() -> None:
    graph = OptimizationGraph()
    graph.walk(Staircase(4), first)
    assert len(graph.nodes) == 4


def test_a_forced_decision_makes_no_node_and_no_choice() -> None:
    graph = OptimizationGraph()
    walk = graph.walk(FlatSpace((1, 2, 1)), first)
    assert walk is not None
    assert [choice.decision.name for choice in walk.choices] == ["d1"]
    assert list(graph.nodes) == [Decision("d1")]


def test_a_decision_that_forgets_what_its_options_depend_on_is_reported_by_name() -> None:
    class Forgetful:
        def __call__(self, chooser: Chooser) -> Plan:
            a = chosen(chooser, Decision("a"), (2, 3))
            return plan_of([chosen(chooser, Decision("tile", ("S",)), range(a))])

    graph = OptimizationGraph()
    graph.walk(Forgetful(), prefer({("a", ()): 2}, first))
    with pytest.raises(ValueError, match=r"'tile' of \('S',\).*depends"):
        graph.walk(Forgetful(), prefer({("a", ()): 3}, first))


@pytest.mark.parametrize(("names", "options"), [(("a", "a"), (1, 2)), (("a",), (1, 1)), (("a",), ())])
def test_ill_formed_spaces_are_reported(names: tuple[str, ...], options: tuple[int, ...]) -> None:
    def space(chooser: Chooser) -> Plan:
        return plan_of([chosen(chooser, Decision(name), options) for name in names])

    with pytest.raises(ValueError, match="'a'"):
        OptimizationGraph().walk(space, first)


def test_preferences_are_followed_where_on_offer_and_the_policy_asked_elsewhere() -> None:
    graph = OptimizationGraph()
    walk = graph.walk(FlatSpace((5, 5, 5)), prefer({("d0", ()): 3, ("d1", ()): 9}, first))
    assert walk is not None
    assert options_of(walk) == (3, 0, 0)


def test_any_walk_can_be_replayed_in_a_fresh_graph() -> None:
    for space in (Kernels(3), Staircase(5), DeadEnds(4)):
        for seed in range(10):
            walk = random_walk(OptimizationGraph(), space, seed)
            choices = choices_from_json(walk_to_json(walk))
            assert OptimizationGraph().walk(space, prefer(preferences(choices), first)) == walk


def asks_twice(chooser: Chooser) -> Plan:
    """The same about the same statements in two loops, one inside the other."""
    outer = chooser.choose(Decision("order", ("S0", "S1"), (("depth", 0),)), [0, 1])
    inner = chooser.choose(Decision("order", ("S0", "S1"), (("depth", 1),)), [0, 1])
    assert isinstance(outer, int) and isinstance(inner, int)
    return plan_of((outer, inner))


def test_a_walk_that_is_asked_the_same_twice_is_replayed() -> None:
    walks = all_walks(asks_twice)
    assert len(walks) == 4
    for walk in walks:
        assert OptimizationGraph().walk(asks_twice, replay(walk.choices, first)) == walk


def test_a_dead_end_prunes_the_edge_and_the_walk_backs_up() -> None:
    graph = OptimizationGraph()
    walk = graph.walk(DeadEnds(5), prefer({("a", ()): 2, ("b", ()): 2, ("c", ()): 0}, first))
    assert walk is not None
    assert options_of(walk) == (2, 2, 2)
    assert list(graph.nodes[Decision("c", depends=(("a + b", 4),))].allowed) == [2, 3, 4]


def test_a_pruned_edge_is_closed_for_walks_that_come_another_way() -> None:
    graph, asked = OptimizationGraph(), []

    def policy(node: object, allowed: np.ndarray[tuple[int], np.dtype[np.intp]]) -> int:
        asked.append(allowed.size)
        return int(allowed[0])

    graph.walk(DeadEnds(5), prefer({("a", ()): 2, ("b", ()): 2}, policy))
    asked.clear()
    graph.walk(DeadEnds(5), prefer({("a", ()): 3, ("b", ()): 1}, policy))
    assert asked == [3]


def test_a_space_without_a_way_out_gives_no_walk() -> None:
    assert OptimizationGraph().walk(NoWayOut(), first) is None


def test_a_space_that_is_a_dead_end_itself_gives_no_walk() -> None:
    def space(chooser: Chooser) -> Plan:
        raise DeadEnd

    assert OptimizationGraph().walk(space, first) is None


def test_closing_walks_enumerates_a_space_exactly() -> None:
    for size in (2, 3, 4):
        stairs = all_walks(Staircase(size))
        assert len(stairs) == len({walk.identity for walk in stairs}) == Staircase(size).count
        dead_ends = all_walks(DeadEnds(size))
        assert sorted(walk.identity for walk in dead_ends) == sorted(DeadEnds(size).plans)
    assert len(all_walks(FlatSpace((1, 1)))) == 1


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_every_plan_of_a_flat_space_is_reached_once(sizes: list[int]) -> None:
    walks = all_walks(FlatSpace(tuple(sizes)))
    assert len(walks) == len({walk.identity for walk in walks}) == np.prod(sizes)


@given(st.lists(st.floats(0.001, 1e6), min_size=2, max_size=30))
def test_running_statistics_agree_with_the_textbook(values: list[float]) -> None:
    running = Statistics()
    for value in values:
        running.add(value)
    assert running.count == len(values)
    assert running.mean == pytest.approx(statistics.fmean(values))
    assert running.deviation == pytest.approx(statistics.stdev(values), abs=1e-6)


def test_edges_keep_the_programs_cost_and_their_own_kernels() -> None:
    graph = OptimizationGraph()
    for seed in range(5):
        walk = random_walk(graph, Kernels(1), seed)
        graph.record(walk, Measured(10.0 + seed), {("S0",): Measured(2.0 + seed)})
    node = graph.nodes[Decision("unroll", ("S0",))]
    assert sum(edge.visits for edge in node.edges.values()) == 5
    total = sum(edge.cost.mean * edge.cost.count for edge in node.edges.values())
    assert total == pytest.approx(sum(10.0 + seed for seed in range(5)))
    kernel = sum(edge.kernel_cost.mean * edge.kernel_cost.count for edge in node.edges.values())
    assert kernel == pytest.approx(sum(2.0 + seed for seed in range(5)))
    root = graph.nodes[Decision("fuse")]
    assert all(edge.kernel_cost.count == 0 for edge in root.edges.values())


def test_failures_are_counted_and_have_no_cost() -> None:
    graph = OptimizationGraph()
    walk = random_walk(graph, FlatSpace((3,)), 0)
    graph.record(walk, None)
    [edge] = graph.nodes[Decision("d0")].edges.values()
    assert (edge.visits, edge.failures, edge.cost.count) == (1, 1, 0)
