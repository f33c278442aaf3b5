"""The results of explorers in synthetic spaces, and outcomes without any structure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.base import Explorer
from explorer.registry import EXPLORERS
from generator.plan import Plan
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome
from tests.support.spaces import Kernels, failed, timed

SIBLINGS = {"as", "elitist", "rank", "mmas", "elitist-hcf", "rank-hcf", "coding-ants-base", "coding-ants-metrics",
            "sioutas", "polymage-dp"}  # fmt: skip
"""Each is one of the others but for a rule of its own (tests/explorer/test_ant_systems.py), or for its starts."""
DISTINCT = tuple(name for name in EXPLORERS if name not in SIBLINGS)


def best_found(explorer: Explorer, space: Kernels, budget: int, ants: int = 10) -> float:
    """Return the best cost found, as a multiple of the optimum."""
    best = float("inf")
    for _ in range(budget // ants):
        for walk in explorer.ask(ants):
            outcome = space.outcome(walk.plan)
            explorer.tell(walk, outcome)
            best = min(best, outcome.median_ms)
    return best / space.best_ms


def mean_found(make: Callable[[Space, int], Explorer], space: Kernels, budget: int) -> float:
    return float(np.mean([best_found(make(space, seed), space, budget) for seed in range(5)]))


def by_digest(plan: Plan) -> Outcome:
    """Return a cost without any structure; every fifth plan fails."""
    number = int(plan.digest[:6], 16)
    return failed() if number % 5 == 0 else timed(1.0 + number % 1000)


def always_failed(plan: Plan) -> Outcome:
    return failed()


def mostly_failed(plan: Plan) -> Outcome:
    """Return failures for nineteen plans of twenty."""
    number = int(plan.digest[:6], 16)
    return failed() if number % 20 else timed(1.0 + number % 1000)


def plans(iterations: list[list[Walk]]) -> list[str]:
    return [walk.identity for walks in iterations for walk in walks]
