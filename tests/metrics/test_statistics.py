"""Statistics against numpy and brute force."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics import (
    Interval,
    geometric_mean,
    inefficiency,
    interval_ranks,
    median,
    median_interval,
    series_interval,
)

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


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.sampled_from([median_interval, series_interval]))
def test_the_interval_holds_the_median(samples: list[float], interval_of: Callable[[list[float]], Interval]) -> None:
    interval = interval_of(samples)
    assert min(samples) <= interval.low <= median(samples) <= interval.high <= max(samples)


def series(count: int, resemblance: float, rng: np.random.Generator) -> list[float]:
    """Skewed times around a true median of 1 that resemble their neighbours: exp of an AR(1) process."""
    level = [rng.standard_normal()]
    for _ in range(count - 1):
        level.append(resemblance * level[-1] + math.sqrt(1 - resemblance**2) * rng.standard_normal())
    return [math.exp(0.1 * value) for value in level]


def coverage(interval_of: Callable[[list[float]], Interval], count: int, resemblance: float) -> float:
    rng = np.random.default_rng(3)
    intervals = [interval_of(series(count, resemblance, rng)) for _ in range(400)]
    return sum(interval.low <= 1 <= interval.high for interval in intervals) / len(intervals)


@pytest.mark.parametrize("count", [10, 50, 200])
def test_the_interval_of_a_series_is_that_of_independent_samples_if_they_are(count: int) -> None:
    assert 0.94 < coverage(series_interval, count, 0.0) < 0.995


@pytest.mark.parametrize(("count", "resemblance", "least"), [(50, 0.5, 0.92), (200, 0.5, 0.93), (200, 0.8, 0.89)])
def test_neighbours_that_are_alike_make_the_interval_wider(count: int, resemblance: float, least: float) -> None:
    assert coverage(median_interval, count, resemblance) < 0.87
    assert coverage(series_interval, count, resemblance) > least


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_the_interval_of_a_series_is_never_the_narrower_one(samples: list[float]) -> None:
    assert 1 <= inefficiency(samples) <= len(samples)
    plain, careful = median_interval(samples), series_interval(samples)
    assert careful.low <= plain.low and plain.high <= careful.high


def test_how_many_samples_tell_as_much_as_one() -> None:
    rng = np.random.default_rng(5)
    assert inefficiency(rng.exponential(size=2000).tolist()) < 1.3
    blocks = np.repeat(rng.exponential(size=100), 20)  # twenty equal ones in a row are one
    assert 10 < inefficiency(blocks.tolist()) < 30
    assert inefficiency([1.0] * 30) == 1


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
