"""Who works on a run: a lock that the operating system drops when the process dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import TextIO

from generator.errors import InputError

LOCK_FILE = "run.lock"


def is_busy(directory: Path) -> bool:
    """True when some process is working on the run in `directory`."""
    try:
        handle = (directory / LOCK_FILE).open()
    except OSError:  # nobody ever worked here, or nobody can
        return False
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def take_lock(directory: Path) -> TextIO:
    """An exclusive lock that ends with this process; workers do not inherit it.

    Raises:
        InputError: another process has it.
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
            time.sleep(0.05)  # a reader asking `is_busy`, or a killed process that is not quite gone
        else:
            return True
    return False
