"""Rank-sum test, effect size and correction, against scipy and by their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from metrics.significance import holm, least_p, rank_sum_p, superiority

FEW = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=5)


@settings(max_examples=40)
@given(FEW, FEW)
def test_exact_test_with_ties_equals_the_permutation_test_of_scipy(one: list[float], two: list[float]) -> None:
    from scipy.stats import permutation_test

    def statistic(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        wins = sum((x < y) + 0.5 * (x == y) for x in a for y in b)
        return abs(float(wins) - len(a) * len(b) / 2)

    known = permutation_test((one, two), statistic, n_resamples=np.inf, alternative="greater", vectorized=False)
    assert rank_sum_p(one, two) == pytest.approx(known.pvalue)


@pytest.mark.parametrize("sizes", [(4, 4), (10, 10), (30, 25)])
def test_p_values_without_ties_are_those_of_scipy(sizes: tuple[int, int]) -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(7)
    for shift in (0.0, 0.5, 1.5):
        one, two = rng.normal(size=sizes[0]), rng.normal(shift, size=sizes[1])
        exact = "exact" if math.comb(sum(sizes), sizes[0]) <= 200_000 else "asymptotic"
        assert rank_sum_p(one.tolist(), two.tolist()) == pytest.approx(
            mannwhitneyu(one, two, method=exact).pvalue, rel=1e-6
        )


def test_a_true_null_is_rejected_as_often_as_promised() -> None:
    rng = np.random.default_rng(3)
    rejected = sum(rank_sum_p(rng.normal(size=6).tolist(), rng.normal(size=6).tolist()) < 0.05 for _ in range(1000))
    assert 20 <= rejected <= 60  # the exact test cannot reach 5 % exactly


def test_effect_size_and_smallest_p() -> None:
    assert superiority([1, 2], [3, 4]) == 1
    assert superiority([1, 2], [1, 2]) == 0.5
    assert superiority([math.inf], [1.0]) == 0
    assert least_p(3, 3) == pytest.approx(0.1) == pytest.approx(rank_sum_p([1, 2, 3], [4, 5, 6]))
    assert rank_sum_p([1.0] * 40, [1.0] * 40) == 1


def test_holm_corrects_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0] and holm([]) == []


@pytest.mark.parametrize("test", [superiority, rank_sum_p])
def test_empty_groups_are_refused(test: object) -> None:
    with pytest.raises(ValueError, match="without samples"):
        test([], [1.0])  # type: ignore[operator]  # both are functions of two groups
