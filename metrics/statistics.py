"""Statistics of repeated measurements: pure functions over samples, no assumption of a normal distribution.

Times on a computer are skewed and have outliers, so the centre is the median and its uncertainty is the
distribution-free order-statistic interval (W. J. Conover, Practical Nonparametric Statistics, 3rd ed. 1999,
section 3.2; recommended for run times by T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015, rule 8).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval `low <= x <= high`, in the unit of the samples."""

    low: float
    high: float

    def relative_half_width(self, centre: float) -> float:
        """Half the width as a share of `centre` (infinite for a centre of 0 and a width above 0)."""
        half = (self.high - self.low) / 2
        if half == 0:
            return 0.0
        return half / abs(centre) if centre else math.inf


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the two middle ones. Raises ValueError when there is none."""
    if not samples:
        raise ValueError("no samples: the median is not defined")
    ordered = sorted(samples)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return ordered[middle - 1] + (ordered[middle] - ordered[middle - 1]) / 2


def interval_ranks(count: int, level: float = 0.95) -> tuple[int, int]:
    """The ranks (from 1) of the order statistics that enclose the median with probability >= `level`.

    The number of samples below the median is binomial(count, 1/2): the lower rank is the greatest k with
    P(B < k) <= (1 - level) / 2, the upper one its mirror image. For fewer than six samples no pair reaches 95 %;
    then the answer is the whole range (1, count), which covers the median with probability 1 - 2^(1 - count).
    """
    if count < 1:
        raise ValueError(f"an interval needs at least one sample, not {count}")
    tail, below, rank = (1 - level) / 2, 0, 0
    while rank < count // 2:
        below += math.comb(count, rank)
        if below > tail * 2**count:
            break
        rank += 1
    rank = max(rank, 1)
    return rank, count + 1 - rank


def median_interval(samples: Sequence[float], level: float = 0.95) -> Interval:
    """The order-statistic interval of the median (see `interval_ranks`)."""
    low, high = interval_ranks(len(samples), level)
    ordered = sorted(samples)
    return Interval(ordered[low - 1], ordered[high - 1])


def geometric_mean(values: Iterable[float]) -> float:
    """The n-th root of the product, through logarithms so that nothing overflows.

    Raises:
        ValueError: there is no value, or one is not positive.
    """
    logs = []
    for value in values:
        if not value > 0:
            raise ValueError(f"the geometric mean needs positive values, not {value}")
        logs.append(math.log(value))
    if not logs:
        raise ValueError("no values: the geometric mean is not defined")
    return math.exp(math.fsum(logs) / len(logs))
