"""Training: relative throughput as in the paper, with the logarithms of times in addition, by Adam.

A batch is the plans of one pipeline. Its *shift* is 0.9 times the mean of ln(predicted / measured) over its plans: an
error that is common to all of them, of the machine or the model, does not affect the choice of a plan. With p and r the
predicted (less the shift) and the measured time over that of the fastest plan of the batch, the loss is

    0.2 * mean of (1 / p - 1 / r)^2 + 0.3 * mean of (ln p - ln r)^2 over the plans, + mean of (ln p_k - ln t_k)^2 over
    all kernels that take long enough, with the same shift

The paper has only the first part, without a shift; antune also uses the times of kernels, where they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.costs.learned.network import FIXED, Kinds, Weights, backward, forward, untrained

Array = NDArray[np.float64]
THROUGHPUT, LOGARITHM, KERNELS, SHIFTED = 0.2, 0.3, 1.0, 0.9
RATE, BETAS, EPSILON = 3e-3, (0.9, 0.999), 1e-5
STEEPEST = 1.0
"""The limit of a gradient's length: without it, a few pipelines with odd plans undo what the others taught."""
CONTINUED = 1e-3
"""The rate for training a trained model on a few more plans: it should not forget the others."""
LEAST_MS = 1e-3
"""Times of shorter kernels are mostly noise."""
LEAST_PREDICTED_MS = 1e-9
"""Predictions have logarithms."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Measured plans of a pipeline. Rows are stages: `features`, `terms`; `kind` (of the rows of `counts`) and `kernel`
    of each row, `plan` of each kernel; milliseconds of kernels and plans.
    """

    name: str
    counts: Array
    kind: Kinds
    features: Array
    terms: Array
    kernel: NDArray[np.intp]
    plan: NDArray[np.intp]
    kernel_ms: Array
    plan_ms: Array

    def by_kernel(self, rows: Array) -> Array:
        """Return the sums over the rows of each kernel."""
        found: Array = np.bincount(self.kernel, rows, len(self.kernel_ms)).astype(float)
        return found

    def by_plan(self, kernels: Array) -> Array:
        """Return the sums over the kernels of each plan."""
        found: Array = np.bincount(self.plan, kernels, len(self.plan_ms)).astype(float)
        return found


def predicted_kernels(weights: Weights, batch: Batch) -> Array:
    """Return milliseconds of the kernels of a batch."""
    made = forward(weights, batch.counts, batch.kind, batch.features)
    return np.maximum(batch.by_kernel((made.coefficients * batch.terms).sum(axis=1)), LEAST_PREDICTED_MS)


def predicted(weights: Weights, batch: Batch) -> Array:
    """Return milliseconds of the plans of a batch."""
    return batch.by_plan(predicted_kernels(weights, batch))


def loss(weights: Weights, batch: Batch) -> tuple[float, Weights]:
    """Return the loss of a batch, and its gradient."""
    made = forward(weights, batch.counts, batch.kind, batch.features)
    kernels = np.maximum(batch.by_kernel((made.coefficients * batch.terms).sum(axis=1)), LEAST_PREDICTED_MS)
    plans, count = batch.by_plan(kernels), len(batch.plan_ms)
    ratio = np.log(plans / batch.plan_ms)
    shift = SHIFTED * float(ratio.mean())
    best = batch.plan_ms.min()
    p, r = plans * np.exp(-shift) / best, batch.plan_ms / best
    apart, off = 1.0 / p - 1.0 / r, ratio - shift
    long = batch.kernel_ms >= LEAST_MS
    each = np.where(long, np.log(kernels / np.where(long, batch.kernel_ms, 1.0)) - shift, 0.0)
    value = (float((THROUGHPUT * apart**2 + LOGARITHM * off**2).sum()) / count
             + KERNELS * float((each**2).sum()) / len(kernels))
    by_plan = 2.0 * (LOGARITHM * off - THROUGHPUT * apart / p) / count  # by the logarithm of a plan's time
    by_kernel = 2.0 * KERNELS * each / len(kernels)
    by_plan -= SHIFTED * (by_plan.sum() + by_kernel.sum()) / count
    slope = (by_plan / plans)[batch.plan] + by_kernel / kernels
    return value, backward(weights, made, slope[batch.kernel][:, None] * batch.terms)


