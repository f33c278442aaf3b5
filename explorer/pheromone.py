"""Pheromone trails on the nodes of a graph, with bounds.

In the hyper-cube framework (Blum & Dorigo, "The hyper-cube framework for ant colony optimization", 2004) every trail
stays within [0, 1]; the bounds below and above are those of the Max-Min Ant System (Stützle & Hoos 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from graph.optimization_graph import Node
from graph.prefixes import Path

NOTHING = 1e-9
"""A trail never gets so low that all options of a node could vanish."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where trails start and between which levels they stay. `shared`: start and low are divided by the options."""

    start: float
    low: float = NOTHING
    high: float = inf
    shared: bool = False

    def start_of(self, options: int) -> float:
        """The level of every option of a node before anything was learned."""
        return self.start / options if self.shared else self.start

    def low_of(self, options: int) -> float:
        """The lowest level of an option."""
        return self.low / options if self.shared else self.low


@dataclass(slots=True)
class _Trail:
    """The levels of a node's options as they were at an epoch."""

    levels: NDArray[np.float64]
    epoch: int


@dataclass(slots=True)
class Trails:
    """The trails on the nodes of a graph.

    Evaporation touches every edge of the graph, also of nodes that nobody has reached yet: the graph behaves as
    if it had been complete from the start, and it does not matter when a node is first met. It is done lazily:
    `epoch` counts evaporations, and a node catches up when it is next looked at. This is exact while the bounds stay,
    because max(low, (1 - rho) * x), repeated k times, is max(low, (1 - rho)^k * x).
    """

    rho: float
    bounds: Bounds
    epoch: int = 0
    trails: dict[Node, _Trail] = field(default_factory=dict)

    def level(self, node: Node) -> NDArray[np.float64]:
        """The trails of a node's options as of now."""
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
        """tau = (1 - rho) * tau on every edge."""
        self.epoch += 1

    def reward(self, path: Path, amount: float) -> None:
        """tau = tau + amount on the edges of `path`, up to the bound."""
        for node, index in path:
            levels = self.level(node)
            levels[index] = min(self.bounds.high, levels[index] + amount)

    def approach(self, path: Path, level: float, rho: float) -> None:
        """tau = (1 - rho) * tau + rho * level on the edges of `path` only."""
        for node, index in path:
            levels = self.level(node)
            levels[index] = (1.0 - rho) * levels[index] + rho * level

    def reset(self) -> None:
        """Back to the start everywhere."""
        self.epoch = 0
        self.trails.clear()

    def branching(self, path: Path) -> float:
        """The mean number of options per node of `path` that ants still follow (1: all is settled).

        Per node 1 / sum p^2 with p the trails' shares: the options that count, were they equally likely. The
        usual lambda-branching factor counts trails above a share of the span from lowest to highest instead; it
        calls a node of a thousand options settled after one reward, when nine ants of ten still go elsewhere.
        """
        return float(np.mean([self._followed(node) for node, _ in path])) if path else 1.0

    def _followed(self, node: Node) -> float:
        trails = self.level(node)
        return float(trails.sum() ** 2 / np.square(trails).sum())
