"""The working sets over which bandwidth is measured reach beyond a GPU's L2 cache."""

from __future__ import annotations

from dataclasses import replace

from experiments.ceilings.measure import WORKING_SETS, working_sets
from tests.support.targets import CPU, HOPPER


def test_a_large_cache_has_a_larger_working_set() -> None:
    assert working_sets(replace(HOPPER, cache_bytes=60 << 20)) == (*WORKING_SETS, 512 << 20)
    assert working_sets(replace(HOPPER, cache_bytes=4 << 20)) == WORKING_SETS
    assert working_sets(replace(CPU, cache_bytes=60 << 20)) == WORKING_SETS
    assert working_sets(HOPPER) == WORKING_SETS, "the cache is not known"
