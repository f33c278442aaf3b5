"""The worker's side of a worker process: runs one task after another and never outlives its parent.

Two guards end a worker whose parent has ended. The kernel raises SIGIO when the last writer of the life line (a pipe
that only the parent writes to) disappears; its default action ends the process even while a C extension holds the
interpreter lock, and unlike PR_SET_PDEATHSIG it does not depend on the parent's thread that started the process. If
that is not available, a thread checks the parent's process id once a second.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from generator.garbage import collect_rarely
from metrics.outcome import Phase
from runners.messages import Handler, InPhase, Raised, Ready, StartFailed, Startup

WATCH_S = 1.0
FILE_BYTES = 2**30
FIRST_TO_GO = "800"  # of 1000: if the machine runs out of memory, a worker ends first, not the user's other programs


def main() -> None:
    """Run the worker: `argv` holds the descriptors of the message pipe and the life line, and the parent's pid."""
    collect_rarely()
    work(*(int(text) for text in sys.argv[-3:]))


def work(channel: int, life_line: int, parent: int) -> None:
    """Run the worker with the descriptors of its message pipe and its life line, and the pid of its parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a hostile kernel must not fill the disk with core files,
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))  # nor by printing
    with contextlib.suppress(OSError):  # without /proc, the system chooses by size
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)
    _end_with_parent(life_line, parent)
    os.set_inheritable(channel, False)  # a linker that a driver starts must not keep the pipe open
    connection: Connection = Connection(channel)
    try:
        handler = _start(connection)
        if handler is not None:
            _serve(connection, handler)
    except (EOFError, BrokenPipeError):
        return  # the parent has closed the pipe: the normal end


def _start(connection: Connection) -> Handler | None:
    startup = connection.recv()
    assert isinstance(startup, Startup)
    try:
        handler = startup.factory(*startup.arguments)
    except Exception as error:  # noqa: BLE001  the parent decides what it means
        traceback.print_exc()
        connection.send(StartFailed(_describe(error)))
        return None
    connection.send(Ready())
    return handler


def _serve(connection: Connection, handler: Handler) -> None:
    def report(phase: Phase, limit_s: float | None) -> None:
        connection.send(InPhase(phase, limit_s))

    while True:
        task = connection.recv()
        try:
            answer = handler(task, report)
        except Exception as error:  # noqa: BLE001  a bad variant must not end the worker
            traceback.print_exc()
            connection.send(Raised(_describe(error)))
        else:
            connection.send(answer)


def _describe(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"  # noqa: PTH119


def _end_with_parent(life_line: int, parent: int) -> None:
    os.set_inheritable(life_line, False)
    if hasattr(fcntl, "FASYNC"):
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(life_line, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(life_line, fcntl.F_GETFL)
        fcntl.fcntl(life_line, fcntl.F_SETFL, flags | fcntl.FASYNC)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_S)
    os.killpg(0, signal.SIGKILL)
