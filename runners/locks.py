"""Locks between all antune processes of a user on this host, so that nothing else of them runs during a timing."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from generator.target import Target
from generator.user_cache import user_cache


def lock_path(name: str) -> Path:
    """Return the path of the lock file `name`, in a directory that only this user can access.

    The file is never deleted, because that would be a race. If another user owns the directory's name, locks are in
    the user's cache folder, and a warning is printed.
    """
    folder = Path(tempfile.gettempdir()) / f"antune-{os.getuid()}"
    if not _is_own(folder):
        elsewhere = user_cache() / "locks"
        print(
            f"antune: warning: {folder} is not a private folder of yours, so locks are kept in {elsewhere}",
            file=sys.stderr,
        )
        elsewhere.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = elsewhere
    return folder / f"{name}.lock"


def _is_own(folder: Path) -> bool:
    """Return whether `folder` is a directory of this user. Creates it if missing, and removes the rights of others."""
    with suppress(FileExistsError):  # also a file, or a link to nowhere
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return False
    if status.st_mode & 0o077:
        folder.chmod(0o700)  # older versions, or an odd umask
    return True


def cores_lock() -> Path:
    """Return the lock of all devices on the host's cores."""
    return lock_path("host-cores")


def timing_lock(key: str, target: Target) -> Path:
    """Return the lock that a timing on device `key` must hold; all devices on the host's cores share one lock."""
    return cores_lock() if target.shares_host_cores else lock_path(key.replace("/", "-"))


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold `path` together with other shared holders (for compiling); waits for an exclusive holder."""
    with _held(path, fcntl.LOCK_SH):
        yield


@dataclass(frozen=True, slots=True)
class Turn:
    """A lock of its holder alone, who may give it to others for a while."""

    descriptor: int

    def give(self) -> None:
        """Release the lock; no effect if it is not held."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def take(self) -> None:
        """Wait for the lock; no effect if it is held."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)


@contextmanager
def exclusive(path: Path) -> Iterator[Turn]:
    """Hold `path` alone (for timing). The operating system releases it when the process dies."""
    with _held(path, fcntl.LOCK_EX) as descriptor:
        yield Turn(descriptor)


@contextmanager
def _held(path: Path, kind: int) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, kind)
        yield descriptor
    finally:
        os.close(descriptor)
