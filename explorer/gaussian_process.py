"""A Gaussian process over walks: what a walk will cost, and how sure that is.

Rasmussen & Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2 and 5. The kernel is the product of
Laplace kernels over the attributes, k(x, y) = exp(-sum_d w_d |x_d - y_d|): two walks that differ in one decision of
little weight are nearly the same. Numbers are compared on a logarithmic scale (tile sizes matter by their ratio)
that runs from 0 to 1; two categories, or an attribute that only one of the walks has, are 1 apart.

The weights w_d (one per attribute) and the noise maximise the posterior of the data under log-normal priors.

What few walks need is computed without scipy (`small_algebra.py`), which functions here import themselves: that takes
half a second, which a search that ends before it learns does not spend.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes
from explorer.small_algebra import FEW, blas_for, city_block, solve_triangular

WEIGHTS, WEIGHT_SPREAD = 20.0, 1.0
"""Prior of the weights: median of their sum, and standard deviation of the logarithm of each.

The more attributes there are, the less each can matter, or all walks would be strangers to each other (Hvarfner,
Hellsten & Nardi, "Vanilla Bayesian optimization performs great in high dimensions", 2024, scale by dimension, too).
"""

NOISE, NOISE_SPREAD = 0.01, 1.5
"""Prior of the noise's variance, as a share of the data's."""

MOST_TUNED = 150
"""Walks from which the weights are learned: the cost of that grows with their third power."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Points whose city-block distance is that of the walks; `owner[c]` is the attribute of coordinate c."""

    points: Array
    owner: np.ndarray[tuple[int], np.dtype[np.intp]]

    def weighted(self, weights: Array) -> Array:
        """The points, each coordinate stretched by its attribute's weight."""
        return self.points * weights[self.owner]

    def part(self, rows: slice) -> Coordinates:
        """Some of the points."""
        return Coordinates(self.points[rows], self.owner)


def coordinates(attributes: Attributes, table: Array) -> Coordinates:
    """Put the rows of `table` into a space where they are as far apart as the kernel wants.

    Attributes that are the same in all rows have no part in it.
    """
    points: list[Array] = []
    owner: list[int] = []
    for column, attribute in enumerate(attributes.columns):
        values = table[:, column]
        missing = np.isnan(values)
        if not _varies(values, missing):
            continue
        if attribute.categories is None:
            parts = [np.where(missing, 0.5, _logarithmic(values))]
        else:
            parts = [0.5 * (values == number) for number in range(len(attribute.categories))]
        if missing.any():
            parts.append(0.5 * missing)
        points += parts
        owner += [column] * len(parts)
    return Coordinates(np.column_stack(points) if points else np.zeros((len(table), 0)), np.array(owner, dtype=np.intp))


def _varies(values: Array, missing: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    return not bool(missing.all() or (values == values[0]).all())


def _logarithmic(values: Array) -> Array:
    """From 0 to 1 over the values that occur (at least one does)."""
    least = np.fmin.reduce(values)
    scaled = values if least < 0 else np.log1p(values) if least == 0 else np.log(values)
    low, high = np.fmin.reduce(scaled), np.fmax.reduce(scaled)
    return np.asarray((scaled - low) / (high - low if high > low else 1.0))


class GaussianProcess:
    """Weights and noise, kept from one set of data to the next, and the solution for the last set."""

    def __init__(self) -> None:
        """The prior."""
        self._log_weights = np.zeros(0)
        self._log_noise = float(np.log(NOISE))
        self._tuned_with = 0

    def fit(self, known: Coordinates, targets: Array, attributes: int) -> None:
        """Condition on `targets` (mean 0, deviation 1), tuning the weights when there is a quarter more data."""
        with blas_for(targets.size):
            self._fit(known, targets, attributes)

    def _fit(self, known: Coordinates, targets: Array, attributes: int) -> None:
        varying = max(1, np.unique(known.owner).size)
        grown = np.full(attributes, np.log(WEIGHTS / varying))
        grown[: self._log_weights.size] = self._log_weights
        self._log_weights = grown
        if targets.size > FEW and targets.size >= 1.25 * self._tuned_with:
            self._tune(known, targets)
            self._tuned_with = targets.size
        self.weights, self._noise = np.exp(self._log_weights), float(np.exp(self._log_noise))
        self._known = known.weighted(self.weights)
        matrix = np.exp(-city_block(self._known, self._known))
        np.fill_diagonal(matrix, 1.0 + self._noise)
        self._root = np.linalg.cholesky(matrix)
        whitened = solve_triangular(self._root, targets, lower=True)
        self._scale = float(whitened @ whitened / targets.size) if targets.any() else 1.0
        self._solution = solve_triangular(self._root.T, whitened, lower=False)

    def posterior(self, candidates: Coordinates) -> Posterior:
        """What is known of `candidates`, which have the coordinates of the data."""
        with blas_for(len(self._known)):
            return self._posterior(candidates)

    def _posterior(self, candidates: Coordinates) -> Posterior:
        points = candidates.weighted(self.weights)
        cross = np.exp(-city_block(self._known, points))
        explained = solve_triangular(self._root, cross, lower=True)
        return Posterior(points, cross.T @ self._solution, explained, self._scale, self._noise)

    def _tune(self, known: Coordinates, targets: Array) -> None:
        """Maximise the posterior of weights and noise; the walks beside the best are a regular sample of the rest."""
        from scipy.optimize import minimize

        chosen = np.argsort(targets, kind="stable")
        if chosen.size > MOST_TUNED:
            half = MOST_TUNED // 2
            rest = np.linspace(half, chosen.size - 1, MOST_TUNED - half).astype(np.intp)
            chosen = np.concatenate([chosen[:half], chosen[rest]])
        used, distances = _distances(known.points[chosen], known.owner)
        start = np.append(self._log_weights[used], self._log_noise)
        bounds = [(-5.0, 5.0)] * used.size + [(-9.0, 0.0)]
        found = minimize(
            _misfit,
            start,
            args=(distances, targets[chosen], WEIGHTS / self._log_weights.size),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 15},
        )
        if np.isfinite(found.fun):
            self._log_weights[used], self._log_noise = found.x[:-1], float(found.x[-1])


