"""The lock of a run, which the operating system releases when the process dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import TextIO

from generator.errors import InputError

LOCK_FILE = "run.lock"


def is_busy(directory: Path) -> bool:
    """Return True if a process is working on the run in `directory`."""
    try:
        handle = (directory / LOCK_FILE).open()
    except OSError:  # no process has locked the run yet, or none can
        return False
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def take_lock(directory: Path) -> TextIO:
    """Take an exclusive lock that ends with this process; workers do not inherit it.

    Raises:
        InputError: another process has the lock.
        OSError: the directory cannot be written.
    """
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
            time.sleep(0.05)  # held for a moment by `is_busy` or by a process that is just ending
        else:
            return True
    return False
