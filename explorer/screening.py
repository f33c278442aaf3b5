"""Which of many candidate walks to measure: those from which a model expects the largest improvement.

Expected improvement (Jones, Schonlau & Welch 1998) under a Gaussian process over the walks measured so far. A batch
is picked one by one: each pick takes away the uncertainty that measuring it will remove (Ginsbourger, Le Riche &
Carraro 2010, "kriging believer"), so that a batch does not hold ten times the same idea. With nothing measured yet
the picks are spread as widely as the candidates allow.

Where a program has several kernels whose times are known one by one, a process over kernels (explorer.kernel_forecast)
and one over walks pick in turns. The first knows more from the same measurements; the second learns from failures, too,
and of what kernels do to each other.

A space that foretells costs (graph.foretelling) gives the process over walks its mean function: a slope times the
foretold cost (standardised). The slope is that of a ridge regression on the measured walks, which takes SLOPE for as
good as TRUSTED walks: what a model is worth shows soon, and one that is worth nothing has a slope of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array
from explorer.belief import standardised
from explorer.experience import Experience
from explorer.gaussian_process import GaussianProcess, Posterior, coordinates
from explorer.kernel_forecast import KernelForecaster
from explorer.small_algebra import normal_distribution
from graph.foretelling import Foretell
from graph.walk import Walk

MOST_KNOWN = 400
"""Measured walks that the model looks at: the best half, and the latest of the others."""

SLOPE, TRUSTED = 0.5, 5.0
"""Of costs over foretold costs, both standardised, before anything is measured; and so many walks change that by half.
"""


class Forecast(Protocol):
    """What candidates may cost, on a logarithmic scale, and how sure that is. `best` is what the best walk so far
    cost.
    """

    best: float
    mean: Array

    def deviation(self) -> Array:
        """The standard deviation per candidate."""

    def measure(self, candidate: int) -> None:
        """Take away the uncertainty that measuring this candidate removes; the means stay."""


@dataclass(slots=True)
class WalkForecast:
    """A forecast by whole walks: works for every space."""

    best: float
    mean: Array
    _posterior: Posterior

    def deviation(self) -> Array:
        """See Forecast."""
        return self._posterior.deviation()

    def measure(self, candidate: int) -> None:
        """See Forecast."""
        self._posterior.measure(candidate)


@dataclass(slots=True)
class Screen:
    """The models, and the walks that they learn from. `kernels`: None leaves out the model of kernels."""

    experience: Experience
    kernels: KernelForecaster | None = None
    _process: GaussianProcess = field(default_factory=GaussianProcess)

    def pick(self, candidates: Sequence[Walk], count: int, foretell: Foretell | None = None) -> list[Walk]:
        """The `count` most promising candidates (all of them if there are fewer), most promising first."""
        if len(candidates) <= count or not any(walk.choices for walk in candidates):
            return list(candidates[:count])
        forecasts = self._forecasts(candidates, foretell)
        picked: list[int] = []
        for number in range(count):
            forecast = forecasts[number % len(forecasts)]
            gain = expected_improvement(forecast.best, forecast.mean, forecast.deviation())
            gain[picked] = -np.inf
            picked.append(int(np.argmax(gain)))
            for other in forecasts if number + 1 < count else ():  # after the last pick nobody asks
                other.measure(picked[-1])
        return [candidates[number] for number in picked]

    def _forecasts(self, candidates: Sequence[Walk], foretell: Foretell | None) -> Sequence[Forecast]:
        known = self.experience.telling(MOST_KNOWN)
        costs = np.array([self.experience.costs[number] for number in known])
        by_walks = self._by_walks(known, costs, candidates, foretell)
        by_kernels = self.kernels and self.kernels.forecast(known.tolist(), candidates, costs.min(initial=np.inf))
        return (by_kernels, by_walks) if by_kernels else (by_walks,)

    def _by_walks(self, known: NDArray[np.intp], costs: Array, candidates: Sequence[Walk],
                  foretell: Foretell | None) -> WalkForecast:
        attributes = self.experience.attributes
        rows = [attributes.row(walk) for walk in candidates]  # may add columns
        points = coordinates(attributes, np.vstack([self.experience.table()[known], attributes.table(rows)]))
        targets = _standardised(costs)
        told = [*(self.experience.walks[number] for number in known), *candidates]
        trend = np.zeros(len(told)) if foretell is None else _trend([foretell(walk.plan) for walk in told], targets)
        self._process.fit(points.part(slice(0, len(known))), targets - trend[: len(known)], len(attributes.columns))
        posterior = self._process.posterior(points.part(slice(len(known), None)))
        return WalkForecast(float(targets.min(initial=0.0)), posterior.mean + trend[len(known):], posterior)


def expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """E[max(0, best - cost)] for a normally distributed cost."""
    distance = (best - mean) / deviation
    density = np.exp(-0.5 * distance * distance) / np.sqrt(2 * np.pi)
    return np.asarray(deviation * (distance * normal_distribution(distance) + density))


def _trend(foretold: Sequence[float | None], targets: Array) -> Array:
    """The mean function at all walks, the measured ones first, whose costs are `targets`; 0 where nothing is foretold.
    """
    values = standardised(foretold)
    known = values[: len(targets)]
    slope = (known @ targets + TRUSTED * SLOPE) / (known @ known + TRUSTED)
    return np.asarray(max(float(slope), 0.0) * values)


def _standardised(costs: Array) -> Array:
    """Mean 0 and deviation 1; failures cost as much as the slowest success."""
    succeeded = costs[np.isfinite(costs)]
    if not succeeded.size:
        return np.zeros_like(costs)
    filled = np.where(np.isfinite(costs), costs, succeeded.max())
    deviation = float(filled.std())
    return np.asarray((filled - filled.mean()) / deviation if deviation > 0 else np.zeros_like(costs))
