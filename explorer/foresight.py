"""Foretold costs as desirability: what the ants expect of an option from what a cost model says of where it leads.

The ant system (Dorigo, Maniezzo & Colorni 1996) has eta_ij = 1 / d_ij, the nearness of the next city. Here

    eta_j = (mean cost at the node / mean cost over option j) ^ (SHARPNESS * trust),      kept within [LEAST, 1 / LEAST]

the means being geometric, over the walks that were drawn so far, whether or not anybody measured them: the predicted
speed of what the option leads to. A node about a kernel compares what the model says of that kernel, any other node
what it says of the program. The mean over an option begins at the mean of its node, as if one more walk had told that.
The trust is that of explorer.belief.

A colony makes many more walks than it measures (explorer.screening), and a model takes a millisecond for one: ants
have an opinion of most options before anything was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array
from explorer.belief import Belief
from graph.foretelling import Foreseen
from graph.knowledge import Statistics
from graph.optimization_graph import Node
from graph.prefixes import Path

SHARPNESS = 4.0
LEAST = 0.05
"""eta is kept above 0: no option is ruled out by a model alone."""


@dataclass(slots=True)
class Foresight:
    """eta of the options of all nodes, by the walks that a model judged."""

    belief: Belief = field(default_factory=Belief)
    _told: dict[Node, dict[int, Statistics]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether a model told anything."""
        return bool(self._told)

    def learn(self, path: Path, foreseen: Foreseen) -> None:
        """Take in what a model says of a walk."""
        for node, index in path:
            cost = foreseen.kernels.get(node.decision.subject, foreseen.program)
            if cost is not None:
                self._told.setdefault(node, {}).setdefault(index, Statistics()).add(cost)

    def level(self, node: Node) -> Array:
        """eta per option."""
        level = np.ones(len(node.options))
        told = self._told.get(node)
        if told:
            sharpness, count = SHARPNESS * self.belief.trust, sum(one.count for one in told.values())
            mean = sum(one.count * one.mean for one in told.values()) / count
            for index, one in told.items():
                level[index] = np.exp(sharpness * (mean - one.mean) * one.count / (one.count + 1))
        return np.clip(level, LEAST, 1 / LEAST)
