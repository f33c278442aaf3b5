"""The workers of a cluster as a pool: tasks in, events out, like `processes.WorkerPool`.

Compilations run on any worker with a free compiler: Dask chooses it, and repeats them elsewhere if that worker is lost.
For measurements the pool chooses an idle device; if its worker is lost, the measurement is repeated on another one. A
task that is lost LOSSES times is considered the cause.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any

from distributed import Future

from generator.errors import AntuneError
from metrics.outcome import Phase
from runners.cluster.hub import Fatal, Hub, Lost
from runners.cluster.offers import Bench, compile_resource, compiled_for, device_resource
from runners.cluster.roster import Roster
from runners.cluster.shop import COMPILING, Answered, Stopped, Unable, cancel, serve, tighten
from runners.processes import Died, Event, Task

LOSSES = 3


@dataclass(frozen=True, slots=True)
class Client:
    """The parts that both pools of a run share: the connection, the devices, and the names of the run and of its
    versions.

    Worker processes open the devices by `selector`; None: each by its own key.
    """

    hub: Hub
    roster: Roster
    run: str
    fingerprint: str
    selector: str | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A task that was sent; `bench` is None if Dask chooses the worker."""

    task: Task
    bench: Bench | None
    future: Future[Any]


class ClusterPool:
    """Compiles (if not `measures`) or measures on the cluster."""

    def __init__(self, client: Client, measures: bool) -> None:
        """Nothing is sent before the first task."""
        self._client, self._measures = client, measures
        self._sent: dict[int, _Sent] = {}
        self._waiting: deque[Task] = deque()
        self._losses: dict[int, int] = {}
        self._where: dict[int, str] = {}
        self._leaving: set[str] = set()
        self._numbers = itertools.count()
        self._reader, self._writer = Pipe(duplex=False)
        os.set_blocking(self._writer.fileno(), False)  # a full pipe has already woken us
        self._done: deque[int] = deque()

    @property
    def unfinished(self) -> int:
        """The number of tasks queued or sent."""
        return len(self._sent) + len(self._waiting)

    @property
    def running(self) -> int:
        """The number of tasks that have probably started."""
        return min(len(self._sent), self._client.roster.compilers)

    @property
    def free(self) -> int:
        """The number of idle devices."""
        return max(0, len(self._idle()) - len(self._waiting))

    def where(self, key: int) -> str:
        """Return the device that the latest task `key` was sent to; see `Devices.where`."""
        return self._where.get(key, "")

    def submit(self, task: Task) -> None:
        """Queue `task`."""
        self._losses.pop(task.key, None)
        self._waiting.append(task)
        self._send()

    def poll(self) -> list[Event]:
        """Return the events since the last call.

        Raises:
            AntuneError: the scheduler is lost, no device has been available for too long, or a machine cannot serve.
        """
        while self._reader.poll():
            self._reader.recv_bytes()
        events = list(self._fetch())
        self._client.roster.look()
        events += self._find_lost()
        self._send()
        return events

    def tighten(self, key: int, phase: Phase, limit_s: float) -> None:
        """See `WorkerPool.tighten`; it takes effect a moment later."""
        for number, sent in self._sent.items():
            if sent.task.key == key:
                self._client.hub.tell(tighten, self._client.run, number, phase, limit_s)

    def cancel(self) -> None:
        """Drop all tasks; running ones are ended."""
        self._waiting.clear()
        self._losses.clear()
        self._where.clear()
        if not self._sent:
            return
        with suppress(AntuneError):  # the scheduler is lost, with all tasks
            benches = {self._bench_name(sent) for sent in self._sent.values()}
            for bench in benches:
                self._client.hub.tell(cancel, self._client.run, bench, max(self._sent))
            for sent in self._sent.values():
                self._client.hub.forget(sent.future)
        self._sent.clear()

    def close(self) -> None:
        """Drop all tasks and release the pipe."""
        self.cancel()
        self._reader.close()
        self._writer.close()

    def connections(self) -> list[Connection]:
        """Return the connections to wait on."""
        return [self._reader]

    def next_deadline(self) -> float | None:
        """Return when `poll` must be called next (monotonic clock)."""
        return self._client.roster.next_look if self.unfinished else None

    def _idle(self) -> list[Bench]:
        busy = {(sent.bench.address, sent.bench.device.key) for sent in self._sent.values() if sent.bench}
        return [b for b in self._client.roster.benches
                if (b.address, b.device.key) not in busy and b.address not in self._leaving]

    def _send(self) -> None:
        while self._waiting:
            idle = self._idle() if self._measures else []
            if self._measures and not idle:
                return
            self._send_one(self._waiting.popleft(), idle[0] if idle else None)

    def _send_one(self, task: Task, bench: Bench | None) -> None:
        client, number = self._client, next(self._numbers)
        device = bench.device.key if bench else client.roster.device.key
        resource = (device_resource(client.fingerprint, device) if bench
                    else compile_resource(client.fingerprint, compiled_for(client.roster.device)))
        name = f"antune-{client.run}-{'measure' if bench else 'compile'}-{number}"
        future = client.hub.submit(serve, client.run, device if bench else COMPILING, client.selector or device, task,
                                   number, key=name, resources={resource: 1}, worker=bench.address if bench else None,
                                   priority=1 if bench else 0)
        self._sent[number] = _Sent(task, bench, future)
        self._where[task.key] = bench.label if bench else ""
        self._await(number, future)

    def _await(self, number: int, future: Future[Any]) -> None:
        """Add `number` to `_done` and wake this process when the future is done; called by a thread of Dask."""
        def wake(_: object) -> None:
            self._done.append(number)
            with suppress(OSError, ValueError):  # full or closed
                self._writer.send_bytes(b"!")

        future.add_done_callback(wake)

    def _fetch(self) -> Iterator[Event]:
        while self._done:
            number = self._done.popleft()
            if (sent := self._sent.pop(number, None)) is None:
                continue  # cancelled
            try:
                answer: Answered = self._client.hub.result(sent.future)
            except Lost:
                yield from self._lose(sent)
            except Fatal:
                yield _fatal(sent.task)
            else:
                yield from self._heard(sent, answer)
            self._client.hub.release(sent.future)

    def _heard(self, sent: _Sent, answer: Answered) -> Iterator[Event]:
        match answer:
            case Stopped():  # its machine is shutting down: the task is not the cause
                self._leaving |= {sent.bench.address} if sent.bench else set()
                self._waiting.appendleft(sent.task)
            case Unable(message):
                where = f"{sent.bench.host} ({sent.bench.address})" if sent.bench else "a machine of the cluster"
                raise AntuneError(f"{where} cannot serve: {message}")
            case event:
                yield event

    def _find_lost(self) -> Iterator[Event]:
        there = {bench.address for bench in self._client.roster.benches}
        for number, sent in tuple(self._sent.items()):
            if sent.bench is not None and sent.bench.address not in there:
                del self._sent[number]
                self._client.hub.forget(sent.future)
                yield from self._lose(sent)

    def _lose(self, sent: _Sent) -> Iterator[Event]:
        """Repeat the task, or give it up."""
        task = sent.task
        self._losses[task.key] = self._losses.get(task.key, 0) + 1
        if self._losses[task.key] < LOSSES:
            self._waiting.appendleft(task)
        else:
            yield _fatal(task)

    def _bench_name(self, sent: _Sent) -> str:
        return sent.bench.device.key if sent.bench else COMPILING


def _fatal(task: Task) -> Died:
    return Died(task.key, task.phase, "several workers of the cluster were lost while they had it", 0.0)
