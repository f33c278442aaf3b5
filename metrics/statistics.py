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
from statistics import NormalDist

_LEVEL = 0.95
"""The confidence of intervals."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval `low <= x <= high`, in the unit of the samples."""

    low: float
    high: float

    def relative_half_width(self, centre: float) -> float:
        """Return half the width divided by |centre| (infinite for a centre of 0 and a width above 0)."""
        half = (self.high - self.low) / 2
        if half == 0:
            return 0.0
        return half / abs(centre) if centre else math.inf


def median(samples: Sequence[float]) -> float:
    """Return the middle sample, or the mean of the two middle ones. Raises ValueError without samples."""
    if not samples:
        raise ValueError("no samples: the median is not defined")
    ordered = sorted(samples)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return ordered[middle - 1] + (ordered[middle] - ordered[middle - 1]) / 2


def quantile(samples: Sequence[float], share: float) -> float:
    """Return the smallest sample x with at least `share` (0 to 1) of all samples <= x. ValueError without any."""
    if not samples:
        raise ValueError("no samples: the quantile is not defined")
    rank = math.ceil(share * len(samples))
    return sorted(samples)[max(rank, 1) - 1]


def interval_ranks(count: int) -> tuple[int, int]:
    """Return the ranks (from 1) of the order statistics that enclose the median with a probability of 95 % or more.

    The number of samples below the median is binomial(count, 1/2): the lower rank is the greatest k with
    P(B < k) <= 2.5 %, the upper one its mirror image. For fewer than six samples no pair reaches 95 %;
    then the answer is the whole range (1, count), which covers the median with probability 1 - 2^(1 - count).
    """
    if count < 1:
        raise ValueError(f"an interval needs at least one sample, not {count}")
    tail, below, rank = (1 - _LEVEL) / 2, 0, 0
    while rank < count // 2:
        below += math.comb(count, rank)
        if below > tail * 2**count:
            break
        rank += 1
    rank = max(rank, 1)
    return rank, count + 1 - rank


def median_interval(samples: Sequence[float]) -> Interval:
    """Return the order-statistic interval of the median (see `interval_ranks`)."""
    low, high = interval_ranks(len(samples))
    ordered = sorted(samples)
    return Interval(ordered[low - 1], ordered[high - 1])


def inefficiency(samples: Sequence[float]) -> float:
    """Return how many consecutive samples have the information of one independent sample about the median: 1 or more.

    Consecutive samples are correlated if the machine is busy for a while. The variance of their median is that
    of independent samples times 1 + 2 (r_1 + r_2 + ...), where r_k is the correlation at lag k of the series "is the
    sample above the median" (P. Heidelberger and P. A. W. Lewis, Quantile Estimation in Dependent Sequences, Operations
    Research 32(1), 1984). The sum ends before the first pair r_2k + r_2k+1 that is not positive (C. J. Geyer, Practical
    Markov Chain Monte Carlo, Statistical Science 7(4), 1992), and at half the length of the series.
    """
    middle = median(samples)
    signs = [int(sample > middle) - int(sample < middle) for sample in samples]
    power = sum(sign * sign for sign in signs)
    total, lag = -1.0, 0
    while power and lag + 1 < max(len(signs) // 2, 1):
        pair = sum(signs[i] * signs[i + k] for k in (lag, lag + 1) for i in range(len(signs) - k)) / power
        if pair <= 0:
            break
        total, lag = total + 2 * pair, lag + 2
    return min(max(total, 1.0), float(len(signs)))


def series_interval(samples: Sequence[float]) -> Interval:
    """Return the interval of the median from samples in the order of measurement, which may be correlated.

    Equals `median_interval` if they are not. Otherwise the share of samples below the median is assumed to be normal,
    with the variance of fewer independent samples (see `inefficiency`), and the interval is never narrower than that of
    independent ones. Drift that is slower than the whole measurement is not detected.
    """
    count, factor = len(samples), inefficiency(samples)
    low, _ = interval_ranks(count)
    if factor > 1:
        spread = NormalDist().inv_cdf((1 + _LEVEL) / 2) / 2 * math.sqrt(factor / count)
        low = max(min(low, math.floor(count * (0.5 - spread))), 1)
    ordered = sorted(samples)
    return Interval(ordered[low - 1], ordered[count - low])


def geometric_mean(values: Iterable[float]) -> float:
    """Return the n-th root of the product, through logarithms to avoid overflows.

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
