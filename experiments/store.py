"""The durable store of one run: one SQLite file in the run's directory, one writer, a commit per result.

`run.sqlite` appears by a rename when it is complete, so a directory with that file is a run and any other is
not. Whoever writes holds a lock that the operating system drops when the process dies.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, Self, TextIO

from experiments.environment import Environment, current_environment
from experiments.finals_table import FinalsTable
from experiments.options import Budget, RunOptions
from experiments.outcome_rows import outcome_to_row, row_to_outcome
from experiments.profiles_table import ProfilesTable
from experiments.program_json import from_json, to_json
from experiments.records import Ending, Evaluation, Result, RunInfo
from experiments.store_errors import damaged, database_errors, entry_errors
from experiments.words import command
from generator.errors import InputError
from generator.plan import plan_from_json
from generator.problem import Reference, load_reference, save_reference
from generator.program import Program
from metrics.outcome import Outcome
from runners.base import DeviceInfo

SCHEMA_VERSION = 2
READABLE = (1, SCHEMA_VERSION)
"""Version 1 lacks what schema_2.sql adds; it is brought up to date when it is written to."""
STORE_FILE = "run.sqlite"
REFERENCE_FILE = "reference.npz"
LOCK_FILE = "run.lock"
_INSERT_SESSION = "INSERT INTO session (started_at, budget, environment, driver) VALUES (?, ?, ?, ?)"


def utc_now() -> str:
    """The time as ISO 8601 text in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def is_run(directory: Path) -> bool:
    """True when `directory` holds a run."""
    return (directory / STORE_FILE).is_file()


def is_busy(directory: Path) -> bool:
    """True when some process is working on the run in `directory`."""
    lock = directory / LOCK_FILE
    if not lock.exists():
        return False
    with lock.open() as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


