"""A run's worker processes on one machine, inside a Dask worker: the remote side of a cluster.

A `Shop` is a plugin of the Dask worker. The client registers it once with the scheduler, which gives it to all current
and later workers, so the reference data is sent once per machine. Its worker processes are those of a run on one
machine, with the same limits; a thread of the Dask worker supervises each.

A Shop ends when the client says so, or is lost. The client keeps a task that can never run, its lease; the scheduler
forgets it as soon as the client is lost, and every Shop checks for it regularly.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeAlias

from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from tornado.ioloop import PeriodicCallback

from generator.errors import AntuneError, InputError
from generator.problem import Subject
from generator.target import Target
from metrics.outcome import Phase
from runners.backends import imports_of
from runners.base import Limits
from runners.deterministic_worker import make_deterministic_worker
from runners.locks import timing_lock
from runners.messages import Startup
from runners.opencl.platforms import driver_environment, measuring_environment
from runners.processes import Event, Task, WorkerPool
from runners.registry import is_deterministic
from runners.resident import share_bytes
from runners.tasks import (
    COMPILE_IMPORTS,
    DEVICE_IMPORTS,
    Lower,
    WorkerSetup,
    make_compile_worker,
    make_device_worker,
)

COMPILING = "compile"
"""The bench of compilations; other benches have the keys of their devices."""
POLL_S = 0.25
LEASE_S = 5.0


@dataclass(frozen=True, slots=True)
class Order:
    """A run's data for every machine. `reference` holds the bytes of its .npz file.

    `run` is a unique name in the cluster, `lease` the key of the client's task that never runs.
    """

    run: str
    lease: str
    subject: Subject
    reference: bytes
    target: Target
    limits: Limits
    lower: Lower


@dataclass(frozen=True, slots=True)
class Stopped:
    """The answer to a task that was cancelled, or that arrived after the end of the run on this machine."""


@dataclass(frozen=True, slots=True)
class Unable:
    """The machine cannot serve: its worker processes do not start."""

    message: str


Answered: TypeAlias = Event | Stopped | Unable


def shop_name(run: str) -> str:
    """Return the name of the plugin for a run."""
    return f"antune-shop-{run}"


class Shop(WorkerPlugin):
    """The worker processes of one run on this machine, started when first needed."""

    def __init__(self, order: Order) -> None:
        """Made by the client; works after `setup` on a Dask worker."""
        self._order = order
        self.name = shop_name(order.run)
        self._lock = threading.Lock()
        self._idle: dict[str, list[WorkerPool]] = {}
        self._folder: Path | None = None
        self._made = self._serving = self._missed = 0
        self._closed = False
        self._cancelled: dict[str, int] = {}
        self._tightened: dict[tuple[str, int], tuple[Phase, float]] = {}

    def __reduce__(self) -> tuple[type[Shop], tuple[Order]]:
        """Pickle only the order."""
        return Shop, (self._order,)

    def setup(self, worker: Worker) -> None:
        """Start checking the lease; see `WorkerPlugin.setup`."""
        self._worker = worker
        self._watch = PeriodicCallback(self._look_for_client, 1e3 * LEASE_S)
        self._watch.start()

    def teardown(self, worker: Worker) -> None:
        """End all worker processes; see `WorkerPlugin.teardown`."""
        del worker
        self._watch.stop()
        with self._lock:
            self._closed = True
            pools = [pool for pools in self._idle.values() for pool in pools]
            self._idle.clear()
        for pool in pools:
            pool.close()
        self._tidy()

    def cancel(self, bench: str, number: int) -> None:
        """End the tasks of `bench` up to submission `number`."""
        self._cancelled[bench] = max(number, self._cancelled.get(bench, -1))

    def tighten(self, number: int, phase: Phase, limit_s: float) -> None:
        """Reduce the time limit of submission `number`; see `WorkerPool.tighten`."""
        self._tightened[COMPILING, number] = (phase, limit_s)

    def serve(self, bench: str, key: str, task: Task, number: int) -> Answered:
        """Do `task`, submission `number` of its bench, in a worker process that has the device `key`."""
        try:
            pool = self._take(bench, key)
        except (AntuneError, OSError) as error:
            return Unable(str(error))
        if pool is None:
            return Stopped()
        try:
            return self._watched(pool, bench, task, number)
        except AntuneError as error:
            return Unable(str(error))
        finally:
            self._tightened.pop((bench, number), None)
            pool.cancel()
            self._give_back(bench, pool)

    def _watched(self, pool: WorkerPool, bench: str, task: Task, number: int) -> Event | Stopped:
        pool.submit(task)
        while True:
            deadline = pool.next_deadline()
            left_s = POLL_S if deadline is None else min(POLL_S, max(0.0, deadline - time.monotonic()))
            wait(pool.connections(), left_s)
            if self._closed or number <= self._cancelled.get(bench, -1):
                return Stopped()
            if tight := self._tightened.pop((bench, number), None):
                pool.tighten(task.key, *tight)
            if events := pool.poll():
                return events[0]

    def _take(self, bench: str, key: str) -> WorkerPool | None:
        """Return an idle pool of one process; None if the Shop is closed."""
        with self._lock:
            if self._closed:
                return None
            self._serving += 1
            if idle := self._idle.get(bench):
                return idle.pop()
            self._made += 1
            name, folder = f"{'compile' if bench == COMPILING else 'device'}-{self._made}", self._prepared()
        memory = self._order.limits.memory_bytes or share_bytes(self._worker.state.nthreads)
        environment = driver_environment(folder) if bench == COMPILING else measuring_environment(folder)
        return WorkerPool(name, 1, self._startup(bench, key, folder), environment, folder, memory)

    def _give_back(self, bench: str, pool: WorkerPool) -> None:
        with self._lock:
            self._serving -= 1
            if not self._closed:
                self._idle.setdefault(bench, []).append(pool)
                return
        pool.close()
        self._tidy()

    def _prepared(self) -> Path:
        """Return the folder of this run on this machine, with the reference."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="antune-", dir=self._worker.local_directory)).resolve()
            (self._folder / "reference.npz").write_bytes(self._order.reference)
        return self._folder

    def _tidy(self) -> None:
        """Remove the folder when it is no longer needed."""
        with self._lock:
            folder = self._folder if self._closed and self._serving == 0 else None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _startup(self, bench: str, key: str, folder: Path) -> Startup:
        order = self._order
        if is_deterministic(key):
            return Startup(make_deterministic_worker, (order.subject, order.limits, key))
        setup = WorkerSetup(order.subject, folder / "reference.npz", key, order.target, order.limits,
                            timing_lock(key, order.target), order.lower, kernels=folder / "kernels", travels=True)
        if bench == COMPILING:
            return Startup(make_compile_worker, (setup,), (*COMPILE_IMPORTS, *imports_of(key)))
        return Startup(make_device_worker, (setup,), (*DEVICE_IMPORTS, *imports_of(key)))

    async def _look_for_client(self) -> None:
        """Close this run's Shops everywhere once its client is lost."""
        scheduler: Any = self._worker.scheduler
        try:
            states = await scheduler.get_task_status(keys=[self._order.lease])
        except OSError:
            return  # the scheduler is lost, which Dask handles
        self._missed = 0 if states[self._order.lease] is not None else self._missed + 1
        if self._missed >= 2:  # the first time, it may only be late
            await scheduler.unregister_worker_plugin(name=self.name)


def find_shop(worker: Worker, run: str) -> Shop | None:
    """Return the Shop of a run, None if it is closed or not yet open."""
    found = worker.plugins.get(shop_name(run))
    if found is not None and not isinstance(found, Shop):
        raise InputError(f"{shop_name(run)} is not a Shop")
    return found


def serve(run: str, bench: str, key: str, task: Task, number: int) -> Answered:
    """A Dask task: call `Shop.serve` of a run."""
    shop = find_shop(get_worker(), run)
    return Stopped() if shop is None else shop.serve(bench, key, task, number)


def cancel(run: str, bench: str, number: int, dask_worker: Worker) -> None:
    """For `Client.run`: call `Shop.cancel` of a run."""
    if (shop := find_shop(dask_worker, run)) is not None:
        shop.cancel(bench, number)


def tighten(run: str, number: int, phase: Phase, limit_s: float, dask_worker: Worker) -> None:
    """For `Client.run`: call `Shop.tighten` of a run."""
    if (shop := find_shop(dask_worker, run)) is not None:
        shop.tighten(number, phase, limit_s)
