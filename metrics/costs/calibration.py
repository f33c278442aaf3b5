"""Constants of the models for a device, fitted to plans that were measured on it.

Both models have constants that their papers fitted to devices of 2018: Sioutas' cost of a load that misses all caches
and the size from which loads miss; PolyMage-GPU's seven weights. The fit maximizes the mean, over the programs, of the
rank correlation of cost and time. It is a coordinate search from the defaults, so the same measurements give the same
constants.

Its generalization is measured on programs that were left out of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metrics.costs.agreement import rank_correlation, regret
from metrics.costs.constants import Calibration
from metrics.costs.device import CostDevice
from metrics.costs.polymage import TERMS, PolyMage, Weights, usual_weights
from metrics.costs.sioutas import GPU, HOST, Sioutas

LOAD_COSTS = (5.0, 10.0, 20.0, 40.0, 80.0, 200.0, 400.0)
CACHED_BYTES = tuple(float(1 << n) for n in range(14, 26, 2))
FACTORS = (0.0, 0.125, 0.5, 2.0, 8.0)
"""The factors by which the search multiplies a weight; a weight of 0 is replaced by the factor itself."""
WORTH = 1e-3
"""The least gain of the mean rank correlation for which constants change."""
FEWEST = 8
"""The least number of plans of a program that is used."""


def sioutas_of(calibration: Calibration | None, device: CostDevice) -> Sioutas:
    """Return Sioutas' model with these constants (None: the defaults)."""
    if calibration is None:
        return Sioutas()
    usual = HOST if device.host else GPU
    return Sioutas(replace(usual, load_cost=calibration.load_cost, cached_bytes=calibration.cached_bytes))


def polymage_of(calibration: Calibration | None) -> PolyMage:
    """Return PolyMage-GPU's model with these weights, times and registers of stages (None: the defaults)."""
    if calibration is None:
        return PolyMage()
    return PolyMage(weights_of(calibration.weights), measured=MappingProxyType(dict(calibration.stages)),
                    registers=MappingProxyType(dict(calibration.registers)))  # fmt: skip


def usual_calibration(device: CostDevice, name: str) -> Calibration:
    """Return the default constants for a device called `name`."""
    usual = HOST if device.host else GPU
    return Calibration(name, usual.load_cost, usual.cached_bytes, usual_weights(device).values)


def weights_of(values: Sequence[float]) -> Weights:
    """Return seven numbers as Weights. Raises ValueError for another count."""
    if len(values) != len(TERMS):
        raise ValueError(f"{len(values)} weights; there are {len(TERMS)} terms")
    a, b, c, d, e, f, g = values
    return Weights((a, b, c, d, e, f, g))


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The plans of a program: `sioutas` has their costs by (load cost, cached bytes), a column per pair of `PAIRS`;
    `terms` those of PolyMage-GPU, without weights; `times_ms` are their times.
    """

    program: str
    sioutas: NDArray[np.float64]
    terms: NDArray[np.float64]
    times_ms: tuple[float, ...]


PAIRS = tuple(product(LOAD_COSTS, CACHED_BYTES))
Score: TypeAlias = Callable[[Measured], float]


def fitted(programs: Sequence[Measured], usual: Calibration) -> Calibration:
    """Return the constants with which the models rank the plans of these programs best."""
    pair = max(range(len(PAIRS)), key=lambda k: (_mean(programs, lambda one: _ranked(one.sioutas[:, k], one)), -k))
    load_cost, cached_bytes = PAIRS[pair]
    kept = _mean(programs, lambda one: sioutas_rank(one, usual))
    if _mean(programs, lambda one: _ranked(one.sioutas[:, pair], one)) < kept + WORTH:
        load_cost, cached_bytes = usual.load_cost, usual.cached_bytes
    weights = _fitted_weights(programs, usual.weights)
    return replace(usual, load_cost=load_cost, cached_bytes=cached_bytes, weights=weights)


def _fitted_weights(programs: Sequence[Measured], start: tuple[float, ...]) -> tuple[float, ...]:
    """Return weights found from `start` by changing one at a time, until no change gains WORTH."""

    def score(weights: tuple[float, ...]) -> float:
        return _mean(programs, lambda one: _ranked(one.terms @ np.array(weights), one))

    found, best = start, score(start)
    while True:
        tried = [
            (*found[:k], factor * found[k] if found[k] else factor, *found[k + 1 :])
            for k in range(len(found))
            for factor in FACTORS
        ]
        scores = [score(weights) if any(weights) else -1.0 for weights in tried]
        k = int(np.argmax(scores))
        if scores[k] < best + WORTH:
            return found
        found, best = tried[k], scores[k]


def sioutas_rank(one: Measured, constants: Calibration) -> float:
    """Return the rank correlation of Sioutas' model with the pair of PAIRS that is nearest to these constants."""
    return _ranked(one.sioutas[:, nearest_pair(constants)], one)


def polymage_rank(one: Measured, constants: Calibration) -> float:
    """Return the rank correlation of PolyMage-GPU's model with these weights."""
    return _ranked(one.terms @ np.array(constants.weights), one)


def polymage_regret(one: Measured, constants: Calibration) -> float:
    """Return the regret (`agreement.regret`) of PolyMage-GPU's model with these weights."""
    return regret([*map(float, one.terms @ np.array(constants.weights))], one.times_ms)


def sioutas_regret(one: Measured, constants: Calibration) -> float:
    """Return the regret (`agreement.regret`) of Sioutas' model with these constants."""
    return regret([*map(float, one.sioutas[:, nearest_pair(constants)])], one.times_ms)


def nearest_pair(constants: Calibration) -> int:
    """Return the index in PAIRS of the constants nearest to these, on a logarithmic scale."""
    return min(
        range(len(PAIRS)),
        key=lambda k: (
            abs(np.log2(PAIRS[k][0] / constants.load_cost)) + abs(np.log2(PAIRS[k][1] / constants.cached_bytes))
        ),
    )


def _ranked(costs: NDArray[np.float64], one: Measured) -> float:
    return rank_correlation([*map(float, costs)], one.times_ms)


def _mean(programs: Sequence[Measured], score: Score) -> float:
    return float(np.mean([score(one) for one in programs]))
