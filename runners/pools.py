"""What can do tasks, as the road of a plan sees it: worker processes here, several devices, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Protocol

from metrics.outcome import Phase
from runners.processes import Event, Task, WorkerPool


class Pool(Protocol):
    """Does tasks: see `processes.WorkerPool`, which is one."""

    @property
    def unfinished(self) -> int:
        """The number of tasks queued or running."""

    @property
    def running(self) -> int:
        """The number of tasks that have been begun."""

    def submit(self, task: Task) -> None:
        """Queue `task`."""

    def poll(self) -> list[Event]:
        """What has happened since the last call. Raises AntuneError when nothing can be done any more."""

    def tighten(self, key: int, phase: Phase, limit_s: float) -> None:
        """Allow task `key` at most `limit_s` seconds in `phase`."""

    def cancel(self) -> None:
        """Forget all tasks and end what runs."""

    def close(self) -> None:
        """End all workers."""

    def connections(self) -> list[Connection]:
        """What to wait on."""

    def next_deadline(self) -> float | None:
        """The time (monotonic clock) at which `poll` must be called, whatever happens."""


class Devices(Pool, Protocol):
    """A pool in which every task has a device for itself."""

    @property
    def free(self) -> int:
        """How many tasks could begin at once now."""

    def where(self, key: int) -> str:
        """Which device the latest task `key` went to; empty if there is only one."""


class LocalDevices:
    """The devices of this machine, each with a worker process of its own."""

    def __init__(self, pools: Mapping[str, WorkerPool]) -> None:
        """`pools` have one process each; their names tell the devices apart."""
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
        """Give `task` to the device that has least to do."""
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
