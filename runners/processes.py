"""The parent's side of worker processes: start them, distribute tasks, enforce limits, replace dead workers.

Each worker has its own pipe, so that a worker that dies while sending a message does not affect the others. Workers
have their own session: neither Ctrl-C in the terminal nor a signal to the parent's process group reaches them. There
are no threads: `poll` never blocks, `wait` sleeps until something happens.

A worker may have been damaged by an earlier task (a kernel that wrote out of bounds, a lost context). So a task that
ends it, or fails with a doubtful answer, is tried again in a fresh worker. A SIGKILL from outside is not blamed on the
task either: a user, or the system for lack of memory, ended the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeAlias

from generator.errors import AntuneError
from metrics.outcome import Phase
from runners.fork_server import start_worker
from runners.messages import Answer, InPhase, Raised, Ready, StartFailed, Startup
from runners.resident import Watch, describe_bytes, resident_bytes

START_S = 120.0
END_S = 5.0
START_ATTEMPTS = 3
KILLED_ATTEMPTS = 3  # attempts that end by a SIGKILL from outside, before the task is blamed
ROOT = Path(__file__).resolve().parents[1]
"""The parent of antune's folders: first in the path of processes, so that no file of the user's hides one."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task. `phase` and `limit_s` hold until the worker reports others (None: no limit).

    `tried`: the number of failed attempts. Any attempt but the first needs a fresh worker.
    """

    key: int
    payload: Any
    phase: Phase
    limit_s: float | None
    tried: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The worker answered."""

    key: int
    value: Any


@dataclass(frozen=True, slots=True)
class Expired:
    """The worker was killed because a phase exceeded its limit.

    `elapsed_s` are the seconds since the phase began or its last wait ended: earlier parts count, each of which has
    the limit.
    """

    key: int
    phase: Phase
    limit_s: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Died:
    """The worker died, or its handler raised an exception; `message` describes it."""

    key: int
    phase: Phase
    message: str
    elapsed_s: float


Event: TypeAlias = Finished | Expired | Died


class Worker:
    """One worker process and its current task."""

    __slots__ = ("base_bytes", "connection", "deadline", "life_line", "limit_s", "log", "part_start", "phase",
                 "phase_start", "process", "ready", "served", "start", "task")

    def __init__(self, startup: Startup, environment: Mapping[str, str], log: Path) -> None:
        """Starts the process; it sends Ready when `startup` is done."""
        self.connection, inner = Pipe()
        alive, self.life_line = os.pipe()
        with log.open("ab") as output:
            path = [str(ROOT), *(str(Path(entry).absolute()) for entry in sys.path)]
            self.process = start_worker(path, startup.imports, {**os.environ, **environment}, log.parent,
                                        (inner.fileno(), alive, output.fileno()))
        inner.close()
        os.close(alive)
        self.log, self.ready, self.served, self.base_bytes = log, False, 0, 0
        self.task: Task | None = None
        self.start = self.phase_start = self.part_start = time.monotonic()
        self.deadline: float | None = self.start + START_S
        self.phase: Phase = "generate"
        self.limit_s = START_S
        with contextlib.suppress(OSError):  # already dead: `poll` will report it
            self.connection.send(startup)

    @property
    def idle(self) -> bool:
        """Whether a task may be sent."""
        return self.ready and self.task is None

    def begin(self, task: Task) -> None:
        """Send `task`. Raises OSError if the worker is dead."""
        os.truncate(self.log, 0)  # the log is that of one task
        self.connection.send(task.payload)
        self.task = task
        self.phase_start = time.monotonic()
        self.enter(task.phase, task.limit_s)
        self.served += 1

    def enter(self, phase: Phase, limit_s: float | None) -> None:
        """Record the start of `phase`, or of its next part, such as the compilation of the next kernel.

        Time without a limit (waiting) does not count.
        """
        self.part_start = time.monotonic()
        if phase != self.phase or self.deadline is None:
            self.phase, self.phase_start = phase, self.part_start
        self.limit_s = limit_s or 0.0
        self.deadline = None if limit_s is None else self.part_start + limit_s

    def tighten(self, limit_s: float) -> None:
        """Limit the current part of the phase to `limit_s` seconds, unless it has no limit or a lower one."""
        if self.deadline is not None and limit_s < self.limit_s:
            self.limit_s, self.deadline = limit_s, self.part_start + limit_s

    def kill(self) -> None:
        """End the process with all its children, and release its resources."""
        with contextlib.suppress(ProcessLookupError):  # the group has already ended
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.connection.close()
        os.close(self.life_line)

    def last_words(self) -> str:
        """Return how the (dead) process ended, with the last line of its output."""
        try:
            code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            return f"the process closed its pipe and did not end within {END_S:g} s"
        end = f"the process was ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        lines = self.log.read_bytes()[-2000:].decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return f"{end}: {said[-1][:300]}" if said else end


