"""Foretold costs as the mean function of the screening: they help where they are right, and fade where they are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
import pytest

from explorer.colony import Colony
from explorer.screening import SLOPE, _trend
from generator.plan import Plan
from graph.foretelling import foretelling_of
from graph.space import Chooser, Space
from metrics.outcome import cost_ms
from tests.support.spaces import Kernels

BASE = Kernels(3)


@dataclass(frozen=True, slots=True)
class Told:
    """A space that says something of each plan."""

    inside: Space
    says: Callable[[Plan], float | None]

    def __call__(self, chooser: Chooser) -> Plan:
        return self.inside(chooser)

    def foretold(self, plan: Plan) -> float | None:
        return self.says(plan)


def truth(plan: Plan) -> float | None:
    ms = cost_ms(BASE.outcome(plan))
    return None if ms is None else log(ms)


def best_of(space: Space, seed: int, evaluations: int) -> float:
    """The best time of a search."""
    explorer, best = Colony(space, seed), np.inf
    for _ in range(evaluations // 10):
        for walk in explorer.ask(10):
            outcome = BASE.outcome(walk.plan)
            explorer.tell(walk, outcome)
            best = min(best, cost_ms(outcome) or np.inf)
    return best


def mean_log_best(space: Space, evaluations: int) -> float:
    return float(np.mean([log(best_of(space, seed, evaluations)) for seed in range(6)]))


def test_a_colony_that_is_told_the_truth_needs_fewer_evaluations() -> None:
    assert mean_log_best(Told(BASE, truth), 20) < mean_log_best(BASE, 20) - 0.05


def test_a_colony_that_is_told_lies_is_hardly_worse_off_after_a_while() -> None:
    lies = Told(BASE, lambda plan: -(truth(plan) or 0.0))
    assert mean_log_best(lies, 100) < mean_log_best(BASE, 20)


def test_who_says_nothing_changes_nothing() -> None:
    silent = Told(BASE, lambda plan: None)
    assert best_of(silent, 1, 40) == best_of(BASE, 1, 40)
    assert foretelling_of(BASE) is None and foretelling_of(silent) is not None


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
