"""Rank correlation and regret, by hand and against scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.costs.agreement import rank_correlation, regret


def test_the_right_order_is_1_and_the_opposite_is_minus_1() -> None:
    assert rank_correlation([1, 5, 9], [0.1, 0.2, 7.0]) == pytest.approx(1.0)
    assert rank_correlation([1, 5, 9], [7.0, 0.2, 0.1]) == pytest.approx(-1.0)
    assert rank_correlation([1, 1, 1], [7.0, 0.2, 0.1]) == 0.0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=20))
def test_ties_count_as_in_scipy(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import spearmanr

    a, b = zip(*pairs, strict=True)
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert rank_correlation(a, b) == pytest.approx(float(spearmanr(a, b).statistic))


def test_regret_is_the_time_of_the_models_best_over_the_best_time() -> None:
    assert regret([3, 1, 2], [5.0, 6.0, 4.0]) == 1.5
    assert regret([3, 1, 1], [5.0, 6.0, 4.0]) == 1.5, "the model cannot tell 6 from 4"
    assert regret([1, 2], [5.0, 6.0]) == 1.0


def test_too_few_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="two or more"):
        rank_correlation([1], [1])
    with pytest.raises(ValueError, match="as many"):
        regret([], [])