class Store:
    """The results of one run. Made by `create_store`, `open_store` or `read_store`; close it after use."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: TextIO | None) -> None:
        """Internal: use the functions of this module."""
        self.directory = directory
        self._path = directory / STORE_FILE
        self._db = connection
        self._db.row_factory = sqlite3.Row
        self._lock = lock
        self.finals = FinalsTable(connection, self._path)
        self.profiles = ProfilesTable(connection, self._path)

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the file and the lock back; a writer leaves one file without a journal beside it."""
        if self._lock is not None:
            with suppress(sqlite3.OperationalError):  # somebody is reading: the journal stays, to no harm
                self._db.execute("PRAGMA busy_timeout = 100")
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def info(self) -> RunInfo:
        """The fixed facts of the run."""
        row = self._row("SELECT * FROM run")
        program = from_json(row["program"], Program)
        if program.digest != row["program_digest"]:
            raise damaged(self._path, "the program does not have its digest")
        with entry_errors(self._path):
            return RunInfo(row["created_at"], from_json(row["options"], RunOptions), row["source_hash"],
                           row["source_text"], program, from_json(row["device"], DeviceInfo), row["compiler"],
                           tuple(json.loads(row["sequential_ms"])))

    def reference(self) -> Reference:
        """The inputs, the expected outputs and the sequential baseline. Raises InputError when they are lost."""
        path = self.directory / REFERENCE_FILE
        try:
            return load_reference(path)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path} cannot be read: {error}; start a new run") from None

    def begin_session(self, budget: Budget, driver: str) -> None:
        """Record that this process works on the run from now on, within `budget`."""
        with self._writing():
            self._db.execute(_INSERT_SESSION, _session_row(budget, driver))

    def end_session(self, ending: Ending) -> None:
        """Record how the latest session ended."""
        with self._writing():
            self._db.execute("UPDATE session SET ending = ? WHERE number = (SELECT max(number) FROM session)",
                             (ending,))

    def budget(self) -> Budget:
        """The budget of the latest session."""
        row = self._row("SELECT budget FROM session ORDER BY number DESC")
        return from_json(row["budget"], Budget)

    def environment(self) -> Environment:
        """The environment of the latest session."""
        row = self._row("SELECT environment FROM session ORDER BY number DESC")
        return from_json(row["environment"], Environment)

    def ending(self) -> Ending | None:
        """How the latest session ended; None when it was killed or is still at work."""
        row = self._row("SELECT ending FROM session ORDER BY number DESC")
        ending: Ending | None = row["ending"]
        return ending

    def asked(self, iteration: int) -> int | None:
        """How many walks the explorer was asked for in `iteration`, None when it has not begun."""
        rows = self._rows("SELECT asked FROM iteration WHERE number = ?", iteration)
        return int(rows[0]["asked"]) if rows else None

    def iterations(self) -> int:
        """The number of iterations that were begun, without that of the default plan."""
        return int(self._row("SELECT count(*) FROM iteration WHERE number > 0")[0])

    def add_batch(self, iteration: int, asked: int, batch: Sequence[Evaluation]) -> None:
        """Record what an iteration will evaluate, before it does."""
        rows = [(e.number, e.iteration, e.ant, e.walk, e.plan.to_json(), e.plan.digest) for e in batch]
        with self._writing():
            self._db.execute("INSERT INTO iteration VALUES (?, ?)", (iteration, asked))
            self._db.executemany("INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?)", rows)

    def batch(self, iteration: int) -> tuple[Evaluation, ...]:
        """What `iteration` asked for, in ask order."""
        rows = self._rows("SELECT * FROM evaluation WHERE iteration = ? ORDER BY number", iteration)
        with entry_errors(self._path):
            return tuple(_evaluation(row) for row in rows)

    def add_result(self, number: int, outcome: Outcome, elapsed_s: float) -> None:
        """Record the outcome of evaluation `number`; it survives whatever happens next."""
        row = outcome_to_row(outcome) | {"evaluation": number, "finished_at": utc_now(), "elapsed_s": elapsed_s}
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        with self._writing():
            self._db.execute(f"INSERT INTO outcome ({names}) VALUES ({marks})", tuple(row.values()))

    def results(self) -> tuple[Result, ...]:
        """Every finished evaluation, by number."""
        rows = self._rows("SELECT * FROM evaluation JOIN outcome ON outcome.evaluation = evaluation.number "
                          "ORDER BY number")
        with entry_errors(self._path):
            return tuple(Result(_evaluation(row), row_to_outcome(dict(row)), row["finished_at"], row["elapsed_s"])
                         for row in rows)

    def elapsed_s(self) -> float:
        """Active seconds of the run so far, over all sessions."""
        return float(self._row("SELECT coalesce(max(elapsed_s), 0) FROM outcome")[0])

    def check(self) -> None:
        """Raise InputError when the file was made by another version, or is no store at all."""
        version = self._row("PRAGMA user_version")[0]
        if version not in READABLE or not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'session'"):
            raise InputError(f"{self._path} was made by another version of antune (store version {version}, this one "
                             f"reads {SCHEMA_VERSION}); use that version or start a new run")

    def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        with database_errors(self._path):
            return self._db.execute(query, values).fetchall()

    def _row(self, query: str) -> sqlite3.Row:
        """The first row; a sound store has one."""
        rows = self._rows(query)
        if not rows:
            raise damaged(self._path, "an entry is missing")
        return rows[0]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All or nothing of what is written inside."""
        with database_errors(self._path), self._db:
            yield


def _evaluation(row: sqlite3.Row) -> Evaluation:
    return Evaluation(row["number"], row["iteration"], row["ant"], row["walk"], plan_from_json(row["plan"]))


@dataclass(frozen=True, slots=True)
class Reservation:
    """A locked directory for a new run; `made` are the folders that did not exist before, outermost first."""

    directory: Path
    lock: TextIO
    made: tuple[Path, ...]


def reserve(directory: Path, source_hash: str) -> Reservation:
    """Make `directory` where needed and lock it for a new run; `create_store` takes the lock over.

    Raises:
        InputError: the directory holds a run already, is in use, or cannot be written.
    """
    made = tuple(path for path in (*reversed(directory.parents), directory) if not path.exists())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = _take_lock(directory)
    except OSError as error:
        raise InputError(_unwritable(error)) from None
    if is_run(directory):
        lock.close()
        raise InputError(_taken(directory, source_hash))
    return Reservation(directory, lock, made)


def abandon(reserved: Reservation) -> None:
    """Undo `reserve` when no run came of it: what it made disappears unless it holds something else."""
    reserved.lock.close()
    if is_run(reserved.directory):
        return
    for name in (LOCK_FILE, REFERENCE_FILE, _unfinished(REFERENCE_FILE), _unfinished(STORE_FILE)):
        (reserved.directory / name).unlink(missing_ok=True)
    for path in reversed(reserved.made):
        if any(path.iterdir()):
            return
        path.rmdir()


def create_store(reserved: Reservation, info: RunInfo, reference: Reference, driver: str) -> Store:
    """A new run in the reserved directory. Raises InputError when it cannot be written."""
    directory = reserved.directory
    try:
        _save_reference(reference, directory / REFERENCE_FILE)
        _write_store(directory, info, driver)
    except OSError as error:
        raise InputError(_unwritable(error)) from None
    return Store(directory, _connect(directory), reserved.lock)


def _session_row(budget: Budget, driver: str) -> tuple[str, str, str, str]:
    return utc_now(), to_json(budget), to_json(current_environment()), driver


def _unwritable(error: OSError) -> str:
    return f"the run directory cannot be written: {error}; choose another with --out"


def _taken(directory: Path, source_hash: str) -> str:
    try:
        with read_store(directory) as store:
            stored = store.info().source_hash
    except InputError:
        return f"{directory} holds a run that cannot be read; choose another with --out"
    what = "a run" if stored == source_hash else "a run made with another version of the file"
    return f"{directory} already holds {what}: go on with `{command('resume', directory)}`, or choose another --out"


def open_store(directory: Path) -> Store:
    """The run in `directory`, for writing.

    Raises:
        InputError: there is no run, another version made it, or another process works on it.
    """
    read_store(directory).close()  # nothing is written to what is no store of ours
    lock = _take_lock(directory)
    connection = _connect(directory)
    _update(connection, directory / STORE_FILE)
    return Store(directory, connection, lock)


def _update(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a store of version 1 up to date, all or nothing."""
    with database_errors(path):
        if connection.execute("PRAGMA user_version").fetchone()[0] == 1:
            connection.executescript(f"BEGIN; {_script('schema_2.sql')} COMMIT;")


