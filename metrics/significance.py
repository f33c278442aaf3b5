"""Tests whether one search finds faster plans than another: for few samples, without assuming a distribution.

The rank-sum test of Mann and Whitney (On a test of whether one of two random variables is stochastically larger than
the other, Annals of Mathematical Statistics 18, 1947) tests whether two groups of samples have the same distribution.
Holm's procedure corrects for several tests (A simple sequentially rejective multiple test procedure, Scandinavian
Journal of Statistics 6, 1979). Vargha and Delaney's A is the effect size (A critique and improvement of the CL common
language effect size statistics, Journal of Educational and Behavioral Statistics 25, 2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MOST_DEALS = 200_000
"""Up to this number of partitions of the samples into two groups, the test is exact; beyond, it is the normal
approximation."""


def superiority(one: Sequence[float], two: Sequence[float]) -> float:
    """Return Vargha and Delaney's A: the probability that a sample of `one` is smaller than a sample of `two`.

    Ties count half: 0.5 = no difference, 1 = always smaller. Raises ValueError if a group is empty.
    """
    if not one or not two:
        raise ValueError("a group without samples cannot be compared")
    wins = sum((a < b) + 0.5 * (a == b) for a in one for b in two)
    return wins / (len(one) * len(two))


def rank_sum_p(one: Sequence[float], two: Sequence[float]) -> float:
    """Return the two-sided p-value of the Mann-Whitney test: exact, also with ties, for up to MOST_DEALS partitions.

    Samples may be infinite. Raises ValueError if a group is empty.
    """
    if not one or not two:
        raise ValueError("a group without samples cannot be compared")
    ranks = _ranks([*one, *two])
    centre = len(one) * (len(ranks) + 1) / 2
    apart = abs(float(ranks[: len(one)].sum()) - centre)
    if math.comb(len(ranks), len(one)) > MOST_DEALS:
        return _normal_p(ranks, len(one), apart)
    deals = np.fromiter((index for deal in combinations(range(len(ranks)), len(one)) for index in deal), np.intp)
    sums = ranks[deals.reshape(-1, len(one))].sum(axis=1)
    return float(np.mean(np.abs(sums - centre) >= apart - 1e-9))


def least_p(one: int, two: int) -> float:
    """Return the smallest possible p-value for groups of these sizes (all of one group below all of the other)."""
    return min(1.0, 2 / math.comb(one + two, one))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for multiple tests, in the given order: significant at 5 % if below 0.05."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _ranks(samples: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks from 1; equal samples get the mean of their ranks."""
    values = np.asarray(samples, float)
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return np.asarray(below + (equal + 1) / 2, np.float64)


def _normal_p(ranks: NDArray[np.float64], size: int, apart: float) -> float:
    """Return the p-value of the normal approximation, with the variance of these ranks (smaller with ties)."""
    total = len(ranks)
    variance = size * (total - size) / (total - 1) * float(np.var(ranks))
    if variance == 0:
        return 1.0
    return 2 * NormalDist().cdf(-max(apart - 0.5, 0.0) / math.sqrt(variance))
