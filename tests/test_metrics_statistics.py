"""Statistics against numpy and brute force."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics import Interval, geometric_mean, interval_ranks, median, median_interval

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
POSITIVE = st.floats(1e-6, 1e6)


@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_the_median_is_numpys(samples: list[float]) -> None:
    assert median(samples) == pytest.approx(float(np.median(samples)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("count", range(1, 80))
def test_the_ranks_are_the_tightest_with_the_wanted_coverage(count: int) -> None:
    def coverage(rank: int) -> float:
        """P(x_rank <= median <= x_(count+1-rank)), summed from the binomial distribution."""
        covered = sum(math.comb(count, below) for below in range(rank, count + 1 - rank))
        return float(covered / 2**count)

    low, high = interval_ranks(count)
    assert low + high == count + 1 and low >= 1
    assert coverage(low) >= 0.95 or low == 1
    assert low == count // 2 or low == (count + 1) // 2 or coverage(low + 1) < 0.95


def test_the_ranks_are_those_of_the_tables() -> None:
    assert [interval_ranks(count) for count in (6, 10, 20, 50, 100)] == [(1, 6), (2, 9), (6, 15), (18, 33), (40, 61)]


def test_the_interval_covers_the_true_median_as_often_as_promised() -> None:
    rng = np.random.default_rng(7)
    truth = math.log(2)  # the median of the exponential distribution
    hits = 0
    for _ in range(2000):
        interval = median_interval(rng.exponential(size=15).tolist())
        hits += interval.low <= truth <= interval.high
    assert 0.94 < hits / 2000 < 0.99


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_the_interval_holds_the_median(samples: list[float]) -> None:
    interval = median_interval(samples)
    assert min(samples) <= interval.low <= median(samples) <= interval.high <= max(samples)


def test_the_relative_half_width() -> None:
    assert Interval(9.0, 11.0).relative_half_width(10.0) == pytest.approx(0.1)
    assert Interval(5.0, 5.0).relative_half_width(0.0) == 0.0
    assert Interval(0.0, 1.0).relative_half_width(0.0) == math.inf


@given(st.lists(POSITIVE, min_size=1, max_size=40))
def test_the_geometric_mean(values: list[float]) -> None:
    assert geometric_mean(values) == pytest.approx(statistics.geometric_mean(values), rel=1e-9)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [-1.0], [math.nan]])
def test_the_geometric_mean_refuses_what_it_cannot_do(values: list[float]) -> None:
    with pytest.raises(ValueError, match="geometric mean"):
        geometric_mean(values)


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median([])
    with pytest.raises(ValueError, match="at least one"):
        interval_ranks(0)
