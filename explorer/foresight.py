"""Desirability of options from a cost model: the predicted costs of the walks with an option.

In the ant system (Dorigo, Maniezzo & Colorni 1996), eta_ij = 1 / d_ij is the inverse distance of the next city. Here

    eta_j = (mean cost at the node / mean cost over option j) ^ (SHARPNESS * trust),      kept within [LEAST, 1 / LEAST]

with geometric means of the predicted costs of all walks drawn so far, measured or not. A node about a kernel uses the
predictions for that kernel, any other node those for the program. The mean over an option is shrunk towards the mean of
its node, as if one more walk had had that cost. The trust is that of explorer.belief.

A colony draws many more walks than it measures (explorer.screening), and a prediction takes about a millisecond. So
most options have an eta before anything is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array
from explorer.belief import Belief
from graph.foretelling import Foreseen
from graph.knowledge import Statistics
from graph.node import Node
from graph.prefixes import Path

SHARPNESS = 4.0
LEAST = 0.05
"""Lower bound of eta, above 0: a model alone does not exclude an option."""


@dataclass(slots=True)
class Foresight:
    """eta of the options of all nodes, from the predicted costs of walks."""

    belief: Belief = field(default_factory=Belief)
    _told: dict[Node, dict[int, Statistics]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there are predictions."""
        return bool(self._told)

    def learn(self, path: Path, foreseen: Foreseen) -> None:
        """Add the predicted costs of a walk to the nodes of its path."""
        for node, index in path:
            cost = foreseen.kernels.get(node.decision.subject, foreseen.program)
            if cost is not None:
                self._told.setdefault(node, {}).setdefault(index, Statistics()).add(cost)

    def level(self, node: Node) -> Array:
        """Return eta per option of `node`, shape (options,)."""
        level = np.ones(len(node.options))
        told = self._told.get(node)
        if told:
            sharpness, count = SHARPNESS * self.belief.trust, sum(one.count for one in told.values())
            mean = sum(one.count * one.mean for one in told.values()) / count
            for index, one in told.items():
                level[index] = np.exp(sharpness * (mean - one.mean) * one.count / (one.count + 1))
        return np.clip(level, LEAST, 1 / LEAST)
