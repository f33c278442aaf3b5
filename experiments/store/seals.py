"""Seals of run directories: they show which runs this user started on this machine, and nobody else can make them.

A seal is a keyed hash (HMAC-SHA-256) of everything that determines a run. The key is in the user's cache directory and
is readable only by the user.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from generator.user_cache import user_cache

SEAL_FILE = "seal"
_KEY_FILE, _KEY_BYTES = "key", 32
_FACTS = "SELECT created_at, options, source_hash, source_text, program, device, compiler FROM run"


def seal(directory: Path) -> None:
    """Mark the run in `directory` as started here. If the key cannot be stored, the run stays unmarked."""
    key = _key(make=True)
    if key is not None:
        (directory / SEAL_FILE).write_text(_sum(directory, key) + "\n", encoding="utf-8")


def is_own(directory: Path) -> bool:
    """Return whether this user started the run on this machine and its program, options and data are unchanged."""
    key = _key(make=False)
    try:
        return key is not None and hmac.compare_digest(
            (directory / SEAL_FILE).read_bytes().strip(), _sum(directory, key).encode()
        )
    except (OSError, sqlite3.Error):
        return False


def _sum(directory: Path, key: bytes) -> str:
    from experiments.store.base import REFERENCE_FILE, STORE_FILE

    found = hmac.new(key, digestmod="sha256")
    with closing(sqlite3.connect(f"{(directory / STORE_FILE).resolve().as_uri()}?mode=ro", uri=True)) as connection:
        found.update(repr(connection.execute(_FACTS).fetchall()).encode())
    with (directory / REFERENCE_FILE).open("rb") as stream:
        found.update(hashlib.file_digest(stream, "sha256").digest())
    return found.hexdigest()


def _key(make: bool) -> bytes | None:
    """Return the user's key, created if `make` is True and there is none; None if it is missing or unreadable."""
    try:
        path = user_cache() / _KEY_FILE
        if make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
                stream.write(secrets.token_bytes(_KEY_BYTES))
        key = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    return key if len(key) == _KEY_BYTES else None
