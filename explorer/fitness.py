"""What a walk is worth to evolution: DEAP's fitness."""

from __future__ import annotations

import math

from deap.base import Fitness


class Cost(Fitness):  # type: ignore[misc]  # DEAP has no types
    """A cost in milliseconds, to be small; a failure is worse than all successes and like every other failure."""

    weights = (-1.0,)

    @classmethod
    def of(cls, cost: float | None) -> Cost:
        """The fitness of a walk that took `cost` ms (None: it failed)."""
        return cls((math.inf if cost is None else cost,))
