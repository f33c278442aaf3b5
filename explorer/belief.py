"""The trust in a cost model: the correlation of its predictions with the measured costs, or the slope of a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array

TRUSTED = 5.0
"""The weight of the initial trust of 1, in measured walks."""
LEAST_MS = 1e-6
"""Lower limit of measured times in ms: a coarse clock may measure 0, which has no logarithm."""


@dataclass(slots=True)
class Belief:
    """`trust` is 1 at first, and approaches the correlation of predicted and measured log costs, or 0 if negative."""

    trust: float = 1.0
    _compared: list[tuple[float, float]] = field(default_factory=list)

    def compare(self, foretold: float | None, cost_ms: float | None) -> None:
        """Add a walk: its predicted log cost (None: no prediction) and its measured cost in ms (None: it failed)."""
        if foretold is not None and cost_ms is not None:
            self._compared.append((foretold, float(np.log(max(cost_ms, LEAST_MS)))))
            self.trust = self._believed()

    def _believed(self) -> float:
        count, correlation = len(self._compared), 0.0
        if count > 1:
            foretold, measured = np.array(self._compared).T
            spread = float(foretold.std() * measured.std())
            both = float(((foretold - foretold.mean()) * (measured - measured.mean())).mean())
            correlation = max(both / spread, 0.0) if spread > 0 else 0.0
        return (TRUSTED + count * correlation) / (TRUSTED + count)


def slope(foretold: Array, measured: Array, prior: float, weight: float) -> float:
    """Return the slope of a line through measured over predicted costs (both around their means), 0 if it falls.

    A ridge regression towards `prior`, whose `weight` is that of walks whose squared predictions add up to it.
    """
    return max(float(foretold @ measured) + weight * prior, 0.0) / (float(foretold @ foretold) + weight)


def standardised(costs: Sequence[float | None]) -> Array:
    """Return `costs` scaled to mean 0 and standard deviation 1, with 0 in place of None."""
    values = np.array([np.nan if cost is None else cost for cost in costs])
    if not np.isfinite(values).any():
        return np.zeros(len(values))
    values = np.nan_to_num(values - np.nanmean(values))
    deviation = float(values.std())
    return np.asarray(values / deviation if deviation > 0 else values)
