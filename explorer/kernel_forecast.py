"""Predicts the costs of candidate walks kernel by kernel: the time of a program is the sum of its kernels' times.

The time of a kernel depends on its own decisions and on those about its statements (which of them share it, their
reductions, the order of loops), but not on the tiles of other kernels. So a Gaussian process over *kernels* learns
more from a measurement than one over walks: a walk with four kernels gives four observations in a quarter of the
dimensions, and kernels measured in different walks predict walks that combine them. The forecast of a walk is that of
a sum,

    log T = log sum_k exp(m_k),    var(log T) = sum_kl w_k w_l cov(k, l),    w_k = exp(m_k) / sum_l exp(m_l)

(first order around the means m of the kernels' log times). The prior mean of a kernel is the mean of the kernels with
the same statements, shrunk towards the mean of all kernels by one observation. So kernels with new statements have a
forecast, too.

If a cost model predicts the times of kernels (graph.foretelling), all of this is about the residuals of the log times
after subtracting a line in the predicted log costs. Its slope is that of a ridge regression over the measured kernels,
with the prior 1 (times are proportional to costs), which weighs as much as TRUSTED kernels whose predictions are a
factor of e from the mean; it is never negative.
Kernels without a prediction have the mean of such kernels in place of the line.

Failed walks are not used, because it is unknown which of their kernels failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes, Key
from explorer.belief import LEAST_MS, TRUSTED, slope
from explorer.gaussian_process import GaussianProcess, Pairs, Posterior, coordinates
from graph.foretelling import Foresee
from graph.space import Option
from graph.walk import Walk

Kernel: TypeAlias = tuple[str, ...]
"""The statements of a kernel; they are the subject of its decisions."""

Instance: TypeAlias = tuple[Kernel, tuple[tuple[int, float], ...]]
"""A kernel with (column, value) of all decisions that concern it."""

ITSELF: Kernel = ("this kernel",)
"""Replaces the subject of a kernel's own decisions, so that kernels of different statements share attributes."""

MOST_INSTANCES = 500
"""The model uses at most so many kernels, the latest ones: its time grows with their third power."""

FEWEST = 5
"""There is a forecast from this number of successful walks on."""


