"""Foretold costs, for the screening and for ants: they help where they are right, and fade where they are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log

import numpy as np
import pytest

from explorer.base import Explorer
from explorer.belief import Belief
from explorer.colony import Colony
from explorer.experience import Experience
from explorer.foresight import LEAST, SHARPNESS, Foresight
from explorer.frozen import freeze, thaw
from explorer.genetic import Genetic
from explorer.memoized import MemoizedSpace
from explorer.screening import SLOPE, Screen, _trend
from explorer.unseen import UnseenWalks
from generator.plan import Plan
from graph.foretelling import Foresee, Foreseen, foresight_of, foretelling_of, foretold_alone
from graph.node import Node
from graph.policies import uniform
from graph.space import Chooser, Decision, Space
from graph.walk import Walk
from metrics.outcome import cost_ms
from tests.support.slow import in_turn
from tests.support.spaces import Kernels, kernel_ms

BASE = Kernels(3)


@dataclass(frozen=True, slots=True)
class Told:
    """A space that says something of each plan."""

    inside: Space
    foretell: Foresee | None = None
    foresee: Foresee | None = None
    alone: bool = False

    def __call__(self, chooser: Chooser) -> Plan:
        return self.inside(chooser)


def truth(plan: Plan) -> float | None:
    ms = cost_ms(BASE.outcome(plan))
    return None if ms is None else log(ms)


def seen(plan: Plan) -> Foreseen:
    return Foreseen(truth(plan), {kernel.statements: log(kernel_ms(kernel)) for kernel in plan.kernels})


def lie(plan: Plan) -> Foreseen:
    return Foreseen(-(truth(plan) or 0.0), {names: -cost for names, cost in seen(plan).kernels.items()})


def nothing(plan: Plan) -> Foreseen:
    return Foreseen(None, {})


def best_of(space: Space, seed: int, evaluations: int, make: Callable[[Space, int], Explorer] = Colony) -> float:
    """The best time of a search."""
    explorer, best = make(space, seed), np.inf
    for _ in range(evaluations // 10):
        for walk in explorer.ask(10):
            outcome = BASE.outcome(walk.plan)
            explorer.tell(walk, outcome)
            best = min(best, cost_ms(outcome) or np.inf)
    return best


def mean_log_best(space: Space, evaluations: int, make: Callable[[Space, int], Explorer] = Colony) -> float:
    return float(np.mean([log(best_of(space, seed, evaluations, make)) for seed in range(6)]))


@lru_cache
def untold(evaluations: int, make: Callable[[Space, int], Explorer] = Colony) -> float:
    """The same of those who are told nothing."""
    return mean_log_best(BASE, evaluations, make)


@in_turn
def test_a_colony_that_is_told_the_truth_needs_fewer_evaluations() -> None:
    assert mean_log_best(Told(BASE, seen), 20) < untold(20) - 0.05


@pytest.mark.slow
def test_so_does_one_whose_ants_foresee_the_truth() -> None:
    assert mean_log_best(Told(BASE, foresee=seen), 20) < untold(20) - 0.1


@pytest.mark.slow
def test_a_colony_that_is_told_lies_is_hardly_worse_off_after_a_while() -> None:
    lies = Told(BASE, lie, lie)
    assert mean_log_best(lies, 100) < untold(20)


@in_turn
def test_evolution_that_is_told_the_truth_needs_fewer_evaluations() -> None:
    assert mean_log_best(Told(BASE, seen), 30, Genetic) < untold(30, Genetic) - 0.1


@pytest.mark.slow
def test_evolution_that_is_told_lies_is_hardly_worse_off_after_a_while() -> None:
    lies = Told(BASE, lie)
    assert mean_log_best(lies, 100, Genetic) < untold(30, Genetic)


def test_members_of_a_portfolio_are_told_the_same() -> None:
    shared = MemoizedSpace(Told(BASE, seen, nothing))
    assert (foretelling_of(shared), foresight_of(shared)) == (seen, nothing)
    assert foretelling_of(MemoizedSpace(BASE)) is None
    assert not foretold_alone(shared) and not foretold_alone(MemoizedSpace(Told(BASE, alone=True)))
    assert foretold_alone(MemoizedSpace(Told(BASE, seen, alone=True)))


@pytest.mark.parametrize("make", [Colony, Genetic])
def test_a_model_that_is_used_alone_is_followed_whatever_is_measured(make: Callable[[Space, int], Explorer]) -> None:
    """Beside the explorer's own forecast a wrong model fades."""
    def costs(alone: bool) -> float:
        explorer = make(Told(BASE, lie, alone=alone), 1)
        for _ in range(2):
            tell(explorer, explorer.ask(10))
        return float(np.mean([lie(walk.plan).program or 0.0 for walk in explorer.ask(10)]))

    assert costs(alone=True) < costs(alone=False) - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("make", [Colony, Genetic])
