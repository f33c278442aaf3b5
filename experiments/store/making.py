"""Create stores, and open existing ones: for writing by one process, for reading by any number."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from experiments.store.base import (
    INSERT_SESSION,
    READABLE,
    REFERENCE_FILE,
    STORE_FILE,
    Store,
    utc_now,
)
from experiments.store.errors import database_errors
from experiments.store.locks import LOCK_FILE, take_lock
from experiments.store.reused_table import Known, insert_known
from experiments.store.seals import SEAL_FILE, seal
from experiments.values.environment import current_environment
from experiments.values.program_json import to_json
from experiments.values.records import RunInfo
from experiments.words import command
from generator.errors import InputError
from generator.problem import Reference, save_reference

_UPDATES = {2: "schema_2.sql", 3: "schema_3.sql", 4: "schema_4.sql"}


def is_run(directory: Path) -> bool:
    """Return True if `directory` contains a run."""
    return (directory / STORE_FILE).is_file()


@dataclass(frozen=True, slots=True)
class Reservation:
    """A locked directory for a new run; `made` are the folders that had to be created, outermost first."""

    directory: Path
    lock: TextIO
    made: tuple[Path, ...]


def reserve(directory: Path, source_hash: str) -> Reservation:
    """Create `directory` if necessary and lock it for a new run; `create_store` takes over the lock.

    Raises:
        InputError: the directory already contains a run, is in use, or cannot be written.
    """
    made = tuple(path for path in (*reversed(directory.parents), directory) if not path.exists())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _refuse_links(directory)
        lock = take_lock(directory)
    except OSError as error:
        raise InputError(_unwritable(error)) from None
    if is_run(directory):
        lock.close()
        raise InputError(_taken(directory, source_hash))
    return Reservation(directory, lock, made)


def abandon(reserved: Reservation) -> None:
    """Undo `reserve` when no run was created: remove what it created, except folders that contain other files."""
    reserved.lock.close()
    if is_run(reserved.directory):
        return
    for name in (LOCK_FILE, SEAL_FILE, REFERENCE_FILE, _unfinished(REFERENCE_FILE), _unfinished(STORE_FILE)):
        (reserved.directory / name).unlink(missing_ok=True)
    for path in reversed(reserved.made):
        if not path.is_dir() or any(path.iterdir()):
            return
        path.rmdir()


def create_store(reserved: Reservation, info: RunInfo, reference: Reference, driver: str,
                 known: Sequence[Known] = ()) -> Store:
    """Create a run in the reserved directory, with outcomes from other runs in `known`.

    Raises InputError if the directory cannot be written.
    """
    directory = reserved.directory
    try:
        _save_reference(reference, directory / REFERENCE_FILE)
        _write_store(directory, info, driver, known)
        seal(directory)
    except OSError as error:
        raise InputError(_unwritable(error)) from None
    return Store(directory, _connect(directory), reserved.lock)


def open_store(directory: Path) -> Store:
    """Open the run in `directory` for writing.

    Raises:
        InputError: there is no run, another version made it, another process is using it, or it cannot be written.
    """
    read_store(directory).close()  # raises unless it is a store, before anything is written
    _refuse_links(directory)
    try:
        lock = take_lock(directory)
    except OSError as error:
        raise InputError(
            f"{directory} cannot be written: {error.strerror}; get access, or copy the directory to a place "
            "that you can write"
        ) from None
    try:
        connection = _connect(directory)
        _update(connection, directory / STORE_FILE)
    except InputError:
        lock.close()
        raise
    return Store(directory, connection, lock)


def read_store(directory: Path | str) -> Store:
    """Open the run in `directory` for reading, which is always possible. Raises InputError as `open_store`.

    While the run goes on, all that is read is of the moment of opening: results and their walks belong together.
    """
    directory = Path(directory)
    _check_run(directory)
    try:
        return _read(directory, "mode=ro")
    except InputError:
        if (directory / f"{STORE_FILE}-wal").exists():
            raise
        return _read(directory, "immutable=1")  # SQLite cannot create its journal in a read-only directory


def _read(directory: Path, how: str) -> Store:
    with database_errors(directory / STORE_FILE):
        connection = sqlite3.connect(f"file:{_quoted(directory)}?{how}", uri=True, timeout=10)
        if (directory / f"{STORE_FILE}-wal").exists():  # without it, a transaction would keep the next writer away
            connection.execute("BEGIN")
    store = Store(directory, connection, None)
    try:
        store.check()
    except InputError:
        store.close()
        raise
    return store


def _quoted(directory: Path) -> str:
    return (directory / STORE_FILE).resolve().as_uri().removeprefix("file://")


def _refuse_links(directory: Path) -> None:
    """Raise InputError if a file of the run is a symbolic link: antune would write outside the directory."""
    if links := sorted(path.name for path in directory.iterdir() if path.is_symlink()):
        raise InputError(
            f"{directory / links[0]} is a link; antune does not write through links: put the file itself there"
        )


def _check_run(directory: Path) -> None:
    if not is_run(directory):
        raise InputError(f"{directory} is not a run directory: it has no {STORE_FILE}; "
                         "`antune list` shows the runs, `antune tune FILE.c` makes one")


def _connect(directory: Path) -> sqlite3.Connection:
    path = directory / STORE_FILE
    with database_errors(path):
        connection = sqlite3.connect(path, timeout=10)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # results survive even a power failure
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _update(connection: sqlite3.Connection, path: Path) -> None:
    """Upgrade a store of an older version, in one transaction."""
    with database_errors(path):
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        scripts = [_script(name) for number, name in _UPDATES.items() if number > version]
        if version in READABLE and scripts:
            connection.executescript(f"BEGIN; {' '.join(scripts)} COMMIT;")


def _script(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _write_store(directory: Path, info: RunInfo, driver: str, known: Sequence[Known]) -> None:
    new = directory / _unfinished(STORE_FILE)
    new.unlink(missing_ok=True)
    row: dict[str, Any] = {
        "id": 1, "created_at": info.created_at, "options": to_json(info.options), "seed": info.options.seed,
        "source_hash": info.source_hash, "source_text": info.source_text, "program": to_json(info.subject),
        "program_digest": info.subject.digest, "device": to_json(info.device), "device_key": info.device.key,
        "compiler": info.compiler, "sequential_ms": json.dumps(info.sequential_ms),
        "baselines": json.dumps([asdict(baseline) for baseline in info.baselines])}
    with database_errors(new, begun=False), closing(sqlite3.connect(new, isolation_level=None)) as connection:
        # One transaction without a journal file: it waits for the disk once, instead of several times per table.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.executescript("BEGIN; " + "".join(_script(name) for name in ("schema.sql", *_UPDATES.values())))
        connection.execute(f"INSERT INTO run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                           tuple(row.values()))
        insert_known(connection, known)
        connection.execute(
            INSERT_SESSION, (utc_now(), to_json(info.options.budget), to_json(current_environment()), driver)
        )
        connection.execute("COMMIT")
    new.replace(directory / STORE_FILE)


def _save_reference(reference: Reference, path: Path) -> None:
    new = path.with_name(_unfinished(path.name))
    save_reference(reference, new)
    new.replace(path)


def _unfinished(name: str) -> str:
    """Return the name of a file while it is incomplete; np.savez needs the suffix to stay."""
    return f"new-{name}"


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
