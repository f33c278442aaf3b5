"""Measures the memory of worker processes, and computes their limit.

A limit of the address space (RLIMIT_AS) would be simpler, but drivers reserve far more than they use. So the limit is
on the resident memory of the process and of its descendants (a linker, a separate compiler). The parent process checks
it several times per second, because the worker may be in C code that lets no Python thread run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SHARE = 0.8
"""The share of the machine's memory for all workers of a runner together."""
LEAST_BYTES = 2**30
LOOK_S, LONG_LOOK_S = 0.1, 1.0
"""Seconds between two checks of the processes, and of their descendants, too. A thread can fill about one gigabyte of
new pages per second."""
COST = 0.01
"""The largest share of time that checks may take."""


class Watch:
    """Measures the memory of processes several times per second, less often if that takes long (many processes)."""

    def __init__(self) -> None:
        """The first check is due at once."""
        self.next_look = self._next_long_look = 0.0

    def look(self, pids: Sequence[int]) -> tuple[int, ...]:
        """Return the resident bytes of each of `pids`; about once per second with those of its descendants."""
        begin = time.monotonic()
        is_long = begin >= self._next_long_look
        sizes = tuple(resident_bytes(pid) if is_long else own_bytes(pid) for pid in pids)
        end = time.monotonic()
        self.next_look = end + max(LOOK_S, 0.0 if is_long else (end - begin) / COST)
        if is_long:
            self._next_long_look = end + max(LONG_LOOK_S, (end - begin) / COST)
        return sizes


def own_bytes(pid: int) -> int:
    """Return the resident bytes of process `pid`; 0 if it has ended, or without /proc."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of process `pid` and all its descendants; 0 if it has ended, or without /proc."""
    total, waiting = 0, [pid]
    while waiting:
        process = waiting.pop()
        total += own_bytes(process)
        try:
            for thread in Path(f"/proc/{process}/task").iterdir():
                waiting.extend(int(child) for child in (thread / "children").read_text().split())
        except OSError:  # it ended meanwhile, or the kernel does not list children
            continue
    return total


def machine_bytes() -> int:
    """Return the memory of this machine, or of the container of this process, in bytes."""
    total = os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text()))
        except (OSError, ValueError):  # another version of cgroups, or "max"
            continue
    return total


def share_bytes(workers: int) -> int:
    """Return the default memory limit of each of `workers` processes, in bytes."""
    return max(LEAST_BYTES, int(SHARE * machine_bytes() / workers))


def describe_bytes(count: int) -> str:
    """Return a text such as `3.2 GB`."""
    return f"{count / 10**9:.3g} GB"