def test_a_model_that_is_used_alone_is_right_or_wrong_for_good(make: Callable[[Space, int], Explorer]) -> None:
    lies = [Told(BASE, lie, alone=alone) for alone in (False, True)]
    beside, alone = (mean_log_best(space, 60, make) for space in lies)
    assert alone > beside + 0.02
    assert mean_log_best(Told(BASE, seen, alone=True), 30, make) < untold(30, make) - 0.1


def test_walks_are_selected_by_the_model_alone() -> None:
    drawn, rng = UnseenWalks(BASE), np.random.default_rng(0)
    walks = [walk for _ in range(20) if (walk := drawn.draw(uniform(rng))) is not None]
    screen = Screen(Experience())
    for walk in walks[:5]:
        screen.experience.learn(walk, 1.0)
    ranked = sorted(walks[5:], key=lambda walk: truth(walk.plan) or 0.0)
    assert screen.pick(walks[5:], 4, seen, alone=True) == ranked[:4]
    assert screen.pick(walks[5:], 4, nothing, alone=True) == screen.pick(walks[5:], 4), "it says nothing"


def test_who_says_nothing_changes_nothing() -> None:
    silent = Told(BASE, nothing, nothing)
    assert best_of(silent, 1, 40) == best_of(BASE, 1, 40)
    assert foretelling_of(BASE) is None and foretelling_of(silent) is not None
    assert foresight_of(BASE) is None and foresight_of(silent) is not None


@in_turn
def test_what_ants_foresee_is_frozen_with_them() -> None:
    space = Told(BASE, seen, seen)
    explorer = Colony(space, 1)
    for _ in range(3):
        tell(explorer, explorer.ask(10))
    again = thaw(list(freeze(explorer, space, ())), space, {})
    walks = explorer.ask(10)
    assert [walk.identity for walk in again.ask(10)] == [walk.identity for walk in walks]
    tell(explorer, walks)
    tell(again, walks)
    assert [walk.identity for walk in again.ask(10)] == [walk.identity for walk in explorer.ask(10)]


def tell(explorer: Explorer, walks: Sequence[Walk]) -> None:
    for walk in walks:
        explorer.tell(walk, BASE.outcome(walk.plan))


def test_the_slope_is_what_measurements_say_of_it() -> None:
    foretold = [1.0, 2.0, 3.0, 4.0]
    ranks = (np.array(foretold) - 2.5) / np.std(foretold)
    assert _trend(foretold, np.zeros(0)) == pytest.approx(SLOPE * ranks), "nothing is measured yet"
    many = [*foretold] * 50
    right, wrong = np.tile(ranks, 49), -np.tile(ranks, 49)
    assert _trend(many, right)[-1] == pytest.approx(ranks[-1], rel=0.05)
    assert not _trend(many, wrong).any()
    assert not _trend([None, None], np.zeros(1)).any()
    assert _trend([1.0, None, 3.0], np.zeros(0))[1] == 0.0, "what nobody judges is as good as the mean"


def path(*taken: tuple[Node, int]) -> list[tuple[Node, int]]:
    return list(taken)


def test_desirability_is_the_speed_of_what_an_option_leads_to() -> None:
    schedule, kernel = Node(Decision("place"), (0, 1, 2)), Node(Decision("tile", ("S0",)), (8, 16))
    foresight = Foresight()
    assert not foresight
    for place, tile, program, own in ((0, 0, 4.0, 2.0), (0, 1, 4.0, 1.0), (1, 0, 3.0, 2.0), (1, 1, 3.0, 1.0)):
        foresight.learn(path((schedule, place), (kernel, tile)), Foreseen(program, {("S0",): own}))
    assert foresight
    sharp = SHARPNESS * 2 / 3  # two walks each, and the node's mean counts as one more
    assert foresight.level(schedule) == pytest.approx([exp(-0.5 * sharp), exp(0.5 * sharp), 1.0])
    assert foresight.level(kernel) == pytest.approx([exp(-0.5 * sharp), exp(0.5 * sharp)])
    assert foresight.level(Node(Decision("tile", ("S1",)), (8,))) == pytest.approx([1.0]), "nobody told"
    foresight.learn(path((schedule, 2)), Foreseen(-100.0, {}))
    assert foresight.level(schedule)[:2] == pytest.approx([LEAST, LEAST]), "no option is ruled out"


@pytest.mark.parametrize(("slope", "trust"), [(1.0, 1.0), (-1.0, 0.25), (0.0, 0.25)])
def test_a_model_is_believed_as_far_as_it_was_right(slope: float, trust: float) -> None:
    belief = Belief()
    assert belief.trust == 1.0
    for number in range(15):
        belief.compare(float(number), exp(slope * number))
        belief.compare(None, 1.0)
        belief.compare(1.0, None)
    assert belief.trust == pytest.approx(trust)
