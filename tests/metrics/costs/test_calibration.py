"""Fits of constants: they find what made the times, and leave the defaults alone where nothing speaks for others."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.costs.calibration import (
    CACHED_BYTES,
    LOAD_COSTS,
    PAIRS,
    Measured,
    fitted,
    nearest_pair,
    polymage_of,
    polymage_rank,
    polymage_regret,
    sioutas_of,
    sioutas_rank,
    usual_calibration,
    weights_of,
)
from metrics.costs.constants import Calibration
from tests.support.costs import CPU, GTX_1080_TI

TRUE = (50.0, 0.0, 0.0, 400.0, 0.0, 100.0, 0.0)


def program(seed: int, pair: int, weights: tuple[float, ...] = TRUE, plans: int = 30) -> Measured:
    """Costs and terms at random; times are those of one pair and of these weights, in the same order."""
    rng = np.random.default_rng(seed)
    terms = rng.random((plans, 7)) * [1, 1, 1, 1, 1, 1, 5]
    times = terms @ np.array(weights)
    costs = rng.random((plans, len(PAIRS)))
    costs[:, pair] = times**2
    return Measured(f"p{seed}", costs, terms, tuple(map(float, times)))


def test_a_fit_finds_the_constants_that_made_the_times() -> None:
    usual, pair = usual_calibration(GTX_1080_TI, "gpu"), PAIRS.index((20.0, CACHED_BYTES[1]))
    programs = [program(seed, pair) for seed in range(3)]
    found = fitted(programs, usual)
    assert (found.load_cost, found.cached_bytes) == PAIRS[pair]
    other = program(9, pair)
    assert sioutas_rank(other, found) == pytest.approx(1.0)
    assert polymage_rank(other, found) > 0.95 > polymage_rank(other, usual)
    assert polymage_regret(other, found) <= polymage_regret(other, usual)
    assert found == fitted(programs, usual), "the same measurements give the same constants"


def test_defaults_stay_where_they_are_right() -> None:
    usual = usual_calibration(GTX_1080_TI, "gpu")
    found = fitted([program(seed, nearest_pair(usual), usual.weights) for seed in range(3)], usual)
    assert found == usual


def test_the_defaults_are_among_the_constants_that_are_tried() -> None:
    for device in (CPU, GTX_1080_TI):
        usual = usual_calibration(device, "device")
        pair = PAIRS[nearest_pair(usual)]
        assert pair[0] == usual.load_cost and pair[0] in LOAD_COSTS


def test_models_have_the_constants() -> None:
    found = Calibration("cpu", 80.0, 65536.0, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0))
    model = sioutas_of(found, CPU)
    assert model.constants is not None and model.constants.load_cost == 80.0
    weights = polymage_of(found).weights
    assert weights is not None and weights.values == found.weights
    assert sioutas_of(None, CPU).constants is None
    with pytest.raises(ValueError, match="6 weights; there are 7 terms"):
        weights_of(found.weights[:6])
