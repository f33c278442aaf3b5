"""Pheromone trails on the nodes of a graph, with bounds.

In the hyper-cube framework (Blum & Dorigo, "The hyper-cube framework for ant colony optimization", 2004), trails stay
in [0, 1]. Lower and upper bounds are those of the Max-Min Ant System (Stützle & Hoos 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from graph.node import Node
from graph.prefixes import Path

NOTHING = 1e-9
"""The lower bound of trails, above 0, so that the weights of a node's options never sum to 0."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The start level and the bounds of trails. `shared`: start and low are divided by the number of options."""

    start: float
    low: float = NOTHING
    high: float = inf
    shared: bool = False

    def start_of(self, options: int) -> float:
        """Return the initial level of the options of a node with so many options."""
        return self.start / options if self.shared else self.start

    def low_of(self, options: int) -> float:
        """Return the lower bound of the options of a node with so many options."""
        return self.low / options if self.shared else self.low


@dataclass(slots=True)
class _Trail:
    """The levels of a node's options at an epoch."""

    levels: NDArray[np.float64]
    epoch: int


@dataclass(slots=True)
class Trails:
    """The trails on the nodes of a graph.

    Evaporation affects every edge of the graph, also those of nodes that are reached later. So the graph behaves as if
    it were complete from the start. Evaporation is lazy: `epoch` counts evaporations, and a node is updated when its
    level is next read. This is exact while the bounds do not change, because max(low, (1 - rho) * x), repeated k
    times, is max(low, (1 - rho)^k * x).
    """

    rho: float
    bounds: Bounds
    epoch: int = 0
    trails: dict[Node, _Trail] = field(default_factory=dict)

    def level(self, node: Node) -> NDArray[np.float64]:
        """Return the current levels of a node's options, shape (options,)."""
        options = len(node.options)
        trail = self.trails.get(node)
        if trail is None:
            trail = self.trails[node] = _Trail(np.full(options, self.bounds.start_of(options)), 0)
        if trail.epoch < self.epoch:
            kept = (1.0 - self.rho) ** (self.epoch - trail.epoch)
            trail.levels = np.clip(trail.levels * kept, self.bounds.low_of(options), self.bounds.high)
            trail.epoch = self.epoch
        return trail.levels

    def evaporate(self) -> None:
        """Set tau = (1 - rho) * tau on every edge."""
        self.epoch += 1

    def reward(self, path: Path, amount: float) -> None:
        """Set tau = tau + amount on the edges of `path`, up to the upper bound."""
        for node, index in path:
            levels = self.level(node)
            levels[index] = min(self.bounds.high, levels[index] + amount)

    def approach(self, path: Path, level: float, rho: float) -> None:
        """Set tau = (1 - rho) * tau + rho * level on the edges of `path` only."""
        for node, index in path:
            levels = self.level(node)
            levels[index] = (1.0 - rho) * levels[index] + rho * level

    def reset(self) -> None:
        """Reset all trails to the start level."""
        self.epoch = 0
        self.trails.clear()

    def branching(self, path: Path) -> float:
        """Return the mean effective number of options per node of `path` (1: the trails have converged).

        Per node it is 1 / sum p^2, where p are the trails divided by their sum. The usual lambda-branching factor
        counts trails above a share of the span from lowest to highest. For a node with a thousand options, it is 1
        after a single reward, although nine of ten ants still choose other options.
        """
        return float(np.mean([self._followed(node) for node, _ in path])) if path else 1.0

    def _followed(self, node: Node) -> float:
        trails = self.level(node)
        return float(trails.sum() ** 2 / np.square(trails).sum())
