"""Draws options with probabilities in proportion to their weights.

Within an iteration the ants come to the same nodes again and again while no weight changes: what a draw needs is
computed once per node and set of allowed options.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array
from graph.optimization_graph import Node

Weigh: TypeAlias = Callable[[Node, NDArray[np.intp]], Array]
"""The weights (above 0) of some options of a node."""

FEW = 64
"""Options up to which lists of Python are quicker than arrays."""


@dataclass(frozen=True, slots=True)
class _Wheel:
    """The allowed options with the sums of their weights from the first one on; `strongest` have the largest weight."""

    allowed: NDArray[np.intp]
    sums: Sequence[float] | Array
    strongest: NDArray[np.intp]


@dataclass(slots=True)
class Roulette:
    """Remembers the sums of weights until it is told to forget them."""

    _wheels: dict[tuple[Node, int], _Wheel] = field(
        default_factory=dict
    )  # by identity of the allowed options, which it holds

    def forget(self) -> None:
        """Weights will have changed."""
        self._wheels.clear()

    def draw(self, node: Node, allowed: NDArray[np.intp], weigh: Weigh, rng: np.random.Generator, greed: float) -> int:
        """One of `allowed`; with the probability `greed` the one of the largest weight (any of several)."""
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