def limited(slope: Weights) -> Weights:
    """Return a gradient of the same direction whose length is at most STEEPEST (Pascanu et al. 2013)."""
    length = float(np.sqrt(sum(float((one**2).sum()) for one in slope.values())))
    return slope if length <= STEEPEST else {name: one * (STEEPEST / length) for name, one in slope.items()}


def constants(batches: Sequence[Batch]) -> Array:
    """Return the constant coefficients, none negative, that fit the times of kernels best, relative to each.

    Coefficients of 0 are replaced by small ones, so that the network may raise them.
    """
    from scipy.optimize import nnls  # half of the time that importing models took; users of a model do not need it

    rows, wanted = [], []
    for batch in batches:
        sums = np.stack([batch.by_kernel(batch.terms[:, k]) for k in range(batch.terms.shape[1])], axis=1)
        long = batch.kernel_ms >= LEAST_MS
        rows.append(sums[long] / batch.kernel_ms[long][:, None])
        wanted.append(np.ones(int(long.sum())))
    table = np.concatenate(rows)
    size = np.maximum(np.sqrt((table**2).mean(axis=0)), 1e-30)
    found, _ = nnls(table / size, np.concatenate(wanted))
    small: Array = np.where(size > 1e-29, np.maximum(found, 1e-3) / size, 0.0)
    return small


def train(batches: Sequence[Batch], epochs: int, rng: np.random.Generator, start: Weights | None = None,
          tell: Callable[[int, float], None] = lambda _epoch, _loss: None,
          judged: Callable[[Weights], float] | None = None, rate: float = RATE) -> Weights:
    """Return the weights after up to `epochs` over all batches, from `start` (None: untrained), initially with `rate`.

    `judged` rates weights, lower is better: those of the best epoch are returned (without it, of the last). `tell` gets
    the number of an epoch and the mean loss.
    """
    every = np.concatenate([batch.features for batch in batches])
    weights = dict(start) if start is not None else untrained(every, constants(batches), rng)
    adam = _Adam({name: value for name, value in weights.items() if name not in FIXED})
    best, least = dict(weights), np.inf if judged is None else judged(weights)
    for epoch in range(epochs):
        total = 0.0
        for place in rng.permutation(len(batches)):
            value, slope = loss(weights, batches[place])
            weights |= adam.stepped(weights, limited(slope), rate * (1.0 - 0.9 * epoch / epochs))
            total += value
        if judged is not None and (rating := judged(weights)) < least:
            best, least = dict(weights), rating
        tell(epoch, total / len(batches))
    return weights if judged is None else best


class _Adam:
    """The method of Kingma & Ba 2015."""

    def __init__(self, weights: Weights) -> None:
        self._first = {name: np.zeros_like(value) for name, value in weights.items()}
        self._second = {name: np.zeros_like(value) for name, value in weights.items()}
        self._steps = 0

    def stepped(self, weights: Weights, slope: Weights, rate: float) -> Weights:
        """Return the weights after a step down the slope."""
        self._steps += 1
        return {name: weights[name] - rate * step for name, step in self._directions(slope)}

    def _directions(self, slope: Weights) -> Iterator[tuple[str, Array]]:
        first, second = BETAS
        for name, value in slope.items():
            self._first[name] = first * self._first[name] + (1.0 - first) * value
            self._second[name] = second * self._second[name] + (1.0 - second) * value**2
            mean = self._first[name] / (1.0 - first**self._steps)
            square = self._second[name] / (1.0 - second**self._steps)
            yield name, mean / (np.sqrt(square) + EPSILON)
