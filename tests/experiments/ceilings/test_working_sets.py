"""The working sets over which bandwidth is measured reach beyond a GPU's L2 cache."""

from __future__ import annotations

from dataclasses import replace

from experiments.ceilings.measure import WORKING_SETS, moving, shapes, working_sets
from tests.support.targets import CPU, HOPPER


def test_a_large_cache_has_a_larger_working_set() -> None:
    assert working_sets(replace(HOPPER, cache_bytes=60 << 20)) == (*WORKING_SETS, 512 << 20)
    assert working_sets(replace(HOPPER, cache_bytes=4 << 20)) == WORKING_SETS
    assert working_sets(replace(CPU, cache_bytes=60 << 20)) == WORKING_SETS
    assert working_sets(HOPPER) == WORKING_SETS, "the cache is not known"


def test_working_sets_keep_all_multiprocessors_busy() -> None:
    large = replace(HOPPER, compute_units=132)
    assert working_sets(large) == WORKING_SETS[2:]
    assert all(any(shapes(probe, large)) for size in WORKING_SETS[2:] for probe in moving(size))