class WorkerPool:
    """`size` workers that do tasks in order of submission. Workers are started when first needed."""

    def __init__(self, name: str, size: int, startup: Startup, environment: Mapping[str, str],
                 workdir: Path, memory_bytes: int | None = None) -> None:
        """`environment` is added to this process's own. Workers run in `workdir`, which also contains their logs, since
        drivers that fail to compile a kernel leave files in the current directory.

        A worker that takes `memory_bytes` more than twice of its memory at the start is ended (None: never).
        """
        self._name, self._size, self._startup = name, size, startup
        self._environment, self._workdir, self._memory_bytes = dict(environment), workdir.absolute(), memory_bytes
        self._watch = Watch()
        self._workers: list[Worker] = []
        self._queue: deque[Task] = deque()
        self._events: list[Event] = []
        self._tightened: dict[int, tuple[Phase, float]] = {}
        self.started = self._start_failures = 0

    @property
    def unfinished(self) -> int:
        """The number of tasks queued or running."""
        return len(self._queue) + self.running

    @property
    def running(self) -> int:
        """The number of tasks that have started."""
        return sum(worker.task is not None for worker in self._workers)

    def submit(self, task: Task) -> None:
        """Queue `task`."""
        self._tightened.pop(task.key, None)
        self._queue.append(task)
        self._assign()

    def poll(self) -> list[Event]:
        """Return the events since the last call.

        Raises:
            AntuneError: a worker cannot start.
        """
        for worker in tuple(self._workers):
            if self._receive(worker):
                self._check_limit(worker)
        if (watched := self._watched()) and time.monotonic() >= self._watch.next_look:
            self._check_memory(watched)
        self._assign()
        events, self._events = self._events, []
        return events

    def tighten(self, key: int, phase: Phase, limit_s: float) -> None:
        """Limit task `key`, queued or running, to `limit_s` seconds in each part of `phase`.

        It does not end a wait without a limit.
        """
        self._tightened[key] = (phase, limit_s)
        for worker in self._workers:
            if worker.task is not None and worker.task.key == key and worker.phase == phase:
                worker.tighten(limit_s)

    def cancel(self) -> None:
        """Drop all tasks; busy workers are killed."""
        self._queue.clear()
        self._events.clear()
        self._tightened.clear()
        for worker in tuple(self._workers):
            if worker.task is not None:
                self._discard(worker)

    def close(self) -> None:
        """End all workers at once."""
        self._queue.clear()
        for worker in tuple(self._workers):
            self._discard(worker)

    def connections(self) -> list[Connection]:
        """Return the connections to wait on."""
        return [worker.connection for worker in self._workers]

    def next_deadline(self) -> float | None:
        """Return the earliest time (monotonic clock, seconds) at which `poll` must be called."""
        times = [worker.deadline for worker in self._workers if worker.deadline is not None]
        return min([*times, self._watch.next_look] if self._watched() else times, default=None)

    def _watched(self) -> Sequence[Worker]:
        """Return the workers whose memory must be checked."""
        return () if self._memory_bytes is None else [worker for worker in self._workers if worker.task is not None]

    def _receive(self, worker: Worker) -> bool:
        """Handle all messages of `worker`; return False if it has ended."""
        try:
            while worker.connection.poll():
                if not self._handle(worker, worker.connection.recv()):
                    return False
        except AntuneError:
            raise
        except Exception as error:  # noqa: BLE001  a dying process may leave any bytes behind
            self._bury(worker, "" if isinstance(error, EOFError | OSError) else f"; its last message: {error}")
            return False
        return True

    def _handle(self, worker: Worker, message: object) -> bool:
        match message:
            case Ready():
                worker.ready, worker.deadline, self._start_failures = True, None, 0
                worker.base_bytes = resident_bytes(worker.process.pid)
            case StartFailed(text):
                self._discard(worker)
                raise AntuneError(f"a worker process cannot start: {text}; run `antune doctor`")
            case InPhase(phase, limit_s):
                worker.enter(phase, limit_s)
                if worker.task is not None and worker.task.key in self._tightened:
                    tight_phase, tight_s = self._tightened[worker.task.key]
                    if phase == tight_phase:
                        worker.tighten(tight_s)
            case Answer(value, retire, doubtful):
                if not (doubtful and self._tries_again(worker)):
                    self._events.append(Finished(self._release(worker).key, value))
                if retire or doubtful:
                    self._replace(worker)
                    return False
            case Raised(text):  # a driver that has lost its context fails in every later call, too
                self._fail(worker, text)
                return False
            case _:
                raise ValueError(f"not a message: {message!r}")
        return True

    def _release(self, worker: Worker) -> Task:
        task: Task | None = worker.task
        if task is None:
            raise ValueError("an answer without a question")
        worker.task, worker.deadline = None, None
        return task

    def _bury(self, worker: Worker, remark: str) -> None:
        """Handle a worker that died: blame its task, unless an earlier task may be the cause."""
        words = worker.last_words() + remark
        self._start_failures += not worker.ready
        if self._start_failures >= START_ATTEMPTS:
            self._discard(worker)
            raise AntuneError(f"a worker process cannot start: {words}; run `antune doctor`")
        self._fail(worker, words, worker.process.returncode == -signal.SIGKILL)

    def _fail(self, worker: Worker, words: str, killed: bool = False) -> None:
        """Handle a failed task of `worker`: blame it, unless it gets another attempt. The worker is replaced."""
        elapsed = time.monotonic() - worker.phase_start
        if worker.task is not None and not self._tries_again(worker, killed):
            self._events.append(Died(worker.task.key, worker.phase, words, elapsed))
        self._replace(worker)

    def _tries_again(self, worker: Worker, killed: bool = False) -> bool:
        """Queue the task of `worker` again if something else may have caused its failure."""
        task = worker.task
        if task is None or task.tried + 1 >= (KILLED_ATTEMPTS if killed else 2) or not (killed or worker.served > 1):
            return False
        self._queue.appendleft(replace(task, tried=task.tried + 1))
        return True

    def _check_memory(self, workers: Sequence[Worker]) -> None:
        for worker, used in zip(workers, self._watch.look([w.process.pid for w in workers]), strict=True):
            limit = 2 * worker.base_bytes + (self._memory_bytes or 0)
            if used > limit:
                self._fail(worker, f"out of memory: the process took {describe_bytes(used)}, {describe_bytes(limit)} "
                                   "are allowed (--memory-limit)")

    def _check_limit(self, worker: Worker) -> None:
        if worker.deadline is None or time.monotonic() < worker.deadline:
            return
        if worker.task is None:
            self._discard(worker)
            raise AntuneError(f"a worker process did not start within {START_S:g} s; run `antune doctor`")
        elapsed = time.monotonic() - worker.phase_start
        self._events.append(Expired(worker.task.key, worker.phase, worker.limit_s, elapsed))
        self._replace(worker)

    def _assign(self) -> None:
        while self._queue:
            task = self._queue[0]
            worker = self._worker_for(task)
            if worker is None:
                return
            try:
                worker.begin(task)
            except OSError:
                self._replace(worker)  # it died while idle: no task is to blame
            else:
                self._queue.popleft()

    def _worker_for(self, task: Task) -> Worker | None:
        idle = [worker for worker in self._workers if worker.idle]
        fresh = [worker for worker in self._workers if worker.served == 0]
        if task.tried and idle and not fresh:
            self._replace(idle[0])
            return None
        usable = [worker for worker in idle if not task.tried or worker.served == 0]
        if not usable and len(self._workers) < min(self._size, self.unfinished):
            self._start()
        return usable[0] if usable else None

    def _start(self) -> None:
        self.started += 1
        log = self._workdir / f"{self._name}-{self.started}.log"
        self._workers.append(Worker(self._startup, self._environment, log))

    def _discard(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.kill()
        worker.log.unlink(missing_ok=True)

    def _replace(self, worker: Worker) -> None:
        """Discard `worker` and start its successor now, so that the next task need not wait for it."""
        self._discard(worker)
        self._start()
