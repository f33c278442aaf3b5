"""Predicts the cost of a walk from the most similar known walks; fast enough to compare many candidates.

Shepard's inverse distance weighting ("A two-dimensional interpolation function for irregularly-spaced data", 1968)
over the `nearest` known walks:

    forecast = sum of w * log cost / sum of w,   w = 1 / (distance + 0.1)^2

The distance is the number of genes that differ. Two numbers differ by at most 1: by log2 of their ratio if that is
smaller. A walk that lacks a gene differs in it. A failure counts as the worst known cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.variation import Genes, Key, is_number
from graph.space import Option

SMALLEST_MS = 1e-9
"""Replaces a time of 0, which has no logarithm."""


@dataclass(slots=True)
class Resemblance:
    """The last `memory` walks as rows of numbers, with a column per gene (NaN: the walk does not have the gene)."""

    nearest: int = 4
    memory: int = 1000
    _columns: dict[Key, int] = field(default_factory=dict)
    _words: dict[Option, float] = field(default_factory=dict)
    _rows: NDArray[np.float64] = field(default_factory=lambda: np.full((64, 16), np.nan))
    _genes: NDArray[np.intp] = field(default_factory=lambda: np.zeros(64, dtype=np.intp))  # how many a walk has
    _costs: NDArray[np.float64] = field(default_factory=lambda: np.full(64, np.nan))
    _worst: float = -math.inf
    _told: int = 0

    def learn(self, known: Genes, cost: float | None) -> None:
        """Add a walk with its cost in ms (None: it failed); it replaces the oldest one if the memory is full."""
        for gene in known:
            self._columns.setdefault(gene, len(self._columns))
        self._make_room()
        row = self._told % self.memory
        self._rows[row] = np.nan
        self._rows[row, [self._columns[gene] for gene in known]] = [self._value(o) for o in known.values()]
        self._genes[row] = len(known)
        self._costs[row] = np.nan if cost is None else math.log(max(cost, SMALLEST_MS))
        self._worst = max(self._worst, float(self._costs[row])) if cost is not None else self._worst
        self._told += 1

    def forecast(self, wanted: Genes) -> float | None:
        """Return the predicted log ms of a walk with these genes; None if a known walk has the same genes.

        Raises ValueError if no walk is known.
        """
        if not self._told:
            raise ValueError("no walk was told yet")
        count = min(self._told, self.memory)
        distance = self._distances(wanted, count)
        if np.any((distance == 0.0) & (self._genes[:count] <= len(wanted))):
            return None
        near = np.argpartition(distance, min(self.nearest, count) - 1)[: self.nearest]
        costs = self._costs[near]
        worst = self._worst if self._worst > -math.inf else 0.0
        weights = 1.0 / np.square(distance[near] + 0.1)
        return float(weights @ np.where(np.isnan(costs), worst, costs) / weights.sum())

    def _distances(self, wanted: Genes, count: int) -> NDArray[np.float64]:
        """Return the distance from each known walk, over the genes in `wanted`."""
        genes = [gene for gene in wanted if gene in self._columns]
        columns = [self._columns[gene] for gene in genes]
        values, counted = np.zeros(self._rows.shape[1]), np.zeros(self._rows.shape[1])
        values[columns] = [self._value(wanted[gene]) for gene in genes]
        counted[columns] = 1.0
        apart = self._rows[:count] - values
        np.abs(apart, out=apart)
        np.fmin(apart, 1.0, out=apart)  # 1 where a walk has no such gene
        return np.asarray(apart @ counted, dtype=np.float64)

    def _value(self, option: Option) -> float:
        """Return log2(1 + |x|) with the sign of x for a number; other options get values that are far apart."""
        if is_number(option):
            return math.copysign(math.log2(1.0 + abs(option)), option)
        return self._words.setdefault(option, 1e6 + 2.0 * len(self._words))

    def _make_room(self) -> None:
        rows, columns = self._rows.shape
        more = min(self.memory, 2 * rows) if self._told == rows < self.memory else rows
        if more > rows or len(self._columns) > columns:
            grown = np.full((more, max(columns, 2 * len(self._columns))), np.nan)
            grown[:rows, :columns] = self._rows
            self._rows = grown
            self._costs = np.concatenate([self._costs, np.full(more - rows, np.nan)])
            self._genes = np.concatenate([self._genes, np.zeros(more - rows, dtype=np.intp)])
