"""The terms of the formula, by hand: section 7.2 of Anderson et al. 2021 as implemented, appendix B of the paper."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from metrics.costs.learned.formula import COEFFICIENTS, terms
from metrics.costs.learned.names import FEATURES

LOOPS: Mapping[str, float] = {
    "num_scalars": 100, "points_computed_per_thread": 3, "num_blocks": 7, "num_threads_per_block": 11,
    "inner_parallelism": 5, "outer_parallelism": 3, "idle_lane_wastage": 0.2, "num_realizations": 13,
    "num_productions": 17, "working_set": 19, "arithmetic_per_point": 23,
    "unique_global_lines_read_per_realization": 29, "unique_shared_lines_read_per_realization": 31,
    "unique_register_lines_read_per_realization": 37, "unique_global_bytes_read_per_realization": 41,
    "unique_shared_bytes_read_per_realization": 43, "unique_register_bytes_read_per_realization": 47,
    "unique_global_lines_read_per_thread": 53, "unique_shared_lines_read_per_thread": 59,
    "unique_register_lines_read_per_thread": 61, "unique_global_bytes_read_per_thread": 67,
    "unique_shared_bytes_read_per_thread": 71, "unique_register_bytes_read_per_thread": 73,
    "unique_bytes_read_per_point": 79, "unique_lines_read_per_point": 83, "unique_bytes_read_per_task": 89,
    "unique_lines_read_per_task": 97, "num_global_mem_loads_per_block": 101, "num_shared_mem_loads_per_block": 103,
    "num_global_mem_stores_per_block": 107, "num_shared_mem_stores_per_block": 109, "global_mem_load_efficiency": 0.5,
    "global_mem_store_efficiency": 0.25, "shared_mem_load_efficiency": 0.1, "shared_mem_store_efficiency": 0.1,
    "global_innermost_bytes_at_task": 40,
}  # fmt: skip
UNITS = 4
BUSY = (4 / 3.75) / 0.8
"""15 tasks on 4 units take 4 rounds instead of 3.75; a fifth of the lanes is idle."""
TERMS: Mapping[int, float] = {
    1: 100 * BUSY, 19: 7 * 11 * 3 * BUSY,
    5: 13 * 29, 16: 13 * 31, 8: 13 * 37, 6: 13 * 41, 20: 13 * 43, 7: 13 * 47,
    18: 7 * 11 * 53, 17: 7 * 11 * 59, 2: 7 * 11 * 61, 13: 7 * 11 * 67, 11: 7 * 11 * 71, 0: 7 * 11 * 73,
    10: 100 * 79, 12: 100 * 83, 14: 15 * 89, 15: 15 * 97, 28: 7 * 101 / 0.5, 27: 7 * 103, 29: 7 * 109,
    21: 7 * 107 / 0.25, 22: 100 / 40, 23: 100 * 23, 24: 13, 25: 17, 26: 17 * 4, 9: 19, 3: 0, 4: 0,
}  # fmt: skip


def of(changes: Mapping[str, float], units: int = UNITS) -> dict[int, float]:
    """By coefficient, the term of the stage `LOOPS` with these changes."""
    row = np.zeros(len(FEATURES))
    for name, value in {**LOOPS, **changes}.items():
        row[FEATURES.index(name)] = value
    return dict(enumerate(terms(row, units).tolist()))


def test_every_term_of_a_stage_with_loops() -> None:
    assert len(TERMS) == COEFFICIENTS
    assert of({}) == pytest.approx(dict(TERMS))


def test_terms_of_a_stage_that_is_inlined() -> None:
    """Its points have other coefficients, and neither idle lanes nor unused bytes count."""
    wanted = {**TERMS, 1: 0, 19: 0, 3: 100 * BUSY * 0.8, 4: 7 * 11 * 3 * BUSY * 0.8, 28: 7 * 101, 21: 7 * 107}
    assert of({"inlined_calls": 2}) == pytest.approx(wanted)


def test_one_task_is_not_parallel() -> None:
    """It starts no other tasks and stores to no neighbour's line; the other units do not make it slower."""
    wanted = {**TERMS, 1: 100 / 0.8, 19: 7 * 11 * 3 / 0.8, 14: 89, 15: 97, 22: 0, 25: 0, 26: 0}
    assert of({"inner_parallelism": 1, "outer_parallelism": 1}) == pytest.approx(wanted)
    assert of({"inner_parallelism": 0, "outer_parallelism": 1}) == pytest.approx(wanted)


def test_blocks_and_rows_of_less_than_one_count_as_one() -> None:
    found = of({"num_blocks": 0, "global_innermost_bytes_at_task": 0.5})
    per_block = (19, 18, 17, 2, 13, 11, 0, 28, 27, 29, 21)
    assert found == pytest.approx({**TERMS, **{k: TERMS[k] / 7 for k in per_block}, 22: 100})


def test_rows_of_many_ways_keep_their_shape() -> None:
    found = terms(np.ones((3, 2, len(FEATURES))), UNITS)
    assert found.shape == (3, 2, COEFFICIENTS)
