"""Profiler counters in the store of a run."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TypeAlias

from experiments.store.errors import database_errors, entry_errors
from metrics.outcome import NoProfile, Profile

Counted: TypeAlias = Profile | NoProfile


class ProfilesTable:
    """The table `profile` of a store. Stores of version 1 have no such table and no profiles."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use an open connection; `path` appears in error messages."""
        self._db, self._path = connection, path

    def add(self, evaluation: int, counted: Counted) -> None:
        """Record the profile of `evaluation`, replacing any earlier one."""
        row: tuple[int, str | None, str | None, str | None]
        match counted:
            case Profile(source, kernels):
                row = (evaluation, source, None, json.dumps([[list(names), dict(values)] for names, values in kernels]))
            case NoProfile(message):
                row = (evaluation, None, message, None)
        with database_errors(self._path), self._db:
            self._db.execute("INSERT OR REPLACE INTO profile VALUES (?, ?, ?, ?)", row)

    def all(self) -> dict[int, Counted]:
        """Return the profiles, by evaluation."""
        with database_errors(self._path):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'profile'").fetchall():
                return {}
            rows = self._db.execute("SELECT * FROM profile ORDER BY evaluation").fetchall()
        with entry_errors(self._path):
            return {row["evaluation"]: _counted(row) for row in rows}


def _counted(row: sqlite3.Row) -> Counted:
    if row["source"] is None:
        return NoProfile(row["message"])
    kernels = tuple((tuple(names), tuple(values.items())) for names, values in json.loads(row["kernels"]))
    return Profile(row["source"], kernels)
