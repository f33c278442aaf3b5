"""Measures how well a model's costs rank plans by their measured times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rank_correlation(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """Return Spearman's rank correlation in [-1, 1]: 1 if the model orders all plans correctly, 0 for random costs.

    Equal values share the mean of their ranks. Raises ValueError for fewer than two plans; returns 0 if all values of
    either sequence are equal.
    """
    if len(predicted) != len(measured) or len(predicted) < 2:
        raise ValueError(f"{len(predicted)} and {len(measured)} plans: two or more, as many of each, are needed")
    a, b = _ranks(predicted), _ranks(measured)
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread else 0.0


def regret(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """Return the time of the model's best plan over that of the fastest plan: 1 is no regret.

    Of plans with equal costs the slowest counts. Raises ValueError if there is none.
    """
    if not predicted or len(predicted) != len(measured):
        raise ValueError(f"{len(predicted)} and {len(measured)} plans: as many of each are needed")
    least = min(predicted)
    return max(ms for cost, ms in zip(predicted, measured, strict=True) if cost == least) / min(measured)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    found = np.array(values, dtype=float)
    _, places, counts = np.unique(found, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: NDArray[np.float64] = last - (counts - 1) / 2
    return means[places]
