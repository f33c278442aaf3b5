"""All measured walks of a run as rows of numbers, with the logarithms of their costs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes
from graph.walk import Walk


@dataclass(slots=True)
class Experience:
    """The walks in the order in which they were told, as rows of `attributes`. `costs`: log ms, inf for failures."""

    attributes: Attributes = field(default_factory=Attributes)
    walks: list[Walk] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    _new: list[dict[int, float]] = field(default_factory=list)  # rows that are not in the table yet
    _table: Array = field(default_factory=lambda: np.zeros((0, 0)))
    _order: list[int] = field(default_factory=list)  # the fastest first, computed on first use

    def learn(self, walk: Walk, cost_ms: float | None) -> None:
        """Add a measured walk with its cost in ms (None: it failed)."""
        self.walks.append(walk)
        self._new.append(self.attributes.row(walk))
        self._order.clear()
        self.costs.append(np.inf if cost_ms is None else float(np.log(max(cost_ms, 1e-12))))

    def best(self, count: int) -> list[Walk]:
        """Return the `count` fastest walks, best first; fewer if fewer succeeded."""
        if len(self._order) < count:
            self._order = np.argsort(self.costs, kind="stable")[:count].tolist()
        return [self.walks[number] for number in self._order[:count] if np.isfinite(self.costs[number])]

    def table(self) -> Array:
        """Return all rows as one table with the current columns (see Attributes.table); only new rows are computed."""
        missing = len(self.attributes.columns) - self._table.shape[1]
        old = np.pad(self._table, ((0, 0), (0, missing)), constant_values=np.nan) if missing else self._table
        self._table = np.vstack([old, self.attributes.table(self._new)]) if self._new else old
        self._new.clear()
        return self._table

    def telling(self, most: int) -> NDArray[np.intp]:
        """Return the sorted numbers of at most `most` walks: for one half the best, for the other the latest others."""
        count = len(self.costs)
        if count <= most:
            return np.arange(count)
        best = np.argsort(self.costs, kind="stable")[: most // 2]
        latest = np.setdiff1d(np.arange(count), best)[-(most - best.size) :]
        return np.sort(np.concatenate([best, latest]))

    def successes(self, most: int) -> tuple[Array, Array]:
        """Return the table and the log costs of the successful walks among those of `telling(most)`."""
        numbers = self.telling(most)
        costs = np.array(self.costs)[numbers]
        succeeded = np.isfinite(costs)
        return self.table()[numbers[succeeded]], costs[succeeded]
