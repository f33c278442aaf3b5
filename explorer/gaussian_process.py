"""A Gaussian process over walks: predicts the cost of a walk, with its uncertainty.

Rasmussen & Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2 and 5. The kernel is the product of
Laplace kernels over the attributes, k(x, y) = exp(-sum_d w_d |x_d - y_d|): two walks that differ in one decision of
little weight are nearly the same. Numbers are compared on a logarithmic scale (tile sizes matter by their ratio)
that runs from 0 to 1; two categories, or an attribute that only one of the walks has, are 1 apart.

The weights w_d (one per attribute) and the noise maximise the posterior of the data under log-normal priors.

SciPy takes half a second to import, so functions import it themselves, and few walks are computed without it
(`small_algebra.py`). A search that ends before it learns weights does not pay for the import.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes
from explorer.small_algebra import FEW, blas_for, city_block, solve_triangular

WEIGHTS, WEIGHT_SPREAD = 20.0, 1.0
"""Prior of the weights: median of their sum, and standard deviation of the logarithm of each.

The median of each weight falls with the number of attributes; otherwise, all walks would be uncorrelated (Hvarfner,
Hellsten & Nardi, "Vanilla Bayesian optimization performs great in high dimensions", 2024, scale by dimension, too).
"""

NOISE, NOISE_SPREAD = 0.01, 1.5
"""Prior of the noise: median of its variance relative to the data's, and standard deviation of its logarithm."""

MOST_TUNED = 150
"""Upper limit of the walks from which the weights are learned: the cost grows with their third power."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Points whose city-block distances are those of the walks. `owner[c]`: the attribute of coordinate c."""

    points: Array
    owner: np.ndarray[tuple[int], np.dtype[np.intp]]

    def weighted(self, weights: Array) -> Array:
        """Return the points with each coordinate multiplied by its attribute's weight."""
        return self.points * weights[self.owner]

    def part(self, rows: slice) -> Coordinates:
        """Return some of the points."""
        return Coordinates(self.points[rows], self.owner)


def coordinates(attributes: Attributes, table: Array) -> Coordinates:
    """Return points for the rows of `table` with the distances of the kernel.

    Attributes that are equal in all rows are left out.
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
    """Scale values logarithmically to [0, 1]; at least one must not be NaN. Negative values are scaled linearly."""
    least = np.fmin.reduce(values)
    scaled = values if least < 0 else np.log1p(values) if least == 0 else np.log(values)
    low, high = np.fmin.reduce(scaled), np.fmax.reduce(scaled)
    return np.asarray((scaled - low) / (high - low if high > low else 1.0))


class GaussianProcess:
    """The weights and the noise, kept from one fit to the next, and the solution of the last fit."""

    def __init__(self) -> None:
        """Start with the prior."""
        self._log_weights = np.zeros(0)
        self._log_noise = float(np.log(NOISE))
        self._tuned_with = 0

    def fit(self, known: Coordinates, targets: Array, attributes: int) -> None:
        """Condition on `targets` (mean 0, deviation 1). Tune the weights if there are a quarter more of them."""
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
        """Return the posterior at `candidates`, whose coordinates must be those of the data."""
        with blas_for(len(self._known)):
            return self._posterior(candidates)

    def _posterior(self, candidates: Coordinates) -> Posterior:
        points = candidates.weighted(self.weights)
        cross = np.exp(-city_block(self._known, points))
        explained = solve_triangular(self._root, cross, lower=True)
        return Posterior(points, cross.T @ self._solution, explained, self._scale, self._noise)

    def _tune(self, known: Coordinates, targets: Array) -> None:
        """Maximise the posterior of weights and noise, from the best walks and a regular sample of the others."""
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
    """Return the attributes that vary, and for each the distances of all points, shape (attributes, points, points).

    Attributes that do not vary are left out, because hundreds of these tables are large.
    """
    moves = (points != points[0]).any(axis=0)
    used, place = np.unique(owner[moves], return_inverse=True)
    distances = np.zeros((used.size, len(points), len(points)))
    for coordinate, number in zip(points[:, moves].T, place, strict=True):
        distances[number] += np.abs(coordinate[:, None] - coordinate[None, :])
    return used, distances


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of candidates. Requested pair i is the distinct pair number[i].

    `first`, `second`: the candidates of each distinct pair. `prior`: their correlation before any measurement.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    number: NDArray[np.intp]
    prior: Array


@dataclass(slots=True)
class Posterior:
    """Mean and variance of candidates; `measure` updates the variance for a planned measurement.

    `explained`: a row per measurement and a column per candidate; the squares in a column sum to the explained share of
    the candidate's variance.
    """

    points: Array
    mean: Array
    explained: Array
    scale: float
    noise: float
    _rows: Array = field(init=False)  # `explained`, with room for more measurements below

    def __post_init__(self) -> None:
        """Make columns contiguous, because sums run along them."""
        self._rows = np.asfortranarray(self.explained)

    def deviation(self) -> Array:
        """Return the standard deviation per candidate, in units of the targets."""
        return np.asarray(np.sqrt(self.scale * _left(np.square(self.explained).sum(axis=0))))

    def pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Pairs:
        """Return pairs for `covariances`. Repeated pairs, in either order, are computed once."""
        count = len(self.points)
        codes, number = np.unique(np.minimum(first, second) * count + np.maximum(first, second), return_inverse=True)
        one, other = np.divmod(codes, count)
        prior = np.exp(-np.abs(self.points[one] - self.points[other]).sum(axis=1))
        return Pairs(one, other, number, prior)

    def covariance(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
        """Return the covariance of each pair of candidates, in units of the targets squared."""
        return self.covariances(self.pairs(first, second))

    def covariances(self, pairs: Pairs) -> Array:
        """Return the covariance of each requested pair, in units of the targets squared."""
        columns = self.explained.T
        explained = np.einsum("pk,pk->p", columns.take(pairs.first, axis=0), columns.take(pairs.second, axis=0))
        return np.asarray((self.scale * (pairs.prior - explained))[pairs.number])

    def measure(self, candidate: int) -> None:
        """Reduce the variances as a measurement of `candidate` will; the means do not change (kriging believer)."""
        column = self.explained[:, candidate]
        shared = np.exp(-city_block(self.points[[candidate]], self.points))[0]
        shared -= column @ self.explained
        self._add(shared / np.sqrt(_left(np.square(column).sum()) + self.noise))

    def _add(self, row: Array) -> None:
        """Append a row; allocates room for more rows at a time."""
        used = len(self.explained)
        if used == len(self._rows):
            self._rows = np.empty((used + 16 + used // 4, row.size), order="F")
            self._rows[:used] = self.explained
        self._rows[used] = row
        self.explained = self._rows[: used + 1]


def _left(explained: Array) -> Array:
    """Return the unexplained share of the variance, at least 1e-12."""
    return np.asarray(np.maximum(1e-12, 1.0 - explained))


def _misfit(parameters: Array, distances: Array, targets: Array, prior: float) -> tuple[float, Array]:
    """Return the negative log posterior, up to a constant, and its gradient. `prior`: prior median of each weight.

    The scale of the kernel is set to its most likely value.
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
