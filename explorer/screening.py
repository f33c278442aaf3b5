"""Selects the candidate walks to measure: those with the largest expected improvement.

Expected improvement (Jones, Schonlau & Welch 1998) under a Gaussian process over the walks measured so far. A batch is
selected one by one: after each selection, the uncertainty is reduced as its measurement will do (Ginsbourger, Le Riche
& Carraro 2010, "kriging believer"), so that a batch does not consist of similar walks. If nothing is measured yet, the
selected walks are as different from each other as the candidates allow.

If a program has several kernels with known times, a process over kernels (explorer.kernel_forecast) and one over walks
select in turns. The first learns more from the same measurements. The second also learns from failures and from
interactions between kernels.

If the space predicts costs (graph.foretelling), the mean function of the process over walks is a slope times the
standardised prediction. The slope is that of a ridge regression on the measured walks, with the prior SLOPE, which
weighs as much as TRUSTED walks. So the slope adapts quickly; it is 0 for a useless model. The process over kernels has
a mean function of its own, the predicted costs of kernels. If the space wants its model to be used alone, the walks
with the lowest predictions are selected, whatever was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array
from explorer.belief import TRUSTED, slope, standardised
from explorer.experience import Experience
from explorer.gaussian_process import GaussianProcess, Posterior, coordinates
from explorer.kernel_forecast import KernelForecaster
from explorer.small_algebra import normal_distribution
from graph.foretelling import Foresee
from graph.walk import Walk

MOST_KNOWN = 400
"""The model uses at most so many measured walks: for one half the best, for the other the latest others."""

SLOPE = 0.5
"""Prior slope of costs over predicted costs (both standardised)."""


@dataclass(frozen=True, slots=True)
class Screening:
    """The generation of candidates, from which a model selects the walks to measure.

    `crowd`: candidates per requested walk; in total at most `most`, but at least two per requested walk. The share
    `moves` of them are copies of the `elite` best walks with one or two decisions changed, the share `strangers`,
    divided by the number of kernels, are random walks, and the others ants: the more kernels, the surer it is that some
    of a random walk's are slow. Generation ends early after `steps` decisions per requested walk, or after `news` new
    nodes per requested walk: walking is slow if each new schedule has to be computed. `spread`: also select the first
    iteration, when nothing is measured yet, from candidates: as different from each other as possible.

    After `openings` start walks, only the most promising ones of the others are measured, the share `opening_share` of
    the requested walks.
    """

    crowd: int = 15
    most: int = 300
    moves: float = 0.55
    strangers: float = 0.15
    elite: int = 5
    openings: int = 10
    opening_share: float = 0.3
    steps: int = 2000
    news: int = 250
    spread: bool = True

    def size(self, count: int) -> int:
        """Return the number of candidates for `count` requested walks."""
        return max(min(self.crowd * count, self.most), 2 * count)


class Forecast(Protocol):
    """Predicted costs of candidates, on a logarithmic scale, with their uncertainty.

    `mean`: per candidate. `best`: the cost of the best walk so far, in the same unit.
    """

    best: float
    mean: Array

    def deviation(self) -> Array:
        """Return the standard deviation per candidate."""

    def measure(self, candidate: int) -> None:
        """Reduce the uncertainty as a measurement of this candidate will; the means do not change."""


@dataclass(slots=True)
class WalkForecast:
    """A forecast from a process over whole walks; works for every space."""

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
    """The models, and the walks from which they learn. `kernels`: None for no model of kernels."""

    experience: Experience
    kernels: KernelForecaster | None = None
    _process: GaussianProcess = field(default_factory=GaussianProcess)

    def pick(self, candidates: Sequence[Walk], count: int, foretell: Foresee | None = None,
             alone: bool = False) -> list[Walk]:
        """Return the `count` most promising candidates, most promising first; all candidates if there are fewer.

        `alone`: by the predictions of `foretell` only, unless it predicts none of them.
        """
        if len(candidates) <= count or not any(walk.choices for walk in candidates):
            return list(candidates[:count])
        foretold = [foretell(walk.plan).program for walk in candidates] if foretell is not None and alone else []
        if any(cost is not None for cost in foretold):
            order = np.argsort(standardised(foretold), kind="stable")
            return [candidates[number] for number in order[:count]]
        forecasts = self._forecasts(candidates, foretell)
        picked: list[int] = []
        for number in range(count):
            forecast = forecasts[number % len(forecasts)]
            gain = expected_improvement(forecast.best, forecast.mean, forecast.deviation())
            gain[picked] = -np.inf
            picked.append(int(np.argmax(gain)))
            for other in forecasts if number + 1 < count else ():  # not needed after the last one
                other.measure(picked[-1])
        return [candidates[number] for number in picked]

    def _forecasts(self, candidates: Sequence[Walk], foretell: Foresee | None) -> Sequence[Forecast]:
        known = self.experience.telling(MOST_KNOWN)
        costs = np.array([self.experience.costs[number] for number in known])
        by_walks = self._by_walks(known, costs, candidates, foretell)
        best = costs.min(initial=np.inf)
        by_kernels = self.kernels and self.kernels.forecast(known.tolist(), candidates, best, foretell)
        return (by_kernels, by_walks) if by_kernels else (by_walks,)

    def _by_walks(self, known: NDArray[np.intp], costs: Array, candidates: Sequence[Walk],
                  foretell: Foresee | None) -> WalkForecast:
        attributes = self.experience.attributes
        rows = [attributes.row(walk) for walk in candidates]  # may add columns
        points = coordinates(attributes, np.vstack([self.experience.table()[known], attributes.table(rows)]))
        targets = _standardised(costs)
        told = [*(self.experience.walks[number] for number in known), *candidates]
        foretold = [foretell(walk.plan).program if foretell is not None else None for walk in told]
        trend = _trend(foretold, targets)
        self._process.fit(points.part(slice(0, len(known))), targets - trend[: len(known)], len(attributes.columns))
        posterior = self._process.posterior(points.part(slice(len(known), None)))
        return WalkForecast(float(targets.min(initial=0.0)), posterior.mean + trend[len(known):], posterior)


def expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return E[max(0, best - cost)] for normally distributed costs."""
    distance = (best - mean) / deviation
    density = np.exp(-0.5 * distance * distance) / np.sqrt(2 * np.pi)
    return np.asarray(deviation * (distance * normal_distribution(distance) + density))


def _trend(foretold: Sequence[float | None], targets: Array) -> Array:
    """Return the mean function at all walks, 0 without prediction. The first walks are measured: costs `targets`."""
    values = standardised(foretold)
    return np.asarray(slope(values[: len(targets)], targets, SLOPE, TRUSTED) * values)


def _standardised(costs: Array) -> Array:
    """Scale costs to mean 0 and standard deviation 1; failures cost as much as the slowest success."""
    succeeded = costs[np.isfinite(costs)]
    if not succeeded.size:
        return np.zeros_like(costs)
    filled = np.where(np.isfinite(costs), costs, succeeded.max())
    deviation = float(filled.std())
    return np.asarray((filled - filled.mean()) / deviation if deviation > 0 else np.zeros_like(costs))
