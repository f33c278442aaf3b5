"""Turn errors of a run's database into messages that a user can act on: no space, no access, or a damaged file."""

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
"""The number of characters of a message that are shown."""
_PRIMARY = 0xFF  # the bits of SQLite's extended error codes that hold the primary code


def damaged(path: Path, reason: object) -> InputError:
    """Return the error for a database with unexpected contents."""
    words = " ".join(str(reason).split())  # SQLite may quote the damaged text, over many lines
    return InputError(
        f"{path} is damaged: {words if len(words) <= MOST_WORDS else words[:MOST_WORDS] + ' ...'}; start a new run"
    )


@contextmanager
def database_errors(path: Path, begun: bool = True) -> Iterator[None]:
    """Raise InputError for any SQLite error inside the block. `begun`: there is a run that can be resumed."""
    try:
        yield
    except UnicodeError as error:  # SQLite's message quotes damaged text
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
    """Raise InputError if an entry of `path` cannot be decoded inside the block."""
    try:
        yield
    except (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise damaged(path, f"an entry cannot be read ({error})") from None
