"""How much memory a worker holds, and how much it may hold.

A limit on the address space (RLIMIT_AS) would be simpler, but drivers reserve far more of that than they use. What
counts is the resident memory of the process and of what it has started (a linker, a separate compiler), looked at
several times a second by the parent: the worker itself may sit in C code that lets no thread of Python run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SHARE = 0.8
"""Of the machine's memory, for all workers of a runner together."""
LEAST_BYTES = 2**30
LOOK_S, LONG_LOOK_S = 0.1, 1.0
"""Seconds between two looks at the processes, and at what they have started: a thread writes to fresh pages at about
one gigabyte per second."""
COST = 0.01
"""The most of the time that looking may take."""


class Watch:
    """Looks at the memory of processes several times a second, less often where that takes long (many processes)."""

    def __init__(self) -> None:
        """The first look is due at once."""
        self.next_look = self._next_long_look = 0.0

    def look(self, pids: Sequence[int]) -> tuple[int, ...]:
        """The bytes that each of `pids` holds; every now and then with those of its descendants."""
        begin = time.monotonic()
        is_long = begin >= self._next_long_look
        sizes = tuple(resident_bytes(pid) if is_long else own_bytes(pid) for pid in pids)
        end = time.monotonic()
        self.next_look = end + max(LOOK_S, 0.0 if is_long else (end - begin) / COST)
        if is_long:
            self._next_long_look = end + max(LONG_LOOK_S, (end - begin) / COST)
        return sizes


def own_bytes(pid: int) -> int:
    """What process `pid` holds now; 0 when it is gone, or where /proc is missing."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def resident_bytes(pid: int) -> int:
    """What process `pid` and all its descendants hold now; 0 when it is gone, or where /proc is missing."""
    total, waiting = 0, [pid]
    while waiting:
        process = waiting.pop()
        total += own_bytes(process)
        try:
            for thread in Path(f"/proc/{process}/task").iterdir():
                waiting.extend(int(child) for child in (thread / "children").read_text().split())
        except OSError:  # it ended meanwhile, or the kernel tells no children
            continue
    return total


def machine_bytes() -> int:
    """The memory of this machine, or of the container that this process lives in."""
    total = os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text()))
        except (OSError, ValueError):  # another version of cgroups, or "max"
            continue
    return total


def share_bytes(workers: int) -> int:
    """What each of `workers` processes may take, unless the user says otherwise."""
    return max(LEAST_BYTES, int(SHARE * machine_bytes() / workers))


def describe_bytes(count: int) -> str:
    """`3.2 GB`."""
    return f"{count / 10**9:.3g} GB"
