"""Metrics as desirability: what the ants expect of an option before any of its walks was a good one.

Papenhausen & Mueller, "Coding Ants" (2018), section 6.2, equation 6: with the metrics m of the walks that crossed an
edge (their mean and standard deviation sigma), and those of the best walk so far,

    eta = 1 + mean over the metrics of (m - m_best) / (sigma + 1)

Metrics lie in [0, 1], 1 being the device's peak. A slow walk over an option that makes good use of the device says
more for the option than its time does. An edge that fewer than `FEWEST` walks crossed has eta = 1. A node about a
kernel compares that kernel's metrics, any other node the program's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array
from graph.knowledge import Edge, Measured
from graph.optimization_graph import Node

FEWEST = 3
"""Observations below which an edge's metrics are not looked at (as in the authors' public code)."""

LEAST = 0.05
"""eta is kept above 0: no option is ruled out by its metrics alone."""

Subject = tuple[str, ...]


@dataclass(slots=True)
class MetricDesirability:
    """eta of the options of all nodes, against the best program and the best of each kernel."""

    _program: Mapping[str, float] = field(default_factory=dict)
    _kernels: dict[Subject, Mapping[str, float]] = field(default_factory=dict)
    _known: dict[Node, Array] = field(default_factory=dict)

    def improved(self, program: Measured, kernels: Mapping[Subject, Measured]) -> None:
        """There is a new best walk. Kernels that it does not have keep what they were last compared with."""
        self._program = program.metrics
        self._kernels |= {subject: kernel.metrics for subject, kernel in kernels.items()}

    def next_iteration(self) -> None:
        """The edges may have learned: compute again what is asked for."""
        self._known.clear()

    def level(self, node: Node) -> Array:
        """eta per option."""
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
