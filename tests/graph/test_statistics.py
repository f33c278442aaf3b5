"""What the graph keeps of walks: metrics per edge, merged statistics, shared parts of nodes, lazily made arrays."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.random_walk import RandomWalk
from explorer.unseen import UnseenWalks
from graph.knowledge import Measured, Statistics
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, uniform
from graph.prefixes import PrefixTree
from graph.space import Decision, Option
from metrics.outcome import Durations, KernelTime, MetricValues, Outcome, Timed
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, failed


def timed(kernels: dict[str, tuple[float, MetricValues]]) -> Outcome:
    """A correct variant of these kernels: milliseconds and metrics by statement."""
    times = tuple(KernelTime((name,), ms, metrics) for name, (ms, metrics) in kernels.items())
    total = sum(kernel.median_ms for kernel in times)
    return Timed(total, total, total, (total,), total, times, "code", False, Durations())


def test_nodes_about_a_kernel_know_its_metrics_and_all_others_the_programs() -> None:
    walks = UnseenWalks(Kernels(2))
    walk = walks.draw(first)
    assert walk is not None
    walks.record(walk, timed({"S0": (1.0, (("occupancy", 0.2),)), "S1": (3.0, (("occupancy", 0.6), ("ipc", 0.5)))}))
    for node, index in walks.graph.path(walk):
        edge = node.edges[index]
        means = {name: metric.mean for name, metric in edge.metrics.items()}
        match node.decision.subject:
            case ("S0",):
                assert means == {"occupancy": 0.2}
                assert edge.kernel_cost.mean == 1.0
            case ("S1",):
                assert means == {"occupancy": 0.6, "ipc": 0.5}
            case _:
                assert means == {"occupancy": pytest.approx((0.2 + 3 * 0.6) / 4), "ipc": 0.5}
                assert edge.kernel_cost.count == 0
        assert edge.cost.mean == 4.0


def test_a_failure_adds_no_metrics_and_a_walk_without_them_leaves_none() -> None:
    walks = UnseenWalks(Kernels(1))
    for outcome in (failed(), timed({"S0": (1.0, ())})):
        walk = walks.draw(uniform(np.random.default_rng(0)))
        assert walk is not None
        walks.record(walk, outcome)
    assert all(not edge.metrics for node in walks.graph.nodes.values() for edge in node.edges.values())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_metrics_of_an_edge_agree_with_the_textbook(values: list[float]) -> None:
    graph = OptimizationGraph()
    walk = graph.walk(FlatSpace((2,)), first)
    assert walk is not None
    for value in values:
        graph.record(walk, Measured(1.0, {"ipc": value}))
    metric = graph.nodes[Decision("d0")].edges[0].metrics["ipc"]
    assert metric.count == len(values)
    assert metric.mean == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert metric.deviation == pytest.approx(statistics.stdev(values) if len(values) > 1 else 0.0, abs=1e-9)


@given(st.lists(st.floats(-1e3, 1e3), max_size=20), st.lists(st.floats(-1e3, 1e3), max_size=20))
def test_merged_statistics_are_those_of_all_values(left: list[float], right: list[float]) -> None:
    merged, together = collected(left).merged(collected(right)), collected(left + right)
    assert merged.count == together.count
    assert merged.mean == pytest.approx(together.mean, abs=1e-9)
    assert merged.deviation == pytest.approx(together.deviation, abs=1e-6)


def collected(values: list[float]) -> Statistics:
    found = Statistics()
    for value in values:
        found.add(value)
    return found


@settings(max_examples=50)
@given(st.integers(1, 12), st.data())
def test_pruned_and_allowed_options_divide_a_node(count: int, data: st.DataObject) -> None:
    graph = OptimizationGraph()
    node, other = (graph.node(Decision(name), tuple(range(count))) for name in "ab")
    gone = data.draw(st.sets(st.integers(0, count - 1)))
    for index in gone:
        node.prune(index)
        node.prune(index)
    assert set(node.allowed.tolist()) == set(range(count)) - gone
    assert set(np.flatnonzero(node.pruned)) == gone
    assert not other.pruned.any()
    assert other.allowed.tolist() == list(range(count))


def test_a_dead_end_stays_pruned_when_the_space_is_used_up_and_in_fresh_trees() -> None:
    explorer = RandomWalk(DeadEnds(4), 0)
    while walks := explorer.ask(7):
        assert all(walk.identity in DeadEnds(4).plans for walk in walks)
    pruned = {node.decision: node.pruned.tolist() for node in explorer.graph.nodes.values()}
    walk = explorer.graph.walk(DeadEnds(4), first, PrefixTree())
    assert walk is not None
    assert pruned == {node.decision: node.pruned.tolist() for node in explorer.graph.nodes.values()}
    for decision, marks in pruned.items():
        if decision.name == "c":
            assert marks == [(total_of(decision) + c) % 3 != 0 for c in range(4)]


def total_of(decision: Decision) -> int:
    [(_, total)] = decision.depends
    assert isinstance(total, int)
    return total


def test_nodes_share_what_is_equal_and_keep_apart_what_only_compares_as_equal() -> None:
    graph = OptimizationGraph()
    flags: tuple[Option, ...] = (False, True)
    a = graph.node(Decision("a", ("S0", "S1"), (("size", 300), ("way", (1, 2)))), (1000, 2000))
    b = graph.node(Decision("b", ("S0", "S1"), (("size", 300), ("way", (1, 3)))), tuple(range(1000, 3000, 1000)))
    assert a.options is b.options
    assert a.decision.subject is b.decision.subject
    assert a.decision.depends[0] is b.decision.depends[0]
    numbers, switches = graph.node(Decision("n"), (0, 1)), graph.node(Decision("s"), flags)
    assert [type(option) for option in numbers.options + switches.options] == [int, int, bool, bool]
    one = graph.node(Decision("x", (), (("on", 1),)), (1, 2)).decision
    yes = graph.node(Decision("y", (), (("on", True),)), (1, 2)).decision
    assert (type(one.depends[0][1]), type(yes.depends[0][1])) == (int, bool)


def test_what_nobody_needed_is_not_made() -> None:
    graph = OptimizationGraph()
    walk = graph.walk(Kernels(3), first)
    assert walk is not None
    nodes = list(graph.nodes.values())
    assert not any(node.edges for node in nodes)
    same = [node for node in nodes if len(node.options) == len(nodes[0].options)]
    assert all(node.allowed is same[0].allowed for node in same)
    with pytest.raises(ValueError, match="read-only"):
        nodes[0].allowed[0] = 1