def _script(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def read_store(directory: Path) -> Store:
    """The run in `directory`, for reading only: possible at any time. Raises InputError like `open_store`."""
    _check_run(directory)
    connection = sqlite3.connect(f"file:{_quoted(directory)}?mode=ro", uri=True, timeout=10)
    store = Store(directory, connection, None)
    try:
        store.check()
    except InputError:
        store.close()
        raise
    return store


def _quoted(directory: Path) -> str:
    return (directory / STORE_FILE).resolve().as_uri().removeprefix("file://")


def _check_run(directory: Path) -> None:
    if not is_run(directory):
        raise InputError(f"{directory} is not a run directory: it has no {STORE_FILE}; "
                         "`antune list` shows the runs, `antune tune FILE.c` makes one")


def _take_lock(directory: Path) -> TextIO:
    """An exclusive lock that ends with this process; workers do not inherit it."""
    handle = (directory / LOCK_FILE).open("a+")
    if not _locked(handle):
        handle.seek(0)
        owner = handle.read().strip() or "unknown"
        handle.close()
        raise InputError(f"{directory} is in use by another antune (process {owner}): "
                         "wait until it ends, or stop it") from None
    handle.truncate(0)
    handle.write(f"{os.getpid()}\n")
    handle.flush()
    return handle


def _locked(handle: TextIO) -> bool:
    for _ in range(10):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.05)  # a reader asking `is_busy`, or a killed process that is not quite gone
        else:
            return True
    return False


def _unfinished(name: str) -> str:
    """The name of a file until it is complete; np.savez wants the suffix to stay."""
    return f"new-{name}"


def _save_reference(reference: Reference, path: Path) -> None:
    new = path.with_name(_unfinished(path.name))
    save_reference(reference, new)
    new.replace(path)


def _connect(directory: Path) -> sqlite3.Connection:
    path = directory / STORE_FILE
    with database_errors(path):
        connection = sqlite3.connect(path, timeout=10)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a result survives a power cut too: it cost a second to get
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _write_store(directory: Path, info: RunInfo, driver: str) -> None:
    new = directory / _unfinished(STORE_FILE)
    new.unlink(missing_ok=True)
    row: dict[str, Any] = {
        "id": 1, "created_at": info.created_at, "options": to_json(info.options), "seed": info.options.seed,
        "source_hash": info.source_hash, "source_text": info.source_text, "program": to_json(info.program),
        "program_digest": info.program.digest, "device": to_json(info.device), "device_key": info.device.key,
        "compiler": info.compiler, "sequential_ms": json.dumps(info.sequential_ms)}
    with database_errors(new), closing(sqlite3.connect(new)) as connection:
        connection.executescript(_script("schema.sql") + _script("schema_2.sql"))
        connection.execute(f"INSERT INTO run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                           tuple(row.values()))
        connection.execute(_INSERT_SESSION, _session_row(info.options.budget, driver))
        connection.commit()
    new.replace(directory / STORE_FILE)
