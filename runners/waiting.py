"""Tells the user that antune waits because another process measures on this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

AFTER_S = 2.0
"""Seconds of waiting before the message."""
_EVERY_S = 0.5


@contextmanager
def waits_told(lock: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Inside this context, report once per wait that a child of this process waits for `lock`, and who holds it.

    Uses the kernel's list of locks (/proc/locks); without it, nothing is reported.
    """
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(lock, tell, done), name="antune-waits", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(lock: Path, tell: Callable[[str], None], done: threading.Event) -> None:
    waited_s, told = 0.0, False
    while not done.wait(_EVERY_S):
        holder = holder_of(lock)
        waited_s = waited_s + _EVERY_S if holder is not None else 0.0
        if waited_s >= AFTER_S and not told:
            tell(f"waiting for {_words(holder)}, which measures on this machine; times are taken alone")
        told = waited_s >= AFTER_S


def holder_of(lock: Path) -> int | None:
    """Return the process that holds `lock` while a child of this process waits for it; None if no child waits."""
    try:
        number = f":{lock.stat().st_ino}"
        lines = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    here = [words for words in lines if any(word.endswith(number) for word in words)]
    waiting = any(words[1] == "->" and _parent(int(words[5])) == os.getpid() for words in here)
    holders = [int(words[4]) for words in here if words[1] != "->"]
    others = [pid for pid in holders if pid > 0 and _parent(pid) != os.getpid()]
    return others[0] if waiting and others else None


def _parent(process: int) -> int | None:
    """Return the parent process of `process`, or None."""
    try:
        return int(
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
        )
    except (OSError, ValueError, IndexError):
        return None


def _words(process: int | None) -> str:
    """Return a text with the process number that the user knows: that of the antune process that started the worker."""
    parent = _parent(process) if process is not None else None
    return f"process {parent if parent and parent > 1 else process}"
