"""Facts about sets of points."""

from __future__ import annotations

import islpy as isl
import pytest

from generator.polyhedral.kit.members import without_gaps


@pytest.mark.parametrize(
    ("points", "around"),
    [
        ("{ K0[i] : 3 <= i <= 9 }", "{ K0[i] : 3 <= i <= 9 }"),
        ("{ K0[i] : exists (a : i = 2a) and 4 <= i <= 10 }", "{ K0[i] : exists (a : i = 2a) and 4 <= i <= 10 }"),
        ("{ K0[i] : exists (a : i = 5a + floor(a/2) and 0 <= a <= 9) }", "{ K0[i] : 0 <= i <= 49 }"),
        (
            "{ K0[t, i] : exists (a : i = t + 3a + floor(a/4) and 0 <= a < 8 and 0 <= t < 5) }",
            "{ K0[t, i] : 0 <= t < 5 and 0 <= i and t - 3 <= i <= t + 22 }",
        ),
    ],
)
def test_gaps_are_closed_and_ends_and_strides_stay(points: str, around: str) -> None:
    found = without_gaps(isl.Set(points))
    assert isl.Set(points).is_subset(found)
    assert found.is_equal(isl.Set(around)), found
