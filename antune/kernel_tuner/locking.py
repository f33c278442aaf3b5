"""One writer per cache file: a lock that the operating system releases when its process ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from generator.errors import InputError


@dataclass(slots=True)
class Lock:
    """The lock on one cache file: `flock` on a side file, which exists while it is held."""

    path: Path
    _descriptor: int

    def release(self) -> None:
        """Let others write. The side file is removed first: a process that has opened it meanwhile sees that, and makes
        another.
        """
        if self._descriptor >= 0:
            with suppress(OSError):  # a leftover file does no harm: the lock is on the descriptor
                self.path.unlink()
            os.close(self._descriptor)
            self._descriptor = -1


def lock_cache(cache: Path) -> Lock:
    """Lock `cache`, which need not exist. Child processes do not inherit the lock.

    Raises:
        InputError: another process writes that cache, or its directory supports no files or no locks.
    """
    path = cache.with_name(f".{cache.name}.lock")
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise InputError(f"cache {cache} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise InputError(f"cache {cache} is in use by another search (process {owner}): wait until that ends, or "
                             "give another name") from None
        except OSError as error:
            os.close(descriptor)
            raise InputError(f"cache {cache} cannot be locked: {error.strerror}; give a name on another file system"
                             ) from None
        if _is_there(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            return Lock(path, descriptor)
        os.close(descriptor)


def _is_there(path: Path, descriptor: int) -> bool:
    """Return whether the file of `descriptor` is still at `path`; otherwise its holder has removed it."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
