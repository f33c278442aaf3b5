"""Errors of a run's database as errors that a user can mend: no space, no access, or a damaged file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.words import command
from generator.errors import InputError

_UNUSABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY,
             sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
MOST_WORDS = 200
"""Characters of a message that are shown."""
_PRIMARY = 0xFF  # the bits of SQLite's error codes that say which kind


def damaged(path: Path, reason: object) -> InputError:
    """The error for a database that holds something else than it should."""
    words = " ".join(str(reason).split())  # SQLite may quote what is damaged, over many lines
    return InputError(
        f"{path} is damaged: {words if len(words) <= MOST_WORDS else words[:MOST_WORDS] + ' ...'}; start a new run"
    )


@contextmanager
def database_errors(path: Path, begun: bool = True) -> Iterator[None]:
    """Raise InputError for whatever SQLite complains about while it uses `path`; `begun`: there is a run to go on
    with.
    """
    try:
        yield
    except UnicodeError as error:  # of a message that quotes the damage
        raise damaged(path, error) from None
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY not in _UNUSABLE:
            raise damaged(path, error) from None
        then = (
            f", then `{command('resume', path.parent)}` goes on: what was measured before is saved"
            if begun
            else " and start again"
        )
        raise InputError(f"{path} cannot be used: {error}; free disk space or get access{then}") from None


@contextmanager
def entry_errors(path: Path) -> Iterator[None]:
    """Raise InputError for an entry of `path` that does not have its shape."""
    try:
        yield
    except (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise damaged(path, f"an entry cannot be read ({error})") from None
