"""Counts events of this process on the host's cores by the Linux kernel's perf events: perf_event_open(2).

Counters are opened for all current threads of the process, since a driver's threads are older than any launch. Events
that the processor, the kernel or a virtual machine lacks are left out; software events are always available if perf
events are permitted at all.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_CALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")  # the first version of perf_event_attr: 64 bytes
_COUNT = struct.Struct("=QQQ")  # value, time enabled, time running
_READ_TIMES = 0b11
_DISABLED, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_HARDWARE, _SOFTWARE, _CACHE = 0, 1, 3
_FIRST_DATA_READ = 0  # cache 0 (L1D), operation 0 (read)
_MISS = 1 << 16

EVENTS = {
    "task-clock": (_SOFTWARE, 1),
    "cycles": (_HARDWARE, 0),
    "instructions": (_HARDWARE, 1),
    "cache-references": (_HARDWARE, 2),
    "cache-misses": (_HARDWARE, 3),
    "L1-dcache-loads": (_CACHE, _FIRST_DATA_READ),
    "L1-dcache-load-misses": (_CACHE, _FIRST_DATA_READ | _MISS),
}
"""The kernel's type and number of each event, by the names of the tool perf."""


class CountersUnavailable(Exception):
    """Nothing can be counted here; the message says why and what would help."""


@dataclass(slots=True)
class Tally:
    """The counts of `counting`: events by name, and wall seconds."""

    counts: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, counts: dict[str, float], seconds: float) -> None:
        """Add one interval."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0.0) + count
        self.seconds += seconds


class PerfCounters:
    """Open counters of all threads of this process; close them after use."""

    def __init__(self, events: Sequence[str] = tuple(EVENTS)) -> None:
        """Raises CountersUnavailable if none of `events` can be counted."""
        self._files: dict[str, list[int]] = {}
        reasons = []
        for name in events:
            try:
                self._files[name] = _open_for_all_threads(*EVENTS[name])
            except OSError as error:
                reasons.append(f"{name}: {error.strerror}")
        if not self._files:
            raise CountersUnavailable(_why("; ".join(reasons)))

    @property
    def events(self) -> tuple[str, ...]:
        """The events that are counted."""
        return tuple(self._files)

    @contextmanager
    def counting(self, tally: Tally) -> Iterator[None]:
        """Count the events inside, and add them to `tally`."""
        files = [file for group in self._files.values() for file in group]
        for file in files:
            fcntl.ioctl(file, _RESET, 0)
        start = time.perf_counter()
        for file in files:
            fcntl.ioctl(file, _ENABLE, 0)
        try:
            yield
        finally:
            for file in files:
                fcntl.ioctl(file, _DISABLE, 0)
            seconds = time.perf_counter() - start
            tally.add(self._read(), seconds)

    def close(self) -> None:
        """Close the counters."""
        for group in self._files.values():
            _close(group)
        self._files.clear()

    def _read(self) -> dict[str, float]:
        """Return counts by event, scaled up if the event had to share a hardware counter; events that were never
        counted are left out.
        """
        found = {}
        for name, files in self._files.items():
            counts = [_COUNT.unpack(os.read(file, _COUNT.size)) for file in files]
            if any(running for _, _, running in counts):
                found[name] = sum(value * enabled / running for value, enabled, running in counts if running)
        return found


def _open_for_all_threads(kind: int, number: int) -> list[int]:
    files: list[int] = []
    try:
        for thread in sorted(int(entry.name) for entry in Path("/proc/self/task").iterdir()):
            try:
                files.append(_open(kind, number, thread))
            except OSError as error:
                if error.errno != errno.ESRCH:  # the thread has just ended
                    raise
    except OSError:
        _close(files)
        raise
    return files


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


def _open(kind: int, number: int, thread: int) -> int:
    """Open a counter of user code in `thread` on any core. Raises OSError."""
    call = _CALLS.get(platform.machine())
    if call is None or platform.system() != "Linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    attributes = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, number, 0, 0, _READ_TIMES, flags, 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    file = library.syscall(call, ctypes.create_string_buffer(attributes), thread, -1, -1, 0)
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.set_inheritable(file, False)
    return int(file)


def _why(reasons: str) -> str:
    if PARANOID.is_file() and int(PARANOID.read_text()) > 2:
        return (f"perf events are not permitted ({PARANOID} is {PARANOID.read_text().strip()}); "
                "`sysctl kernel.perf_event_paranoid=2` permits them")
    return f"no perf event can be counted here ({reasons})"
