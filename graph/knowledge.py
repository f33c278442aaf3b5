"""What a node of the optimization graph knows of an option: how often it was taken, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_STATISTICS: Mapping[str, Statistics] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Measured:
    """What a program, or one of its kernels, came to: milliseconds, and metrics by name (an unknown one is absent)."""

    ms: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Statistics:
    """Running count, mean and sum of squared distances of a quantity (Welford's method)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Take in one more value."""
        self.count += 1
        if self.count == 1:  # most options are taken once: the walk's own number serves all of its edges
            self.mean = value
            return
        distance = value - self.mean
        self.mean += distance / self.count
        self.squares += distance * (value - self.mean)

    def merged(self, other: Statistics) -> Statistics:
        """The statistics of both sets of values together (Chan, Golub & LeVeque 1979)."""
        count = self.count + other.count
        if not count:
            return Statistics()
        distance = other.mean - self.mean
        squares = self.squares + other.squares + distance * distance * self.count * other.count / count
        return Statistics(count, self.mean + distance * other.count / count, squares)

    @property
    def deviation(self) -> float:
        """The sample standard deviation, 0 below two values."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0


@dataclass(slots=True)
class Edge:
    """What is known about an option that was taken: how often, failures, and what the walks over it came to.

    `cost` is of the whole program in milliseconds, `kernel_cost` of the kernel that the node is about (no values where
    it is about none). `metrics` are those of that kernel, or the program's where the node is about none: a mean of all
    kernels would hide what the option did to its own. A walk that failed has no cost and no metrics.
    """

    visits: int = 0
    failures: int = 0
    cost: Statistics = field(default_factory=Statistics)
    kernel_cost: Statistics = field(default_factory=Statistics)
    _metrics: dict[str, Statistics] | None = None

    @property
    def metrics(self) -> Mapping[str, Statistics]:
        """Statistics by metric; one that no walk had is absent."""
        return _NO_STATISTICS if self._metrics is None else self._metrics

    def record(self, program: Measured | None, kernel: Measured | None) -> None:
        """Take in a walk: its program (None: it failed) and, of a node that is about a kernel, that kernel."""
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

