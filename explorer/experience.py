"""All measured walks of a run as rows of numbers, with the logarithm of what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes
from graph.walk import Walk


@dataclass(slots=True)
class Experience:
    """Rows of `attributes` in the order in which they were told; `costs` are log ms, infinite for failures."""

    attributes: Attributes = field(default_factory=Attributes)
    walks: list[Walk] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    _new: list[dict[int, float]] = field(default_factory=list)  # rows that are not in the table yet
    _table: Array = field(default_factory=lambda: np.zeros((0, 0)))
    _order: list[int] = field(default_factory=list)  # the fastest first, computed when it is asked for

    def learn(self, walk: Walk, cost_ms: float | None) -> None:
        """Take in a measured walk (None: it failed)."""
        self.walks.append(walk)
        self._new.append(self.attributes.row(walk))
        self._order.clear()
        self.costs.append(np.inf if cost_ms is None else float(np.log(max(cost_ms, 1e-12))))

    def best(self, count: int) -> list[Walk]:
        """The fastest walks, best first; fewer if fewer succeeded."""
        if len(self._order) < count:
            self._order = np.argsort(self.costs, kind="stable")[:count].tolist()
        return [self.walks[number] for number in self._order[:count] if np.isfinite(self.costs[number])]

    def table(self) -> Array:
        """All rows as one table with today's columns; see Attributes.table. Only what is new is computed."""
        missing = len(self.attributes.columns) - self._table.shape[1]
        old = np.pad(self._table, ((0, 0), (0, missing)), constant_values=np.nan) if missing else self._table
        self._table = np.vstack([old, self.attributes.table(self._new)]) if self._new else old
        self._new.clear()
        return self._table

    def telling(self, most: int) -> NDArray[np.intp]:
        """The numbers of at most so many walks that say most, in order: the best half, and the latest of the others."""
        count = len(self.costs)
        if count <= most:
            return np.arange(count)
        best = np.argsort(self.costs, kind="stable")[: most // 2]
        latest = np.setdiff1d(np.arange(count), best)[-(most - best.size) :]
        return np.sort(np.concatenate([best, latest]))

    def successes(self, most: int) -> tuple[Array, Array]:
        """Table and log costs of the walks among the `most` telling ones that did not fail."""
        numbers = self.telling(most)
        costs = np.array(self.costs)[numbers]
        succeeded = np.isfinite(costs)
        return self.table()[numbers[succeeded]], costs[succeeded]
