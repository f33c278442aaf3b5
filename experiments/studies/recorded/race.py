"""Run one explorer on one arena."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.studies.recorded.arena import Arena
from explorer.base import Explorer
from metrics.outcome import cost_ms
from runners.base import Job


@dataclass(frozen=True, slots=True)
class Trace:
    """The results of a search by evaluation.

    `ms`: the times (NaN for an invalid configuration). `seconds`: the recorded duration of each evaluation.
    `explorer_s`: processor seconds of the explorer itself, distributed evenly over the evaluations of an iteration.
    `repeats`: the number of evaluations of earlier walks.
    """

    ms: NDArray[np.float64]
    seconds: NDArray[np.float64]
    explorer_s: NDArray[np.float64]
    repeats: int = 0

    def best_at(self, budget: int) -> float | None:
        """Return the best time of the first `budget` evaluations; None if none of them was valid."""
        met = self.ms[:budget]
        return float(np.nanmin(met)) if np.isfinite(met).any() else None


def race(arena: Arena, explorer: Explorer, budget: int, ants: int) -> Trace:
    """Run `budget` evaluations of a new explorer on the arena's space (fewer if the space has no more).

    The explorer is asked for `ants` walks per iteration.
    """
    started_s = time.process_time()
    ms: list[float] = []
    seconds: list[float] = []
    explorer_s: list[float] = []
    met = set[str]()
    while len(ms) < budget:
        walks = explorer.ask(min(ants, budget - len(ms)))
        spent_s = time.process_time() - started_s
        if not walks:
            break
        outcomes = dict(arena.runner.evaluate([Job(number, walk.plan) for number, walk in enumerate(walks)]))
        met.update(walk.identity for walk in walks)
        for number in range(len(walks)):
            cost, spent = cost_ms(outcomes[number]), outcomes[number].durations
            ms.append(math.nan if cost is None else cost)
            seconds.append(spent.generate_s + spent.compile_s + spent.check_s + spent.time_s)
        started_s = time.process_time()
        for number, walk in enumerate(walks):
            explorer.tell(walk, outcomes[number])
        spent_s += time.process_time() - started_s
        explorer_s += [spent_s / len(walks)] * len(walks)
        started_s = time.process_time()
    return Trace(np.array(ms), np.array(seconds), np.array(explorer_s), len(ms) - len(met))