@dataclass(slots=True)
class KernelForecaster:
    """Learns from walks and their kernels' times, also which decisions are about kernels."""

    attributes: Attributes = field(default_factory=Attributes)
    _process: GaussianProcess = field(default_factory=GaussianProcess)
    _walks: list[Walk] = field(default_factory=list)
    _times: list[Mapping[Kernel, float]] = field(default_factory=list)  # log ms; empty for a failure
    _instances: dict[int, tuple[Instance, ...]] = field(default_factory=dict)  # by walk, in the order of its times
    _same: dict[Instance, Instance] = field(default_factory=dict)  # equal instances share one object
    _kernels_own: set[str] = field(default_factory=set)  # names of decisions whose subject was a kernel
    _shared: set[str] = field(default_factory=set)  # names of decisions with other subjects
    _apart: bool = True  # whether each kernel's decisions could be told, up to walk number `_looked_at`
    _looked_at: int = 0
    _successes: int = 0
    _most: int = 0

    def learn(self, walk: Walk, times: Mapping[Kernel, float]) -> None:
        """Add a walk and the times of its kernels in ms (empty: it failed, or the times are unknown)."""
        self._walks.append(walk)
        self._times.append({kernel: float(np.log(max(ms, LEAST_MS))) for kernel, ms in times.items()})
        before = len(self._shared), len(self._kernels_own)
        if times:
            for choice in (*walk.settled, *walk.choices):
                (self._kernels_own if choice.decision.subject in times else self._shared).add(choice.decision.name)
            self._successes += 1
            self._most = max(self._most, len(times))
        if before != (len(self._shared), len(self._kernels_own)):
            self._instances.clear()  # kernels and columns of all that was learned have changed
            self._looked_at = 0

    def forecast(self, known: Sequence[int], candidates: Sequence[Walk], best: float,
                 foretell: Foresee | None = None) -> KernelForecast | None:
        """Return the forecast for `candidates`, given the walks with the numbers `known`.

        `best`: log ms of the best walk. `foretell`: predicts the costs of kernels. None if the model of kernels is not
        usable: there are too few successes, all programs have a single kernel, or the decisions do not determine the
        kernels of each walk.
        """
        if self._successes < FEWEST or self._most < 2 or not self._can_tell():
            return None
        instances, times = self._data(known)
        wanted = [self._instances_of(walk, self._kernels_of(walk)) for walk in candidates]
        if not all(wanted):
            return None
        asked: dict[Instance, int] = {}
        groups = [[asked.setdefault(instance, len(asked)) for instance in one] for one in wanted]
        table = self.attributes.table_of([values for _, values in (*instances, *asked)])
        points = coordinates(self.attributes, table)
        seen = [(self._walks[number], self._instances[number]) for number in known]
        costs = _predicted(foretell, [*seen, *zip(candidates, wanted, strict=True)]) if foretell else {}
        trend = _trend([costs.get(instance) for instance in (*instances, *asked)], times)
        rest = times - trend[: len(instances)]
        means = _means([kernel for kernel, _ in instances], rest)
        around = rest - np.array([means[kernel] for kernel, _ in instances])
        deviation = float(around.std()) or 1.0
        self._process.fit(points.part(slice(0, len(instances))), around / deviation, len(self.attributes.columns))
        posterior = self._process.posterior(points.part(slice(len(instances), None)))
        overall = float(rest.mean())
        expected = trend[len(instances):] + np.array([means.get(kernel, overall) for kernel, _ in asked])
        return _summed(posterior, expected + deviation * posterior.mean, deviation, groups, best)

    def _can_tell(self) -> bool:
        """Return whether every kernel that ran had decisions of its own. Once false, it stays false."""
        for walk, times in zip(self._walks[self._looked_at :], self._times[self._looked_at :], strict=True):
            self._apart &= set(times) <= set(self._kernels_of(walk))
        self._looked_at = len(self._walks)
        return self._apart

    def _data(self, known: Sequence[int]) -> tuple[list[Instance], Array]:
        """Return the latest instances among the walks `known`, and the mean log ms of each."""
        before = self._instances
        self._instances = {number: before.get(number) or self._learned(number) for number in known}
        found: dict[int, tuple[Instance, list[float]]] = {}  # by identity, which takes no time to hash
        for number in known:
            for instance, ms in zip(self._instances[number], self._times[number].values(), strict=True):
                if (met := found.get(id(instance))) is None:
                    found[id(instance)] = instance, [ms]
                else:
                    met[1].append(ms)
        if len(self._same) > 2 * len(found) + MOST_INSTANCES:
            self._same = {instance: instance for instance, _ in found.values()}
        latest = list(found.values())[-MOST_INSTANCES:]
        return [instance for instance, _ in latest], np.array([_mean(times) for _, times in latest])

    def _learned(self, number: int) -> tuple[Instance, ...]:
        instances = self._instances_of(self._walks[number], list(self._times[number]))
        return tuple(self._same.setdefault(instance, instance) for instance in instances)

    def _kernels_of(self, walk: Walk) -> list[Kernel]:
        own = self._kernels_own - self._shared
        return list(dict.fromkeys(choice.decision.subject for choice in (*walk.settled, *walk.choices)
                                  if choice.decision.name in own))

    def _instances_of(self, walk: Walk, kernels: Sequence[Kernel]) -> tuple[Instance, ...]:
        answers: dict[Kernel, list[tuple[int, str, Option]]] = {}  # by subject, with their places
        for place, choice in enumerate((*walk.settled, *walk.choices)):
            decision = choice.decision
            answers.setdefault(decision.subject, []).append((place, decision.name, choice.option))
        return tuple((kernel, tuple(sorted(self._row(answers, kernel).items()))) for kernel in kernels)

    def _row(self, answers: Mapping[Kernel, Sequence[tuple[int, str, Option]]], kernel: Kernel) -> dict[int, float]:
        """Return the values of a kernel: its own decisions with the subject ITSELF, those about a part of its
        statements, and an attribute per statement."""
        inside, shared = set(kernel), self._shared
        concerned: list[tuple[Key, Option]] = [(("statement", (statement,)), True) for statement in kernel]
        found = [(place, (name, ITSELF if subject == kernel and name not in shared else subject), option)
                 for subject in answers if inside.issuperset(subject) for place, name, option in answers[subject]]
        found.sort(key=itemgetter(0))
        concerned += [(key, option) for _, key, option in found]
        return self.attributes.values(concerned)


