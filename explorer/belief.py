"""How far the costs that a model foretells are believed: as far as they went with those that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array

TRUSTED = 5.0
"""So many measured walks count as much as what was believed before."""
LEAST_MS = 1e-6
"""A clock may say 0."""


@dataclass(slots=True)
class Belief:
    """`trust` is 1 at first, and follows the correlation of foretold and measured costs, negative ones counting as 0.
    """

    trust: float = 1.0
    _compared: list[tuple[float, float]] = field(default_factory=list)

    def compare(self, foretold: float | None, cost_ms: float | None) -> None:
        """Take in what a walk cost, of which the model foretold the logarithm; None: it failed, or nothing was said."""
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


def standardised(costs: Sequence[float | None]) -> Array:
    """`costs` with mean 0 and deviation 1; the mean in place of None."""
    values = np.array([np.nan if cost is None else cost for cost in costs])
    if not np.isfinite(values).any():
        return np.zeros(len(values))
    values = np.nan_to_num(values - np.nanmean(values))
    deviation = float(values.std())
    return np.asarray(values / deviation if deviation > 0 else values)
