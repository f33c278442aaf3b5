"""Draws options with probabilities in proportion to their weights.

Within an iteration, ants meet the same nodes many times while no weight changes. So the sums of weights are computed
once per node and set of allowed options.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array
from graph.node import Node

Weigh: TypeAlias = Callable[[Node, NDArray[np.intp]], Array]
"""The weights (above 0) of some options of a node."""

FEW = 64
"""Up to this number of options, Python lists are faster than arrays."""


@dataclass(frozen=True, slots=True)
class _Wheel:
    """The allowed options with the cumulative sums of their weights. `strongest`: those with the largest weight."""

    allowed: NDArray[np.intp]
    sums: Sequence[float] | Array
    strongest: NDArray[np.intp]


@dataclass(slots=True)
class Roulette:
    """Draws options, and caches the sums of weights until `forget`."""

    _wheels: dict[tuple[Node, int], _Wheel] = field(
        default_factory=dict
    )  # by node and id() of the array of allowed options, which the wheel keeps alive

    def forget(self) -> None:
        """Clear the cache, because weights have changed."""
        self._wheels.clear()

    def draw(self, node: Node, allowed: NDArray[np.intp], weigh: Weigh, rng: np.random.Generator, greed: float) -> int:
        """Draw one of `allowed`; with probability `greed` one of those with the largest weight."""
        wheel = self._wheels.get((node, id(allowed)))
        if wheel is None:
            wheel = self._wheels[node, id(allowed)] = _wheel(allowed, weigh(node, allowed))
        if greed and rng.random() < greed:
            return int(wheel.strongest[rng.integers(wheel.strongest.size)])
        position = bisect_right(wheel.sums, rng.random() * wheel.sums[-1])
        return int(wheel.allowed[min(position, wheel.allowed.size - 1)])  # rounding may reach the sum


def _wheel(allowed: NDArray[np.intp], weights: Array) -> _Wheel:
    sums = np.cumsum(weights)
    return _Wheel(allowed, sums.tolist() if sums.size <= FEW else sums, allowed[weights == weights.max()])