def _distances(points: Array, owner: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
    """The attributes that are not the same everywhere, and a table of all distances for each: hundreds of them are
    large.
    """
    moves = (points != points[0]).any(axis=0)
    used, place = np.unique(owner[moves], return_inverse=True)
    distances = np.zeros((used.size, len(points), len(points)))
    for coordinate, number in zip(points[:, moves].T, place, strict=True):
        distances[number] += np.abs(coordinate[:, None] - coordinate[None, :])
    return used, distances


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of candidates: each is pair number `number` of those that differ, `first` with `second`.

    `prior` is what the covariance of these was before anything was measured.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    number: NDArray[np.intp]
    prior: Array


@dataclass(slots=True)
class Posterior:
    """Mean and variance of candidates, which can be told that one of them will be measured.

    `explained` has a column per candidate; its squares are what is known of the variance, a row per measurement.
    """

    points: Array
    mean: Array
    explained: Array
    scale: float
    noise: float
    _rows: Array = field(init=False)  # `explained`, with room for more measurements below

    def __post_init__(self) -> None:
        """Columns are contiguous: sums run along them."""
        self._rows = np.asfortranarray(self.explained)

    def deviation(self) -> Array:
        """The standard deviation per candidate, in units of the targets."""
        return np.asarray(np.sqrt(self.scale * _left(np.square(self.explained).sum(axis=0))))

    def pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Pairs:
        """Pairs whose covariances will be asked for. A pair that comes again, either way round, costs nothing."""
        count = len(self.points)
        codes, number = np.unique(np.minimum(first, second) * count + np.maximum(first, second), return_inverse=True)
        one, other = np.divmod(codes, count)
        prior = np.exp(-np.abs(self.points[one] - self.points[other]).sum(axis=1))
        return Pairs(one, other, number, prior)

    def covariance(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
        """The covariance of each pair of candidates, in units of the targets squared."""
        return self.covariances(self.pairs(first, second))

    def covariances(self, pairs: Pairs) -> Array:
        """The covariance of each pair, in units of the targets squared."""
        columns = self.explained.T
        explained = np.einsum("pk,pk->p", columns.take(pairs.first, axis=0), columns.take(pairs.second, axis=0))
        return np.asarray((self.scale * (pairs.prior - explained))[pairs.number])

    def measure(self, candidate: int) -> None:
        """Take the variance that a measurement of `candidate` leaves; the means stay (kriging believer)."""
        column = self.explained[:, candidate]
        shared = np.exp(-city_block(self.points[[candidate]], self.points))[0]
        shared -= column @ self.explained
        self._add(shared / np.sqrt(_left(np.square(column).sum()) + self.noise))

    def _add(self, row: Array) -> None:
        """One more row; room for as many as there are candidates or more is made at once."""
        used = len(self.explained)
        if used == len(self._rows):
            self._rows = np.empty((used + 16 + used // 4, row.size), order="F")
            self._rows[:used] = self.explained
        self._rows[used] = row
        self.explained = self._rows[: used + 1]


def _left(explained: Array) -> Array:
    """The variance that is left of 1."""
    return np.asarray(np.maximum(1e-12, 1.0 - explained))


def _misfit(parameters: Array, distances: Array, targets: Array, prior: float) -> tuple[float, Array]:
    """The negative log posterior, up to a constant, and its gradient; `prior` is the weights' prior median.

    The scale of the kernel takes its most likely value.
    """
    from scipy.linalg import cho_solve

    weights, noise, count = np.exp(parameters[:-1]), np.exp(parameters[-1]), targets.size
    kernel = np.exp(-np.tensordot(weights, distances, axes=1))
    try:
        root = np.linalg.cholesky(kernel + noise * np.eye(count))
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(parameters)
    inverse = cho_solve((root, True), np.eye(count), check_finite=False)
    solution = inverse @ targets
    scale = max(float(targets @ solution) / count, 1e-12)
    slope = 0.5 * (inverse - np.outer(solution, solution) / scale)
    gradient = np.append(-weights * np.tensordot(distances, slope * kernel, axes=2), noise * np.trace(slope))
    strange = (parameters - np.log(np.append(np.full(weights.size, prior), NOISE))) / _spread(weights.size)
    value = 0.5 * count * np.log(scale) + np.log(np.diag(root)).sum() + 0.5 * strange @ strange
    return float(value), np.asarray(gradient + strange / _spread(weights.size))


def _spread(weights: int) -> Array:
    return np.asarray(np.append(np.full(weights, WEIGHT_SPREAD), NOISE_SPREAD))
