"""A lock between all antune processes of a user on this host, so that nobody is timed beside somebody's work."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from generator.target import Target


def lock_path(name: str) -> Path:
    """The lock file called `name`, in a directory that belongs to this user. It is never deleted: that races."""
    folder = Path(tempfile.gettempdir()) / f"antune-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{name}.lock"


def timing_lock(key: str, target: Target) -> Path:
    """What everybody who times on the device called `key` must hold: one lock for all that share the host's cores."""
    return lock_path("host-cores" if target.shares_host_cores else key.replace("/", "-"))


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold `path` together with other sharers (compiling); waits for an exclusive holder."""
    with _held(path, fcntl.LOCK_SH):
        yield


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold `path` alone (timing). The kernel releases it when the process dies."""
    with _held(path, fcntl.LOCK_EX):
        yield


@contextmanager
def _held(path: Path, kind: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)
