"""All measured walks of a run as rows of numbers, with the logarithm of what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.attributes import Array, Attributes
from graph.walk import Walk


@dataclass(slots=True)
class Experience:
    """Rows of `attributes` in the order in which they were told; `costs` are log ms, infinite for failures."""

    attributes: Attributes = field(default_factory=Attributes)
    walks: list[Walk] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    _table: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def learn(self, walk: Walk, cost_ms: float | None) -> None:
        """Take in a measured walk (None: it failed)."""
        self.walks.append(walk)
        self.rows.append(self.attributes.row(walk))
        self.costs.append(np.inf if cost_ms is None else float(np.log(max(cost_ms, 1e-12))))

    def best(self, count: int) -> list[Walk]:
        """The fastest walks, best first; fewer if fewer succeeded."""
        order = np.argsort(self.costs, kind="stable")[:count]
        return [self.walks[number] for number in order if np.isfinite(self.costs[number])]

    def table(self) -> Array:
        """All rows as one table with today's columns; see Attributes.table. Only what is new is computed."""
        missing = len(self.attributes.columns) - self._table.shape[1]
        old = np.pad(self._table, ((0, 0), (0, missing)), constant_values=np.nan) if missing else self._table
        new = self.rows[len(old) :]
        self._table = np.vstack([old, self.attributes.table(new)]) if new else old
        return self._table

    def successes(self) -> tuple[Array, Array]:
        """Table and log costs of the walks that did not fail."""
        costs = np.array(self.costs)
        succeeded = np.isfinite(costs)
        return self.table()[succeeded], costs[succeeded]
