"""Known outcomes of other runs, in the store of the run that uses them, and which part of a history was adopted."""

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
    """What a plan, by its digest, came to in the run in directory `source`."""

    plan: str
    outcome: Outcome
    source: str


class ReusedTable:
    """The tables `known` and `adopted` of a store. Stores before version 3 have neither."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """`path` is for messages."""
        self._db, self._path = connection, path

    def all(self) -> dict[str, Known]:
        """What is known, by a plan's digest."""
        rows = self._rows("known", "SELECT * FROM known")
        with entry_errors(self._path):
            return {
                row["plan_digest"]: Known(row["plan_digest"], row_to_outcome(dict(row)), row["source"]) for row in rows
            }

    def add(self, known: Iterable[Known]) -> None:
        """Add what is not known yet."""
        with database_errors(self._path), self._db:
            insert_known(self._db, known)

    def adopted(self) -> int:
        """The last iteration that was told as somebody else's; 0 when the explorer asked for all of them."""
        rows = self._rows("adopted", "SELECT max(iteration) AS last FROM adopted")
        return int(rows[0]["last"] or 0) if rows else 0

    def adopt(self, iteration: int) -> None:
        """From now on, iterations up to this one are told as somebody else's."""
        with database_errors(self._path), self._db:
            self._db.execute("INSERT OR REPLACE INTO adopted VALUES (?, ?)",
                             (iteration, datetime.now(UTC).isoformat(timespec="milliseconds")))

    def _rows(self, table: str, query: str) -> list[sqlite3.Row]:
        with database_errors(self._path):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall():
                return []
            return self._db.execute(query).fetchall()


def insert_known(connection: sqlite3.Connection, known: Iterable[Known]) -> None:
    """Enter what a store does not know yet."""
    for entry in known:
        row = outcome_to_row(entry.outcome) | {"plan_digest": entry.plan, "source": entry.source}
        connection.execute(f"INSERT OR IGNORE INTO known ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                           tuple(row.values()))
