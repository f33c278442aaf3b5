"""The fitness of a walk, as a class of DEAP."""

from __future__ import annotations

import math

from deap.base import Fitness


class Cost(Fitness):  # type: ignore[misc]  # DEAP has no types
    """A cost in ms, to be minimized. All failures are equal, and worse than every success."""

    weights = (-1.0,)

    @classmethod
    def of(cls, cost: float | None) -> Cost:
        """Return the fitness of a walk that took `cost` ms (None: it failed)."""
        return cls((math.inf if cost is None else cost,))
