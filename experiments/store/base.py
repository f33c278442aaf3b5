"""The open store of one run: what it contains, and how results are added."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TextIO

from experiments.store.compact import compact_outcome, compact_plan
from experiments.store.errors import damaged, database_errors, entry_errors
from experiments.store.finals_table import FinalsTable
from experiments.store.profiles_table import ProfilesTable
from experiments.store.reused_table import ReusedTable
from experiments.values.environment import Environment, current_environment
from experiments.values.options import Budget, RunOptions
from experiments.values.outcome_rows import outcome_to_row, row_to_outcome
from experiments.values.program_json import from_json, subject_from_json, to_json
from experiments.values.records import Asked, Ending, Evaluation, Result, RunInfo
from generator.errors import InputError
from generator.plain_text import one_line
from generator.plan import Plan, plan_from_json
from generator.problem import Reference, load_reference, take_baselines
from graph.interning import Interning
from metrics.outcome import Outcome
from runners.base import DeviceInfo

SCHEMA_VERSION = 4
READABLE = (1, 2, 3, SCHEMA_VERSION)
"""Readable store versions. Older ones lack what schema_2.sql and later add; opening them for writing upgrades them."""
STORE_FILE = "run.sqlite"
REFERENCE_FILE = "reference.npz"
INSERT_SESSION = "INSERT INTO session (started_at, budget, environment, driver) VALUES (?, ?, ?, ?)"

_RESULTS = """
    SELECT number, iteration, ant, plan, plan_digest, outcome.*
    FROM evaluation JOIN outcome ON outcome.evaluation = number
    WHERE number BETWEEN ? AND ?"""
_TOLD = """
    SELECT number, iteration, ant, walk, plan_digest, kind, outcome.message, phase, limit_s, median_ms, low_ms, high_ms,
        host_ms, samples_ms, outcome.kernels, code_hash, stopped_early, generate_s, compile_s, check_s, time_s, device,
        profile.source, profile.kernels
    FROM evaluation JOIN outcome ON outcome.evaluation = number LEFT JOIN profile ON profile.evaluation = number
    WHERE number BETWEEN ? AND ? ORDER BY number"""


def utc_now() -> str:
    """Return the current time in UTC as ISO 8601 text. For display only: clocks may jump, so nothing is computed from
    it.
    """
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Store:
    """The results of one run. Made by `create_store`, `open_store` or `read_store`; close it after use.

    Stored results never change, so each is read once, however often `results` is called.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: TextIO | None) -> None:
        """Internal: use the functions of `experiments.store`. Only a writer has a `lock`."""
        self.directory = directory
        self._path = directory / STORE_FILE
        self._db = connection
        self._db.row_factory = sqlite3.Row
        self._lock = lock
        self.finals = FinalsTable(connection, self._path)
        self.profiles = ProfilesTable(connection, self._path)
        self.reused = ReusedTable(connection, self._path)
        self._known: dict[int, Result] = {}
        self._interning = Interning()
        self._place = _identity(self._path) if lock is not None else None

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Release the file and the lock. A writer leaves one file without a journal."""
        if self._lock is not None:
            with suppress(sqlite3.OperationalError):  # another process is reading: the journal stays, which is harmless
                self._db.execute("PRAGMA busy_timeout = 100")
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def info(self) -> RunInfo:
        """Return the facts of the run that never change."""
        row = self._row("SELECT * FROM run")
        program = subject_from_json(row["program"])
        if program.digest != row["program_digest"]:
            raise damaged(self._path, "the program does not have its digest")
        with entry_errors(self._path):
            return RunInfo(row["created_at"], from_json(row["options"], RunOptions), row["source_hash"],
                           row["source_text"], program, from_json(row["device"], DeviceInfo), row["compiler"],
                           tuple(json.loads(row["sequential_ms"])),
                           take_baselines(json.loads(dict(row).get("baselines") or "[]")))

    def reference(self) -> Reference:
        """Return the inputs, the expected outputs and the sequential baseline. Raises InputError if they cannot be
        read.
        """
        path = self.directory / REFERENCE_FILE
        try:
            return load_reference(path)
        except (OSError, ValueError, KeyError, RecursionError, TypeError) as error:
            raise InputError(f"{path} cannot be read: {error}; start a new run") from None

    def begin_session(self, budget: Budget, driver: str) -> None:
        """Record that this process continues the run from now on, within `budget`."""
        with self._writing():
            self._db.execute(INSERT_SESSION, (utc_now(), to_json(budget), to_json(current_environment()), driver))

    def end_session(self, ending: Ending) -> None:
        """Record how the latest session ended."""
        with self._writing():
            self._db.execute("UPDATE session SET ending = ? WHERE number = (SELECT max(number) FROM session)",
                             (ending,))

    def budget(self) -> Budget:
        """Return the budget of the latest session."""
        row = self._row("SELECT budget FROM session ORDER BY number DESC")
        return from_json(row["budget"], Budget)

    def environment(self) -> Environment:
        """Return the environment of the latest session."""
        row = self._row("SELECT environment FROM session ORDER BY number DESC")
        return from_json(row["environment"], Environment)

    def environments(self) -> tuple[Environment, ...]:
        """Return the environments of all sessions, in order."""
        return tuple(from_json(row["environment"], Environment)
                     for row in self._rows("SELECT environment FROM session ORDER BY number"))

    def driver(self) -> str:
        """Return the device's driver in the latest session."""
        return str(self._row("SELECT driver FROM session ORDER BY number DESC")["driver"])

    def ending(self) -> Ending | None:
        """Return how the latest session ended; None if it was killed or is still running."""
        row = self._row("SELECT ending FROM session ORDER BY number DESC")
        ending: Ending | None = row["ending"]
        return ending

    def asked(self, iteration: int) -> int | None:
        """Return how many walks the explorer was asked for in `iteration`; None if the iteration has not begun."""
        rows = self._rows("SELECT asked FROM iteration WHERE number = ?", iteration)
        return int(rows[0]["asked"]) if rows else None

    def iterations(self) -> int:
        """Return the number of iterations begun, not counting that of the default plan."""
        return int(self._row("SELECT count(*) FROM iteration WHERE number > 0")[0])

    def add_batch(self, iteration: int, asked: int, batch: Sequence[Evaluation]) -> None:
        """Record the evaluations of an iteration before they are measured."""
        rows = [(e.number, e.iteration, e.ant, e.walk, e.plan.to_json(), e.plan.digest) for e in batch]
        with self._writing():
            self._db.execute("INSERT INTO iteration VALUES (?, ?)", (iteration, asked))
            self._db.executemany("INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?)", rows)

    def batch(self, iteration: int) -> tuple[Evaluation, ...]:
        """Return the evaluations of `iteration`, in ask order."""
        rows = self._rows("SELECT * FROM evaluation WHERE iteration = ? ORDER BY number", iteration)
        with entry_errors(self._path):
            return tuple(_evaluation(row) for row in rows)

    def add_result(self, number: int, outcome: Outcome, elapsed_s: float, reused_from: str | None = None) -> None:
        """Record the outcome of evaluation `number` durably.

        `reused_from` is the run that measured the outcome, if it was not this one.
        """
        row = outcome_to_row(outcome) | {"evaluation": number, "finished_at": utc_now(), "elapsed_s": elapsed_s,
                                         "reused_from": reused_from}
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        with self._writing():
            self._db.execute(f"INSERT INTO outcome ({names}) VALUES ({marks})", tuple(row.values()))

    def forget_result(self, number: int) -> None:
        """Remove the outcome of evaluation `number`, as if it had not finished; it says nothing about the plan."""
        with self._writing():
            self._db.execute("DELETE FROM outcome WHERE evaluation = ?", (number,))
        self._known.pop(number, None)

    def results(self) -> tuple[Result, ...]:
        """Return all finished evaluations, by number."""
        finished = [row[0] for row in self._rows("SELECT evaluation FROM outcome ORDER BY evaluation")]
        missing = [number for number in finished if number not in self._known]
        if missing:
            with database_errors(self._path), entry_errors(self._path):
                rows = self._db.execute(_RESULTS, (missing[0], missing[-1]))
                self._known |= {row["number"]: self._result(row) for row in rows if row["number"] not in self._known}
        if any(number not in self._known for number in finished):
            raise damaged(self._path, "there is an outcome without its evaluation")
        return tuple(self._known[number] for number in finished)

    def walks(self) -> dict[int, str]:
        """Return the walks of all finished evaluations, by number."""
        rows = self._rows(
            "SELECT number, walk FROM evaluation JOIN outcome ON outcome.evaluation = number ORDER BY number"
        )
        return {row["number"]: row["walk"] for row in rows}

    def finished(self) -> int:
        """Return the number of evaluations that have an outcome."""
        return int(self._row("SELECT count(*) FROM outcome")[0])

    def outcomes(self, first: int, last: int) -> dict[int, Outcome]:
        """Return the outcomes of the finished evaluations from `first` to `last`, by number, in order."""
        rows = self._rows("SELECT * FROM outcome WHERE evaluation BETWEEN ? AND ? ORDER BY evaluation", first, last)
        with entry_errors(self._path):
            return {row["evaluation"]: row_to_outcome(dict(row)) for row in rows}

    def told(self, first: int, last: int) -> Iterator[tuple[object, ...]]:
        """Yield a row for each finished evaluation from `first` to `last`: all that an explorer gets, as stored."""
        with database_errors(self._path):
            for row in self._db.execute(_TOLD, (first, last)):
                yield tuple(row)

    def elapsed_s(self) -> float:
        """Return the active seconds of the run so far, over all sessions."""
        return float(self._row("SELECT coalesce(max(elapsed_s), 0) FROM outcome")[0])

    def check(self) -> None:
        """Raise InputError if the file is not a store or was made by an unknown version."""
        version = self._row("PRAGMA user_version")[0]
        if version in (0, *READABLE) and not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'session'"):
            raise damaged(self._path, "it is empty, cut off, or no run of antune")
        if version not in READABLE:
            raise InputError(f"{self._path} was made by another version of antune (store version {version}, this one "
                             f"reads {SCHEMA_VERSION}); use that version or start a new run")
        if foreign := self._rows(
            "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'"
        ):
            raise damaged(
                self._path, f"it has a view or trigger {one_line(str(foreign[0][0]))!r}, which would run what it says"
            )

    def _result(self, row: sqlite3.Row) -> Result:
        columns = dict(row)
        asked = Asked(row["number"], row["iteration"], row["ant"], compact_plan(_plan(row), self._interning))
        outcome = compact_outcome(row_to_outcome(columns), self._interning)
        return Result(asked, outcome, row["finished_at"], row["elapsed_s"], columns.get("reused_from"))

    def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        with database_errors(self._path):
            return self._db.execute(query, values).fetchall()

    def _row(self, query: str) -> sqlite3.Row:
        """Return the first row; a sound store has one."""
        rows = self._rows(query)
        if not rows:
            raise damaged(self._path, "an entry is missing")
        return rows[0]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write everything inside the block in one transaction."""
        with database_errors(self._path), self._db:
            yield
        if self._place is not None and _identity(self._path) != self._place:
            raise InputError(
                f"{self.directory} was deleted, moved or replaced while antune worked in it, so nothing more can be "
                "saved there; put it back and resume it, or start a new run"
            )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _evaluation(row: sqlite3.Row) -> Evaluation:
    return Evaluation(row["number"], row["iteration"], row["ant"], _plan(row), row["walk"])


def _plan(row: sqlite3.Row) -> Plan:
    if hashlib.sha256(row["plan"].encode()).hexdigest()[:16] != row["plan_digest"]:
        raise ValueError(f"the plan of evaluation {row['number']} does not have its digest")
    return plan_from_json(row["plan"])


