"""Neighbours of what wisdom knows, which a search tries first."""

from __future__ import annotations

from pathlib import Path

from experiments.search.near import NEAR, neighbours
from generator.plan import Plan
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, preferences
from graph.space import Chooser, Decision
from tests.support.runs import DEVICE, PROGRAM, TARGET, toy_options, toy_space


def test_neighbours_differ_in_one_decision_and_follow_from_the_seed(tmp_path: Path) -> None:
    space = toy_space(PROGRAM, TARGET, toy_options(tmp_path))
    known = OptimizationGraph().walk(space, first)
    assert known is not None
    found = neighbours(known, space, 3)
    own = preferences(known.choices)
    assert len({walk.identity for walk in (known, *found)}) == NEAR + 1
    assert all(sum(own[key] != option for key, option in preferences(walk.choices).items()) == 1 for walk in found)
    assert [walk.plan for walk in neighbours(known, space, 3)] == [walk.plan for walk in found]
    assert [walk.plan for walk in neighbours(known, space, 4)] != [walk.plan for walk in found]
    assert DEVICE.target == TARGET


def test_a_space_of_two_plans_has_one_neighbour() -> None:
    def space(chooser: Chooser) -> Plan:
        return Plan(None, (), parameters=(("a", chooser.choose(Decision("a"), [1, 2])),))  # type: ignore[arg-type]  # a number

    known = OptimizationGraph().walk(space, first)
    assert known is not None
    assert [walk.plan.parameters for walk in neighbours(known, space, 0)] == [(("a", 2),)]
