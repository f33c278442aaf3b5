"""How far results are apart: integers exactly, as Python counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.distances import around, at_most, distance, near
from generator.rounding import Bounds, differing, from_other_answers, within

KINDS = [f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)]


def pairs_of(kind: str) -> Any:
    """Two integers of that type, near each other or near its ends more often than by chance."""
    limits = np.iinfo(kind)
    ends = st.sampled_from([limits.min, limits.min + 1, limits.max - 1, limits.max, limits.max // 2])
    one = st.integers(limits.min, limits.max) | ends
    return st.tuples(one, one | ends) | one.map(lambda number: (number, min(limits.max, number + 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_integers_are_apart_as_python_counts(kind: str) -> None:
    @given(pairs_of(kind), st.sampled_from([0.0, 1.0, 1.5, 2.0**53, 2.0**63, 2.0**64, np.inf]))
    @settings(max_examples=150, deadline=None)
    def check(numbers: tuple[int, int], allowed: float) -> None:
        one, two = (np.array([number], kind) for number in numbers)
        steps, bits = abs(numbers[0] - numbers[1]), 8 * one.itemsize
        turned = min(steps, 2**bits - steps)
        assert near(one, two, np.array([allowed])) == (steps <= allowed)
        assert around(one, two) == turned
        assert at_most(around(one, two), np.array([allowed])) == (turned <= allowed)
        assert distance(one, two) == float(steps)
        assert within(one, two, np.array([-allowed])) == (turned <= allowed != 0.0)

    check()


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_large_integers_next_to_each_other_differ(kind: str) -> None:
    """Doubles of both are equal."""
    one = np.array([2**62, 2**62], kind)
    two = one + np.array([1, 3], kind)
    assert within(one, two, np.array([1.0, 1.0])).tolist() == [True, False]
    assert within(one, two, np.array([-1.0, -1.0])).tolist() == [True, False]
    assert differing(one, two, None) == 2
    assert from_other_answers(one, Bounds((two,))).tolist() == [1.0, 6.0]


@pytest.mark.parametrize("kind", ["i4", "i8", "u8"])
def test_a_tolerance_that_is_no_number_permits_nothing(kind: str) -> None:
    assert not near(np.array([5], kind), np.array([6], kind), np.array([np.nan])).any()


def test_scalars_have_distances() -> None:
    one, two = np.array(3, np.uint8), np.array(255, np.uint8)
    assert around(one, two) == 4 and distance(one, two) == 252
    assert within(one, two, np.array(-4.0)) and not within(one, two, np.array(-3.0))
