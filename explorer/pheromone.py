"""Pheromone trails in the hyper-cube framework: every trail stays between a floor and a ceiling below 1.

Blum & Dorigo, "The hyper-cube framework for ant colony optimization" (2004), with the bounds of the Max-Min Ant
System (Stützle & Hoos 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graph.optimization_graph import Node
from graph.prefixes import Path


@dataclass(slots=True)
class _Trail:
    """The levels of a node's options as they were at an epoch."""

    levels: NDArray[np.float64]
    epoch: int


@dataclass(slots=True)
class Trails:
    """The trails on the nodes of a graph. A node of n options starts at 1/n and never falls below floor/n.

    Evaporation touches every edge of the graph, also of nodes that nobody has reached yet: the graph behaves as
    if it had been complete from the start, and it does not matter when a node is first met. It is done lazily:
    `epoch` counts evaporations, and a node catches up when it is next looked at. This is exact, because
    max(floor, (1 - rho) * x), repeated k times, is max(floor, (1 - rho)^k * x).
    """

    rho: float
    floor: float
    ceiling: float
    epoch: int = 0
    trails: dict[Node, _Trail] = field(default_factory=dict)

    def level(self, node: Node) -> NDArray[np.float64]:
        """The trails of a node's options as of now."""
        trail = self.trails.get(node)
        if trail is None:
            trail = self.trails[node] = _Trail(np.full(len(node.options), 1.0 / len(node.options)), 0)
        if trail.epoch < self.epoch:
            kept = (1.0 - self.rho) ** (self.epoch - trail.epoch)
            np.maximum(trail.levels * kept, self.floor / len(node.options), out=trail.levels)
            trail.epoch = self.epoch
        return trail.levels

    def evaporate(self) -> None:
        """tau = (1 - rho) * tau on every edge."""
        self.epoch += 1

    def reward(self, path: Path, amount: float) -> None:
        """tau = tau + amount on the edges of `path`, up to the ceiling."""
        for node, index in path:
            levels = self.level(node)
            levels[index] = min(self.ceiling, levels[index] + amount)

    def reset(self) -> None:
        """Back to 1/n everywhere."""
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
