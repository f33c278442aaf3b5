"""The statistics of an option of a node: how often it was taken, and the results of those walks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_STATISTICS: Mapping[str, Statistics] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a program or of one of its kernels: time in ms, and metrics by name (unknown ones are absent)."""

    ms: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Statistics:
    """Running count, mean and sum of squared distances of a quantity (Welford's method)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Add one value."""
        self.count += 1
        if self.count == 1:  # most options are taken once: all edges of a walk then share one number object
            self.mean = value
            return
        distance = value - self.mean
        self.mean += distance / self.count
        self.squares += distance * (value - self.mean)

    def merged(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of values together (Chan, Golub & LeVeque 1979)."""
        count = self.count + other.count
        if not count:
            return Statistics()
        distance = other.mean - self.mean
        squares = self.squares + other.squares + distance * distance * self.count * other.count / count
        return Statistics(count, self.mean + distance * other.count / count, squares)

    @property
    def deviation(self) -> float:
        """The sample standard deviation; 0 for fewer than two values."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0


@dataclass(slots=True)
class Edge:
    """The statistics of an option that was taken: walks, failed walks, and the costs and metrics of the others.

    `cost` is the time of the whole program in ms, `kernel_cost` that of the node's kernel in ms (no values if the node
    is not about a kernel). `metrics` are those of the node's kernel, or of the program if there is none: a mean over
    all kernels would hide the effect on the node's own. A failed walk has neither cost nor metrics.
    """

    visits: int = 0
    failures: int = 0
    cost: Statistics = field(default_factory=Statistics)
    kernel_cost: Statistics = field(default_factory=Statistics)
    _metrics: dict[str, Statistics] | None = None

    @property
    def metrics(self) -> Mapping[str, Statistics]:
        """Statistics by metric; metrics that no walk had are absent."""
        return _NO_STATISTICS if self._metrics is None else self._metrics

    def record(self, program: Measured | None, kernel: Measured | None) -> None:
        """Add a walk: the result of its program (None: it failed), and that of the node's kernel, if there is one."""
        self.visits += 1
        if program is None:
            self.failures += 1
            return
        self.cost.add(program.ms)
        if kernel is not None:
            self.kernel_cost.add(kernel.ms)
        if metrics := (kernel or program).metrics:
            self._add(metrics)

    def _add(self, metrics: Mapping[str, float]) -> None:
        if self._metrics is None:
            self._metrics = {}
        for name, value in metrics.items():
            if name not in self._metrics:
                self._metrics[name] = Statistics()
            self._metrics[name].add(value)

