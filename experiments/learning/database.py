"""Measured plans of one device: a SQLite file that only grows, one row per plan and series, stored at once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from experiments.learning.series import Origin, Series
from generator.errors import InputError
from generator.plan import Plan, plan_from_json
from metrics.outcome import Outcome, Timed

VERSION, OLDER = 3, 2
"""Files of version 2 do not have the column `guided`; it is added."""
_TABLES = f"""
PRAGMA user_version = {VERSION};
CREATE TABLE IF NOT EXISTS device (key TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plans (
    source TEXT NOT NULL, parameters TEXT NOT NULL, program TEXT NOT NULL, environment TEXT NOT NULL,
    round INTEGER NOT NULL, digest TEXT NOT NULL, plan TEXT NOT NULL, status TEXT NOT NULL, ms REAL,
    kernels TEXT NOT NULL, guided INTEGER,
    PRIMARY KEY (source, parameters, program, environment, digest)) WITHOUT ROWID;
"""
_OF_SERIES = "WHERE source = ? AND parameters = ? AND program = ? AND environment = ?"


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A measured plan: milliseconds of the program and of its kernels, by their statements; None: it failed.

    `round`: the round of autotuning that requested it, from 1; 0 for plans of `collect`. `guided`: whether a search
    with a model found it (False: it is random); None if that was not stored.
    """

    origin: Origin
    round: int
    plan: Plan
    status: str
    ms: float | None
    kernels: tuple[tuple[tuple[str, ...], float], ...]
    guided: bool | None = None


class Database:
    """The file. The caller must close it (`contextlib.closing`)."""

    def __init__(self, file: Path, key: str, name: str) -> None:
        """Open or make the file, for the device `key` with the name `name`.

        Raises:
            InputError: it is not such a file, or belongs to another device.
        """
        try:
            self._base = sqlite3.connect(file, timeout=30.0)
            if _check_version(self._base, file) == OLDER:
                _upgrade(self._base)
            self._base.executescript(f"PRAGMA journal_mode = WAL; {_TABLES}")
            stored = self._base.execute("SELECT key, name FROM device").fetchone()
        except sqlite3.Error as error:
            raise InputError(f"{file} is not a database of measured plans: {error}; name another file") from None
        if stored is None:
            with self._base:
                self._base.execute("INSERT INTO device VALUES (?, ?)", (key, name))
        elif stored[0] != key:
            self._base.close()
            raise InputError(f"{file} has plans of {stored[1]} ({stored[0]}), not of {key}; name another file (`antune "
                             "autotune`: another folder with --out)")

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def add(self, series: Series, number: int, plan: Plan, outcome: Outcome, guided: bool | None = None) -> None:
        """Store the outcome of `plan` at once; the same plan again replaces it. `number`: the round. `guided`: see
        MeasuredPlan.
        """
        timed = outcome if isinstance(outcome, Timed) else None
        kernels = [[list(one.statements), one.median_ms] for one in timed.kernels] if timed else []
        row = (*_values(series), number, plan.digest, plan.to_json(), type(outcome).__name__,
               timed.median_ms if timed else None, json.dumps(kernels, separators=(",", ":")), guided)
        with self._base:
            self._base.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def count(self, series: Series | None = None) -> int:
        """Return the number of plans of a series (None: of all), including failures."""
        if series is None:
            found = self._base.execute("SELECT count(*) FROM plans")
        else:
            found = self._base.execute(f"SELECT count(*) FROM plans {_OF_SERIES}", _values(series))
        return int(found.fetchone()[0])

    def digests(self, series: Series) -> frozenset[str]:
        """Return the digests of the plans of a series."""
        rows = self._base.execute(f"SELECT digest FROM plans {_OF_SERIES}", _values(series))
        return frozenset(digest for (digest,) in rows)

    def series(self) -> tuple[Series, ...]:
        """Return all series, in order."""
        rows = self._base.execute("SELECT DISTINCT source, parameters, program, environment FROM plans ORDER BY 1, 2, "
                                  "3, 4")
        return tuple(Series(Origin(source, tuple((name, value) for name, value in json.loads(text))), *digests)
                     for source, text, *digests in rows)

    def plans(self, series: Series) -> Iterator[MeasuredPlan]:
        """Yield the plans of a series, by round and digest."""
        rows = self._base.execute(f"SELECT round, plan, status, ms, kernels, guided FROM plans {_OF_SERIES} ORDER BY "
                                  "round, digest", _values(series))
        for number, plan, status, ms, kernels, guided in rows:
            times = tuple((tuple(statements), taken) for statements, taken in json.loads(kernels))
            yield MeasuredPlan(series.origin, number, plan_from_json(plan), status, ms, times,
                               None if guided is None else bool(guided))


def _values(series: Series) -> tuple[str, str, str, str]:
    return series.origin.source, series.origin.text, series.program, series.environment


def _check_version(base: sqlite3.Connection, file: Path) -> int | None:
    """Return the version of the file; None for an empty one.

    Raises InputError if it is not known: versions before `OLDER` did not store the program of measurements.
    """
    [version] = base.execute("PRAGMA user_version").fetchone()
    [there] = base.execute("SELECT count(*) FROM sqlite_master WHERE name = 'plans'").fetchone()
    if there and version not in (VERSION, OLDER):
        base.close()
        raise InputError(f"{file} is of another version of antune, with times of which nobody knows what program and "
                         "driver they belong to; name another file, or remove this one")
    return int(version) if there else None


def _upgrade(base: sqlite3.Connection) -> None:
    """Make a file of version `OLDER` one of `VERSION`, in one transaction: whoever ends in between changes nothing."""
    base.execute("BEGIN IMMEDIATE")
    with base:
        [version] = base.execute("PRAGMA user_version").fetchone()
        if version != OLDER:
            return  # another process was faster
        columns = [name for _, name, *_ in base.execute("PRAGMA table_info(plans)")]
        if "guided" not in columns:  # antune once added it and stored the version afterwards
            base.execute("ALTER TABLE plans ADD COLUMN guided INTEGER")
        base.execute(f"PRAGMA user_version = {VERSION}")


def device_of(file: Path) -> tuple[str, str]:
    """Return the key and the name of the device of a database. Raises InputError if the file is not one."""
    if not file.is_file():
        raise InputError(f"{file} does not exist; collect measured plans with `python -m experiments.learning.collect`")
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
            _check_version(base, file)
            stored = base.execute("SELECT key, name FROM device").fetchone()
    except sqlite3.Error as error:
        raise InputError(f"{file} is not a database of measured plans: {error}; name another file") from None
    if stored is None:
        raise InputError(f"{file} has no device and no plans; name another file")
    return str(stored[0]), str(stored[1])
