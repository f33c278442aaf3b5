"""Run jobs in several processes; none of them is left afterwards, whatever happens.

Each process has one pipe, and one thread reads all pipes. Pools of the standard library have their own threads and
locks: if Ctrl-C arrives while a lock is held, the pool waits for that lock forever.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")


class WorkerKilled(Exception):
    """A process ended before its job did."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """The exception that a job raised."""

    error: Exception


@dataclass(frozen=True, slots=True)
class _Worker(Generic[Job, Found]):
    process: BaseProcess
    pipe: Connection


def spread(work: Callable[[Job], Found], jobs: Sequence[Job], workers: int) -> Generator[tuple[Job, Found]]:
    """Yield each job with the result of `work`, in the order in which they end; close the iterator to stop early.

    `work` and the jobs are pickled. With one worker everything runs in this process.

    Raises:
        WorkerKilled: a process was killed, for example because memory ran out.
        Exception: what `work` raised.
    """
    if workers <= 1:
        yield from ((job, work(job)) for job in jobs)
        return
    started: list[_Worker[Job, Found]] = []
    try:
        _start(started, work, workers)
        yield from _results(started, jobs)
    finally:
        for worker in started:
            worker.process.kill()
            worker.process.join()


def _start(started: list[_Worker[Job, Found]], work: Callable[[Job], Found], workers: int) -> None:
    context = get_context("spawn")
    resource_tracker.ensure_running()  # now: it would unblock SIGINT below, as the first process starts it
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers inherit it: Ctrl-C is left to this process
    try:
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, work), daemon=True)
            process.start()
            theirs.close()  # so that the pipe closes when the process ends
            started.append(_Worker(process, ours))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _results(workers: Sequence[_Worker[Job, Found]], jobs: Sequence[Job]) -> Iterator[tuple[Job, Found]]:
    waiting = iter(jobs)
    busy: dict[Connection, Job] = {}
    for worker, job in zip(workers, waiting, strict=False):
        _send(worker.pipe, job, busy)
    while busy:
        for pipe in wait(list(busy)):
            assert isinstance(pipe, Connection)
            job = busy.pop(pipe)
            found: Found | _Failed = _received(pipe)
            if isinstance(found, _Failed):
                raise found.error
            for following in waiting:
                _send(pipe, following, busy)
                break
            yield job, found


def _send(pipe: Connection, job: Job, busy: dict[Connection, Job]) -> None:
    busy[pipe] = job
    with suppress(BrokenPipeError):  # it was killed: reading its pipe reports that
        pipe.send(job)


def _received(pipe: Connection) -> Any:
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):
        raise WorkerKilled from None


def _serve(pipe: Connection, work: Callable[[Job], Found]) -> None:
    """Run jobs until there are no more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError):  # the parent has ended
        while True:
            job: Job = pipe.recv()
            try:
                answer: Found | _Failed = work(job)
            except Exception as error:  # noqa: BLE001  raised again in the parent
                answer = _Failed(_portable(error))
            pipe.send(answer)


def _portable(error: Exception) -> Exception:
    """Return `error`, or an exception with its message if it cannot be pickled and read again."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  whatever the methods of somebody's class raise
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with_parent() -> None:
    """End this process as soon as the parent ends, however that happens; a job may take long."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
