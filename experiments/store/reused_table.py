"""Known outcomes from other runs, in the store of the run that reuses them, and which iterations were adopted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from experiments.store.errors import database_errors, entry_errors
from experiments.values.outcome_rows import outcome_to_row, row_to_outcome
from metrics.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Known:
    """The outcome of a plan, given by its digest, in the run in directory `source`."""

    plan: str
    outcome: Outcome
    source: str


class ReusedTable:
    """The tables `known` and `adopted` of a store. Stores before version 3 have neither."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use an open connection; `path` appears in error messages."""
        self._db, self._path = connection, path

    def all(self) -> dict[str, Known]:
        """Return the known outcomes, by the digest of the plan."""
        rows = self._rows("known", "SELECT * FROM known")
        with entry_errors(self._path):
            return {
                row["plan_digest"]: Known(row["plan_digest"], row_to_outcome(dict(row)), row["source"]) for row in rows
            }

    def add(self, known: Iterable[Known]) -> None:
        """Add the outcomes of plans that are not in the table yet."""
        with database_errors(self._path), self._db:
            insert_known(self._db, known)

    def adopted(self) -> int:
        """Return the last adopted iteration; 0 if the explorer itself asked for all iterations."""
        rows = self._rows("adopted", "SELECT max(iteration) AS last FROM adopted")
        return int(rows[0]["last"] or 0) if rows else 0

    def adopt(self, iteration: int) -> None:
        """Record that the iterations up to `iteration` are adopted: told to the explorer without being asked for."""
        with database_errors(self._path), self._db:
            self._db.execute("INSERT OR REPLACE INTO adopted VALUES (?, ?)",
                             (iteration, datetime.now(UTC).isoformat(timespec="milliseconds")))

    def _rows(self, table: str, query: str) -> list[sqlite3.Row]:
        with database_errors(self._path):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall():
                return []
            return self._db.execute(query).fetchall()


def insert_known(connection: sqlite3.Connection, known: Iterable[Known]) -> None:
    """Insert the outcomes of plans that are not in the table yet."""
    for entry in known:
        row = outcome_to_row(entry.outcome) | {"plan_digest": entry.plan, "source": entry.source}
        connection.execute(f"INSERT OR IGNORE INTO known ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                           tuple(row.values()))
