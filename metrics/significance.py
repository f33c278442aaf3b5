"""Does one way to search find faster plans than another? Tests on few samples, without assuming a distribution.

The rank-sum test of Mann and Whitney (On a test of whether one of two random variables is stochastically larger than
the other, Annals of Mathematical Statistics 18, 1947) asks whether samples of two groups could have been dealt out at
random. Several questions at a time are corrected for by Holm's procedure (A simple sequentially rejective multiple test
procedure, Scandinavian Journal of Statistics 6, 1979). How large a difference is, says Vargha and Delaney's A (A
critique and improvement of the CL common language effect size statistics, Journal of Educational and Behavioral
Statistics 25, 2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MOST_DEALS = 200_000
"""Up to so many ways to deal the samples out are gone through; beyond, the normal approximation is good."""


def superiority(one: Sequence[float], two: Sequence[float]) -> float:
    """Vargha and Delaney's A for "smaller is better": the chance that a sample of `one` is below a sample of `two`.

    Ties count half: 0.5 = no difference, 1 = always. Raises ValueError when a group is empty.
    """
    if not one or not two:
        raise ValueError("a group without samples cannot be compared")
    wins = sum((a < b) + 0.5 * (a == b) for a in one for b in two)
    return wins / (len(one) * len(two))


def rank_sum_p(one: Sequence[float], two: Sequence[float]) -> float:
    """The two-sided p-value of the Mann-Whitney test, exact (with ties, too) where all deals can be gone through.

    Infinite samples are the slowest. Raises ValueError when a group is empty.
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
    """The smallest p-value that groups of these sizes can have: all of one group below all of the other."""
    return min(1.0, 2 / math.comb(one + two, one))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, corrected for being so many, in the given order: significant at 5 % when still below 0.05."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _ranks(samples: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1; equal samples share the mean of their ranks."""
    values = np.asarray(samples, float)
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return np.asarray(below + (equal + 1) / 2, np.float64)


def _normal_p(ranks: NDArray[np.float64], size: int, apart: float) -> float:
    """By the normal approximation, whose variance is that of dealing out these very ranks (ties make it smaller)."""
    total = len(ranks)
    variance = size * (total - size) / (total - 1) * float(np.var(ranks))
    if variance == 0:
        return 1.0
    return 2 * NormalDist().cdf(-max(apart - 0.5, 0.0) / math.sqrt(variance))