@dataclass(slots=True)
class KernelForecast:
    """Means and deviations of walks, computed from those of their kernels; see explorer.screening.Forecast.

    Pair p consists of two kernels (points of the posterior) of walk `_walk[p]`; their covariance times `_weight[p]` is
    a term of the walk's variance.
    """

    mean: Array
    best: float
    _posterior: Posterior
    _unit: float
    _groups: Sequence[Sequence[int]]
    _walk: NDArray[np.intp]
    _pairs: Pairs
    _weight: Array

    def deviation(self) -> Array:
        """Return the standard deviation of each walk's log ms."""
        terms = self._weight * self._posterior.covariances(self._pairs)
        variances = np.bincount(self._walk, terms, minlength=self.mean.size)
        return np.asarray(self._unit * np.sqrt(np.maximum(variances, 1e-9)))

    def measure(self, candidate: int) -> None:
        """Reduce the uncertainty as a measurement of this walk's kernels will."""
        for point in self._groups[candidate]:
            self._posterior.measure(point)


def _summed(posterior: Posterior, expected: Array, unit: float, groups: Sequence[Sequence[int]],
            best: float) -> KernelForecast:
    """Return the forecast of walks, as sums of kernels with the expected log times `expected`."""
    totals = np.array([np.exp(expected[group]).sum() for group in groups])
    sizes = np.array([len(group) for group in groups])
    walk = np.repeat(np.arange(sizes.size), sizes**2)
    first = np.array([one for group in groups for one in group for _ in group], dtype=np.intp)
    second = np.array([one for group in groups for _ in group for one in group], dtype=np.intp)
    weight = np.exp(expected[first] + expected[second]) / np.square(totals)[walk]
    return KernelForecast(np.log(totals), best, posterior, unit, groups, walk, posterior.pairs(first, second), weight)


def _predicted(foretell: Foresee, walks: Iterable[tuple[Walk, Sequence[Instance]]]) -> dict[Instance, float]:
    """Return the predicted log costs of the kernels of all these walks, as far as the model can predict them."""
    costs: dict[Instance, float] = {}
    for walk, instances in walks:
        foreseen = foretell(walk.plan).kernels
        costs |= {one: foreseen[one[0]] for one in instances if one[0] in foreseen}
    return costs


def _trend(predictions: Sequence[float | None], times: Array) -> Array:
    """Return the line through the predicted log costs, for all kernels. The first kernels are measured: `times`."""
    costs = np.array([np.nan if cost is None else cost for cost in predictions])
    known = np.isfinite(costs[: times.size])
    if not known.any():
        return np.full(costs.size, times.mean())
    middle, level = costs[: times.size][known].mean(), times[known].mean()
    away, above = costs[: times.size][known] - middle, times[known] - level
    rise = slope(away, above, 1.0, TRUSTED)  # costs that hardly differ say nothing of the slope
    other = times.mean() if known.all() else times[~known].mean()
    return np.asarray(np.where(np.isfinite(costs), level + rise * (costs - middle), other))


def _mean(values: Sequence[float]) -> float:
    """Return the mean; fast for a single value, because most kernels were measured once."""
    return values[0] if len(values) == 1 else float(np.mean(values))


def _means(kernels: Sequence[Kernel], times: Array) -> dict[Kernel, float]:
    """Return the mean of each kernel's times, with one more observation at the mean of all kernels."""
    overall = float(times.mean())
    sums: dict[Kernel, float] = {}
    counts: dict[Kernel, int] = {}
    for kernel, time in zip(kernels, times, strict=True):
        sums[kernel] = sums.get(kernel, overall) + float(time)
        counts[kernel] = counts.get(kernel, 1) + 1
    return {kernel: sums[kernel] / counts[kernel] for kernel in sums}
