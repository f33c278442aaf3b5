"""The interface of pools that do tasks: worker processes on this machine, several devices, or a cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Protocol

from metrics.outcome import Phase
from runners.processes import Event, Task, WorkerPool


class Pool(Protocol):
    """Does tasks; `processes.WorkerPool` is an implementation."""

    @property
    def unfinished(self) -> int:
        """The number of tasks queued or running."""

    @property
    def running(self) -> int:
        """The number of tasks that have started."""

    def submit(self, task: Task) -> None:
        """Queue `task`."""

    def poll(self) -> list[Event]:
        """Return the events since the last call. Raises AntuneError if no further tasks can be done."""

    def tighten(self, key: int, phase: Phase, limit_s: float) -> None:
        """Allow task `key` at most `limit_s` seconds in `phase`."""

    def cancel(self) -> None:
        """Drop all tasks, and end running ones."""

    def close(self) -> None:
        """End all workers."""

    def connections(self) -> list[Connection]:
        """Return the connections to wait on."""

    def next_deadline(self) -> float | None:
        """Return the time (monotonic clock) at which `poll` must be called in any case."""


def wait_for(pools: Sequence[Pool]) -> None:
    """Sleep until one of `pools` has something to poll."""
    deadlines = [deadline for pool in pools if (deadline := pool.next_deadline()) is not None]
    timeout = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
    wait([connection for pool in pools for connection in pool.connections()], timeout)


class Devices(Pool, Protocol):
    """A pool in which every task has exclusive use of a device."""

    @property
    def free(self) -> int:
        """The number of tasks that could start at once."""

    def where(self, key: int) -> str:
        """Return the device that the latest task `key` was sent to; empty if there is only one."""


class LocalDevices:
    """The devices of this machine, each with its own worker process."""

    def __init__(self, pools: Mapping[str, WorkerPool]) -> None:
        """`pools` have one process each; their names identify the devices."""
        self._pools = dict(pools)
        self._where: dict[int, str] = {}

    @property
    def unfinished(self) -> int:
        """See `Pool`."""
        return sum(pool.unfinished for pool in self._pools.values())

    @property
    def running(self) -> int:
        """See `Pool`."""
        return sum(pool.running for pool in self._pools.values())

    @property
    def free(self) -> int:
        """See `Devices`."""
        return sum(not pool.unfinished for pool in self._pools.values())

    def where(self, key: int) -> str:
        """See `Devices`."""
        return self._where.get(key, "") if len(self._pools) > 1 else ""

    def submit(self, task: Task) -> None:
        """Give `task` to the device with the fewest tasks."""
        name = min(self._pools, key=lambda name: self._pools[name].unfinished)
        self._where[task.key] = name
        self._pools[name].submit(task)

    def poll(self) -> list[Event]:
        """See `Pool`."""
        return [event for pool in self._pools.values() for event in pool.poll()]

    def tighten(self, key: int, phase: Phase, limit_s: float) -> None:
        """See `Pool`."""
        for pool in self._pools.values():
            pool.tighten(key, phase, limit_s)

    def cancel(self) -> None:
        """See `Pool`."""
        self._where.clear()
        for pool in self._pools.values():
            pool.cancel()

    def close(self) -> None:
        """See `Pool`."""
        for pool in self._pools.values():
            pool.close()

    def connections(self) -> list[Connection]:
        """See `Pool`."""
        return [connection for pool in self._pools.values() for connection in pool.connections()]

    def next_deadline(self) -> float | None:
        """See `Pool`."""
        return min((at for pool in self._pools.values() if (at := pool.next_deadline()) is not None), default=None)
