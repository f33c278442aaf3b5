"""Measured plans of one device: a SQLite file that only grows, one row per plan, stored at once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from generator.errors import InputError
from generator.plan import Plan, plan_from_json
from metrics.outcome import Outcome, Timed

_TABLES = """
CREATE TABLE IF NOT EXISTS device (key TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plans (
    source TEXT NOT NULL, parameters TEXT NOT NULL, round INTEGER NOT NULL, digest TEXT NOT NULL, plan TEXT NOT NULL,
    status TEXT NOT NULL, ms REAL, kernels TEXT NOT NULL,
    PRIMARY KEY (source, parameters, digest)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """A program: the file of a pipeline, and what its function is called with (extents among them), sorted by name."""

    source: str
    parameters: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """The parameters as JSON, as they are stored."""
        return json.dumps([list(pair) for pair in self.parameters], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A plan that was measured: milliseconds of the program and of its kernels, by their statements; None: it failed.

    `round`: of several rounds of autotuning the one that asked for it, from 1; 0 for random plans.
    """

    origin: Origin
    round: int
    plan: Plan
    status: str
    ms: float | None
    kernels: tuple[tuple[tuple[str, ...], float], ...]


class Database:
    """The file. Closing it is up to the caller (`contextlib.closing`)."""

    def __init__(self, file: Path, key: str, name: str) -> None:
        """Open or make the file, for the device `key` called `name`.

        Raises:
            InputError: it is no such file, or one of another device.
        """
        try:
            self._base = sqlite3.connect(file, timeout=30.0)
            self._base.executescript(f"PRAGMA journal_mode = WAL; {_TABLES}")
            stored = self._base.execute("SELECT key, name FROM device").fetchone()
        except sqlite3.Error as error:
            raise InputError(f"{file} is no database of measured plans: {error}; name another file") from None
        if stored is None:
            with self._base:
                self._base.execute("INSERT INTO device VALUES (?, ?)", (key, name))
        elif stored[0] != key:
            self._base.close()
            raise InputError(f"{file} has plans of {stored[1]} ({stored[0]}), not of {key}; name another file")

    def close(self) -> None:
        """No more."""
        self._base.close()

    def add(self, origin: Origin, number: int, plan: Plan, outcome: Outcome) -> None:
        """Store what became of `plan`, at once; the same plan again replaces it. `number`: the round."""
        timed = outcome if isinstance(outcome, Timed) else None
        kernels = [[list(one.statements), one.median_ms] for one in timed.kernels] if timed else []
        row = (origin.source, origin.text, number, plan.digest, plan.to_json(), type(outcome).__name__,
               timed.median_ms if timed else None, json.dumps(kernels, separators=(",", ":")))
        with self._base:
            self._base.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def count(self, origin: Origin | None = None) -> int:
        """The plans of a program, failures included; of all."""
        if origin is None:
            found = self._base.execute("SELECT count(*) FROM plans")
        else:
            found = self._base.execute("SELECT count(*) FROM plans WHERE source = ? AND parameters = ?",
                                       (origin.source, origin.text))
        return int(found.fetchone()[0])

    def digests(self, origin: Origin) -> frozenset[str]:
        """The digests of the plans of a program."""
        rows = self._base.execute("SELECT digest FROM plans WHERE source = ? AND parameters = ?",
                                  (origin.source, origin.text))
        return frozenset(digest for (digest,) in rows)

    def origins(self) -> tuple[Origin, ...]:
        """All programs, in order."""
        rows = self._base.execute("SELECT DISTINCT source, parameters FROM plans ORDER BY source, parameters")
        return tuple(Origin(source, tuple((name, value) for name, value in json.loads(text))) for source, text in rows)

    def plans(self, origin: Origin) -> Iterator[MeasuredPlan]:
        """The plans of a program, by round and digest."""
        rows = self._base.execute("SELECT round, plan, status, ms, kernels FROM plans WHERE source = ? AND "
                                  "parameters = ? ORDER BY round, digest", (origin.source, origin.text))
        for number, plan, status, ms, kernels in rows:
            times = tuple((tuple(statements), taken) for statements, taken in json.loads(kernels))
            yield MeasuredPlan(origin, number, plan_from_json(plan), status, ms, times)


def device_of(file: Path) -> tuple[str, str]:
    """The key and the name of the device of a database. Raises InputError: it is none."""
    if not file.is_file():
        raise InputError(f"{file} does not exist; collect measured plans with `python -m experiments.learning.collect`")
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
            stored = base.execute("SELECT key, name FROM device").fetchone()
    except sqlite3.Error as error:
        raise InputError(f"{file} is no database of measured plans: {error}; name another file") from None
    if stored is None:
        raise InputError(f"{file} has no device and no plans; name another file")
    return str(stored[0]), str(stored[1])
