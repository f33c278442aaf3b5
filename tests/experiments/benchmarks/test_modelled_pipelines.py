"""Explorers on a pipeline whose plans are rated by a model."""

from __future__ import annotations

import math

import pytest

from experiments.benchmarks.modelled_pipelines import Search, costs_of


@pytest.mark.slow
@pytest.mark.parametrize("search", [
    Search("blur", "halide-ga", 1, 12), Search("blur", "without inheritance", 1, 12, learned=True)])  # fmt: skip
def test_a_search_by_the_model_finds_better_plans_than_its_first(search: Search) -> None:
    costs = costs_of(search)
    assert len(costs) == 12 and min(costs) < costs[0] < math.inf
