"""The finals of a run in its store: the plans measured again and the outcomes of each sitting."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from experiments.store.errors import database_errors, entry_errors
from experiments.values.outcome_rows import outcome_to_row, row_to_outcome
from metrics.outcome import Outcome

Final: TypeAlias = tuple[Mapping[int, Outcome], ...]
"""One final: its sittings in order, each a mapping from evaluations to outcomes."""


class FinalsTable:
    """The tables `final` and `finalist` of a store. Stores of version 1 have no such tables and no finals."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use an open connection; `path` appears in error messages."""
        self._db, self._path = connection, path

    def begin(self) -> int:
        """Record that a final begins, and return its number."""
        with database_errors(self._path), self._db:
            number = self._db.execute("INSERT INTO final (started_at) VALUES (?)",
                                      (datetime.now(UTC).isoformat(timespec="milliseconds"),)).lastrowid
        assert number is not None
        return number

    def add_sitting(self, final: int, sitting: int, outcomes: Mapping[int, Outcome]) -> None:
        """Record a whole sitting durably."""
        with database_errors(self._path), self._db:
            for evaluation, outcome in outcomes.items():
                row = outcome_to_row(outcome) | {"final": final, "sitting": sitting, "evaluation": evaluation}
                self._db.execute(f"INSERT INTO finalist ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                                 tuple(row.values()))

    def latest(self) -> Final:
        """Return the last final that has a sitting; () if there is none."""
        with database_errors(self._path):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'finalist'").fetchall():
                return ()
            rows = self._db.execute("SELECT * FROM finalist WHERE final = (SELECT max(final) FROM finalist) "
                                    "ORDER BY sitting, evaluation").fetchall()
        sittings: dict[int, dict[int, Outcome]] = {}
        with entry_errors(self._path):
            for row in rows:
                sittings.setdefault(row["sitting"], {})[row["evaluation"]] = row_to_outcome(dict(row))
        return tuple(sittings.values())
