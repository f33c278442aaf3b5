"""Which of many candidate walks to measure: those from which a model expects the largest improvement.

Expected improvement (Jones, Schonlau & Welch 1998) under a Gaussian process over the walks measured so far. A batch
is picked one by one: each pick takes away the uncertainty that measuring it will remove (Ginsbourger, Le Riche &
Carraro 2010, "kriging believer"), so that a batch does not hold ten times the same idea. With nothing measured yet
the picks are spread as widely as the candidates allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from explorer.attributes import Array
from explorer.experience import Experience
from explorer.gaussian_process import GaussianProcess, coordinates
from graph.walk import Walk

MOST_KNOWN = 400
"""Measured walks that the model looks at: the best half, and the latest of the others."""


@dataclass(slots=True)
class Screen:
    """The model, and the walks that it learns from."""

    experience: Experience
    _process: GaussianProcess = field(default_factory=GaussianProcess)

    def pick(self, candidates: Sequence[Walk], count: int) -> list[Walk]:
        """The `count` most promising candidates (all of them if there are fewer), most promising first."""
        if len(candidates) <= count or not any(walk.choices for walk in candidates):
            return list(candidates[:count])
        known, attributes = self._looked_at(), self.experience.attributes
        rows = [attributes.row(walk) for walk in candidates]  # may add columns
        points = coordinates(attributes, np.vstack([self.experience.table()[known], attributes.table(rows)]))
        targets = _standardised(np.array([self.experience.costs[number] for number in known]))
        self._process.fit(points.part(slice(0, len(known))), targets, len(attributes.columns))
        posterior = self._process.posterior(points.part(slice(len(known), None)))
        best = float(targets.min(initial=0.0))
        picked: list[int] = []
        for _ in range(count):
            gain = expected_improvement(best, posterior.mean, posterior.deviation())
            gain[picked] = -np.inf
            picked.append(int(np.argmax(gain)))
            posterior.measure(picked[-1])
        return [candidates[number] for number in picked]

    def _looked_at(self) -> list[int]:
        count = len(self.experience.costs)
        if count <= MOST_KNOWN:
            return list(range(count))
        best = np.argsort(self.experience.costs, kind="stable")[: MOST_KNOWN // 2]
        latest = np.setdiff1d(np.arange(count), best)[-(MOST_KNOWN - best.size) :]
        return sorted(int(number) for number in np.concatenate([best, latest]))


def expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """E[max(0, best - cost)] for a normally distributed cost."""
    distance = (best - mean) / deviation
    density = np.exp(-0.5 * distance * distance) / np.sqrt(2 * np.pi)
    return np.asarray(deviation * (distance * ndtr(distance) + density))


def _standardised(costs: Array) -> Array:
    """Mean 0 and deviation 1; failures cost as much as the slowest success."""
    succeeded = costs[np.isfinite(costs)]
    if not succeeded.size:
        return np.zeros_like(costs)
    filled = np.where(np.isfinite(costs), costs, succeeded.max())
    deviation = float(filled.std())
    return np.asarray((filled - filled.mean()) / deviation if deviation > 0 else np.zeros_like(costs))
