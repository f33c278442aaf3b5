"""Explorers on a pipeline whose plans are rated by the static model."""

from __future__ import annotations

import pytest

from experiments.benchmarks.modelled_pipelines import Search, best_so_far


@pytest.mark.slow
def test_a_search_by_the_model_finds_better_plans_than_its_first() -> None:
    best = best_so_far(Search("blur", "halide-ga", 1, 12))
    assert len(best) == 12 and best == sorted(best, reverse=True) and 0 < best[-1] < best[0]
