"""When the repeats of a measurement stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runners.base import Limits
from runners.repeats import judge

LIMITS = Limits(half_width=0.02, min_repeats=5, max_repeats=50, least_s=0.0, time_s=2.0, give_up=3.0)


def repeats_needed(samples: list[float], limits: Limits = LIMITS, best_ms: float | None = None,
                   seconds_each: float = 0.001, first_ms: float | None = None) -> tuple[int, str]:
    for count in range(len(samples) + 1):
        verdict = judge(samples[:count], count * seconds_each, limits, best_ms, first_ms)
        if verdict != "go on":
            return count, verdict
    raise AssertionError("never stopped")


def test_steady_samples_stop_at_the_minimum() -> None:
    assert repeats_needed([1.0] * 50) == (5, "enough")


def test_noisy_samples_go_on_to_the_maximum() -> None:
    noise = list(np.random.default_rng(1).uniform(1, 3, 60))
    assert repeats_needed(noise) == (50, "enough")


def test_time_ends_noisy_samples() -> None:
    noise = list(np.random.default_rng(1).uniform(1, 3, 60))
    assert repeats_needed(noise, seconds_each=0.25) == (8, "enough")


def test_a_slow_variant_stops_after_three() -> None:
    assert repeats_needed([4.0] * 50, best_ms=1.0) == (3, "hopeless")


def test_one_outlier_ends_nothing() -> None:
    count, verdict = repeats_needed([400.0, 400.0] + [1.0] * 48, best_ms=1.0)
    assert verdict == "enough" and count > 5


def test_a_variant_as_good_as_the_best_is_measured_in_full() -> None:
    assert repeats_needed([1.1] * 50, best_ms=1.0) == (5, "enough")


def test_a_few_good_moments_in_a_row_are_not_enough() -> None:
    assert repeats_needed([1.0] * 50, replace(LIMITS, least_s=0.02)) == (20, "enough")


def test_samples_that_resemble_their_neighbours_need_more_repeats() -> None:
    alternating, slow = [1.0, 1.02] * 25, [1.0] * 12 + [1.06] * 12 + [1.0] * 26
    limits = replace(LIMITS, min_repeats=24)
    assert repeats_needed(alternating, limits)[0] == 24
    assert repeats_needed(slow, limits)[0] > 30


def test_a_variant_that_is_surely_slower_is_timed_less_precisely() -> None:
    near, far = ([base + 0.05 * base * (-1) ** n for n in range(50)] for base in (1.1, 1.5))
    assert repeats_needed(near, best_ms=1.0)[0] > 20
    assert repeats_needed(far, best_ms=1.0)[0] < 12
    assert repeats_needed(far)[0] > 20


def test_very_long_runs_need_two_samples() -> None:
    assert repeats_needed([9000.0] * 5, best_ms=1.0, seconds_each=9.0) == (2, "hopeless")


def test_a_long_run_whose_results_were_checked_is_a_witness() -> None:
    assert repeats_needed([900.0] * 5, best_ms=200.0, first_ms=950.0) == (1, "hopeless")


def test_a_short_run_whose_results_were_checked_is_none_since_it_was_cold() -> None:
    assert repeats_needed([9.0] * 5, best_ms=1.0, first_ms=240.0) == (3, "hopeless")


def test_a_checked_run_that_was_not_as_slow_is_none() -> None:
    assert repeats_needed([900.0] * 5, best_ms=200.0, first_ms=590.0) == (3, "hopeless")


def test_a_first_run_that_took_long_ends_nothing_if_the_next_did_not() -> None:
    assert repeats_needed([210.0] * 50, best_ms=200.0, first_ms=1900.0) == (5, "enough")


def test_a_checked_run_of_seconds_and_six_times_the_best_is_the_last() -> None:
    assert repeats_needed([2100.0] * 5, best_ms=300.0, first_ms=2100.0) == (0, "hopeless")
    assert repeats_needed([2100.0] * 5, best_ms=400.0, first_ms=2100.0) == (1, "hopeless")
    assert repeats_needed([2100.0] * 50, best_ms=2000.0, first_ms=2100.0) == (5, "enough")


def test_two_runs_of_seconds_that_agree_are_enough_for_what_is_surely_slower() -> None:
    assert repeats_needed([1700.0] * 5, best_ms=1000.0, first_ms=1800.0) == (1, "hopeless")
    assert repeats_needed([1700.0] * 5, best_ms=1000.0, first_ms=2000.0) == (5, "enough"), "they do not agree"
    assert repeats_needed([1400.0] * 5, best_ms=1000.0, first_ms=1400.0) == (5, "enough"), "it may be nearly as good"
    assert repeats_needed([900.0] * 5, best_ms=500.0, first_ms=900.0) == (5, "enough"), "repeats cost little"
    assert repeats_needed([1700.0] * 5, first_ms=1700.0) == (5, "enough"), "there is no best yet"


@given(st.lists(st.floats(0.001, 1e6), min_size=50, max_size=50), st.none() | st.floats(0.001, 1e6))
def test_it_always_stops_within_the_limits(samples: list[float], best_ms: float | None) -> None:
    count, verdict = repeats_needed(samples, best_ms=best_ms)
    assert count <= LIMITS.max_repeats
    assert verdict == "hopeless" or count >= LIMITS.min_repeats
