"""Transactions of a warp, counted lane by lane."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.costs.learned.lanes import active, bank_rounds, sectors

LANES = 32


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 700), min_size=LANES, max_size=LANES), min_size=1, max_size=3),
       st.lists(st.integers(0, LANES), min_size=3, max_size=3), st.sampled_from([4, 8]))  # fmt: skip
def test_a_bank_serves_one_word_per_round(ways: list[list[int]], counts: list[int], element: int) -> None:
    where, count = element * np.array(ways, dtype=float).T, np.array(counts[: len(ways)], dtype=float)
    found = bank_rounds(where, active(count, LANES))
    words = [{int(at) * element // 4 for at in way[:lanes]} for way, lanes in zip(ways, counts, strict=False)]
    assert found.tolist() == [max(Counter(word % 32 for word in some).values(), default=0) for some in words]


def test_lanes_share_a_sector() -> None:
    where = np.array([[0.0, 0.0], [4.0, 32.0], [28.0, 64.0], [32.0, 96.0]])
    assert sectors(where, active(np.array([4.0, 3.0]), 4), 32).tolist() == [2, 3]
