"""Desirability of options from metrics: how well walks with an option used the device, compared with the best walk.

Papenhausen & Mueller, "Coding Ants" (2018), section 6.2, equation 6. With the mean m and the standard deviation sigma
of a metric over the walks that crossed an edge, and m_best of the best walk so far,

    eta = 1 + mean over the metrics of (m - m_best) / (sigma + 1)

Metrics lie in [0, 1]; 1 is the device's peak. So an option that uses the device well is desirable even if its walks
were slow. An edge that fewer than `FEWEST` walks crossed has eta = 1. A node about a kernel compares the metrics of
that kernel, any other node those of the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array
from graph.knowledge import Edge, Measured
from graph.node import Node

FEWEST = 3
"""An edge's metrics are used from this number of observations on (as in the authors' public code)."""

LEAST = 0.05
"""Lower bound of eta, above 0: metrics alone do not exclude an option."""

Subject = tuple[str, ...]


@dataclass(slots=True)
class MetricDesirability:
    """eta of the options of all nodes, compared with the best program or the best version of the kernel."""

    _program: Mapping[str, float] = field(default_factory=dict)
    _kernels: dict[Subject, Mapping[str, float]] = field(default_factory=dict)
    _known: dict[Node, Array] = field(default_factory=dict)

    def improved(self, program: Measured, kernels: Mapping[Subject, Measured]) -> None:
        """Set the metrics of a new best walk. Kernels that it does not have keep their last ones."""
        self._program = program.metrics
        self._kernels |= {subject: kernel.metrics for subject, kernel in kernels.items()}

    def next_iteration(self) -> None:
        """Clear the cache, because the edges' statistics may have changed."""
        self._known.clear()

    def level(self, node: Node) -> Array:
        """Return eta per option of `node`, shape (options,)."""
        level = self._known.get(node)
        if level is None:
            best = self._kernels.get(node.decision.subject, self._program)
            level = np.ones(len(node.options))
            for index, edge in node.edges.items():
                level[index] = _desirability(edge, best)
            self._known[node] = level
        return level


def _desirability(edge: Edge, best: Mapping[str, float]) -> float:
    if edge.visits < FEWEST:
        return 1.0
    met = ((edge.metrics.get(name), value) for name, value in best.items())
    terms = [(known.mean - value) / (known.deviation + 1) for known, value in met if known and known.count >= FEWEST]
    return max(LEAST, 1.0 + sum(terms) / len(terms)) if terms else 1.0
