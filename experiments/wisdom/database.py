"""The wisdom database, opened for one query or update at a time, so that any number of processes can use it.

An update is durable when `keep` returns. Entries are checked when they are read. If the database cannot be read, the
InputError says what to do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from experiments.wisdom.entry import Entry, Subjected
from experiments.wisdom.rows import COLUMNS, from_row, to_row
from generator.errors import InputError
from runners.base import DeviceInfo

VERSION = 1
WAIT_S = 20.0
"""The time, in seconds, that a process waits for other writers."""
_INSERT = f"INSERT INTO plan ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
_KEEP = f"""{_INSERT} ON CONFLICT (identity, device, platform) DO UPDATE
    SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS)}
    WHERE excluded.own > own OR (excluded.own = own AND (excluded.ms < ms OR excluded.driver != driver))"""


@dataclass(frozen=True, slots=True)
class Wisdom:
    """The database in the file `path`, which may not exist yet.

    Raises:
        InputError: (from every method) the file cannot be used, is damaged, or was written by another version.
    """

    path: Path

    def keep(self, entries: Sequence[Entry]) -> int:
        """Store entries unless a better one is known: for each program and device, the one with the lowest time is
        kept.

        A plan measured here replaces an imported one, and one of a new driver replaces one of an old driver. Returns
        the number of stored entries.
        """
        with self._open(write=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            kept = sum(connection.execute(_KEEP, to_row(entry)).rowcount for entry in entries)
            connection.execute("COMMIT")
            return kept

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, ordered by name, sizes and device."""
        return self._read("SELECT * FROM plan ORDER BY name, sizes, device, platform", ())

    def of(self, subject: Subjected, device: DeviceInfo) -> Entry | None:
        """Return the best plan of a program on a device; None if there is none."""
        found = self._read("SELECT * FROM plan WHERE identity = ? AND device = ? AND platform = ?",
                           (subject.identity, device.name, device.platform))
        return found[0] if found else None

    def family(self, subject: Subjected) -> tuple[Entry, ...]:
        """Return the best plans of a program at any sizes, on any device."""
        return self._read("SELECT * FROM plan WHERE family = ? ORDER BY identity, device, platform", (subject.family,))

    def forget(self, entries: Sequence[Entry]) -> None:
        """Remove entries, except those that another process has replaced since."""
        with self._open(write=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "DELETE FROM plan WHERE identity = ? AND device = ? AND platform = ? AND ms = ? AND made_at = ?",
                [(one.subject.identity, one.device, one.platform, one.ms, one.made_at) for one in entries])
            connection.execute("COMMIT")

    def _read(self, query: str, values: tuple[str, ...]) -> tuple[Entry, ...]:
        try:
            if self.path.stat().st_size == 0:  # SQLite creates an empty file before it writes the first page
                return ()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise InputError(f"wisdom in {self.path} cannot be read: {error.strerror}; get access, or name another "
                             "file with $ANTUNE_WISDOM") from None
        with self._open(write=False) as connection:
            rows = connection.execute(query, values).fetchall()
        try:
            return tuple(from_row(dict(row)) for row in rows)
        except InputError as error:
            raise self._damaged(error) from None

    @contextmanager
    def _open(self, write: bool) -> Iterator[sqlite3.Connection]:
        try:
            if write:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            how = "" if write else "?mode=ro"
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}{how}", uri=True, timeout=WAIT_S,
                                         isolation_level=None)) as connection:
                connection.row_factory = sqlite3.Row
                self._check(connection, write)
                yield connection
        except OSError as error:
            raise InputError(f"wisdom in {self.path} cannot be written: {error.strerror}; get access, or name another "
                             "file with $ANTUNE_WISDOM") from None
        except sqlite3.OperationalError as error:  # locked, read only, no space
            raise InputError(f"wisdom in {self.path} cannot be used: {error}; free disk space, get access, or name "
                             "another file with $ANTUNE_WISDOM") from None
        except (sqlite3.Error, UnicodeError) as error:
            raise self._damaged(error) from None

    def _check(self, connection: sqlite3.Connection, write: bool) -> None:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = FULL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
        if version not in (0, VERSION):
            raise InputError(f"wisdom in {self.path} is of another version of antune (it has {version}, this one knows "
                             f"{VERSION}); name another file with $ANTUNE_WISDOM")
        if [row for row in tables if tuple(row) not in (("plan", "table"), ("plan_by_family", "index"))]:
            raise self._damaged("it holds other tables than wisdom has")
        if write and not tables:
            script = resources.files(__package__).joinpath("wisdom.sql").read_text(encoding="utf-8")
            connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {VERSION}; COMMIT;")
        elif not tables:
            raise self._damaged("it is empty, or cut off")

    def _damaged(self, reason: object) -> InputError:
        words = " ".join(str(reason).split())[:200]
        return InputError(f"wisdom in {self.path} is damaged: {words}; move the file away (a new one is made), and "
                          "import what you had exported")
