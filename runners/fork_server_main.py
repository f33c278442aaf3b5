"""The fork server: a process that has imported what workers need, and forks itself for each of them.

It never imports a driver and starts no thread, since they do not survive a fork (those of numpy's BLAS do). A worker
that has ended stays registered until the parent has asked for its exit code, so that no other process gets its id.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from generator.garbage import collect_rarely
from runners import worker_main
from runners.fork_server import ENDED, REPLY, STARTED

MOST_BYTES, FILES = 1 << 20, 4


@dataclass(frozen=True, slots=True)
class Request:
    """A worker to start: its settings and its descriptors."""

    settings: Any
    channel: int
    life_line: int
    log: int
    messages: socket.socket


def main() -> None:
    """Serve until the parent ends or closes its end of the socket; in workers: work.

    The last arguments are the descriptor of the socket and the parent's pid.
    """
    channel, parent = (int(text) for text in sys.argv[-2:])
    requests = socket.socket(fileno=channel)
    requests.set_inheritable(False)
    collect_rarely()
    server = os.getpid()
    begun = Server(requests).serve(parent)
    if begun is None:
        os._exit(0)  # the parent waits for it
    worker_main.work(begun.channel, begun.life_line, server)


class Server:
    """Forks workers on request, and reports their ends."""

    def __init__(self, requests: socket.socket) -> None:
        """`requests` is the server's end."""
        self._requests = requests
        self._workers: dict[int, socket.socket] = {}
        self._ended: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # its number goes to the pipe
        self._selector.register(requests, selectors.EVENT_READ, 0)
        self._selector.register(self._woken, selectors.EVENT_READ, 0)

    def serve(self, parent: int) -> Request | None:
        """Return None when the parent and all workers have ended; in a new worker: its request.

        A fork of the parent may hold the sockets open after the parent's end, so its pid is checked, too.
        """
        listens = True
        while (listens or self._workers) and os.getppid() == parent:
            for key, _ in self._selector.select(worker_main.WATCH_S):
                if key.fileobj is self._requests:
                    request = self._received()
                    if request is None:
                        listens = False
                        self._selector.unregister(self._requests)
                    elif self._forked(request):
                        return request
                elif key.fileobj == self._woken:
                    os.read(self._woken, 4096)
                else:  # the parent knows the exit code, or has ended
                    self._release(key.data)
            self._report_ends()
        for pid in tuple(self._workers):
            self._release(pid)
        return None

    def _received(self) -> Request | None:
        message, files, _, _ = socket.recv_fds(self._requests, MOST_BYTES, FILES)
        if not message:
            return None
        for file in files:
            os.set_inheritable(file, False)
        channel, life_line, log, messages = files
        return Request(json.loads(message), channel, life_line, log, socket.socket(fileno=messages))

    def _forked(self, request: Request) -> bool:
        """Return whether this is the new process."""
        for name in request.settings["imports"]:
            with contextlib.suppress(Exception):  # the worker reports that
                importlib.import_module(name)
        gc.freeze()  # workers share the memory of what is there until they change it
        try:
            pid = os.fork()
        except OSError as error:  # too many processes, no memory: other workers go on
            _refuse(request, f"{type(error).__name__}: {error}")
        else:
            if pid == 0:
                self._forget()
                _enter(request)
                return True
            self._workers[pid] = request.messages
            self._selector.register(request.messages, selectors.EVENT_READ, pid)
        for file in (request.channel, request.life_line, request.log):
            os.close(file)
        return False

    def _forget(self) -> None:
        """In a worker: close what belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for file in (self._woken, self._wake):
            os.close(file)
        for one in (self._requests, *self._workers.values()):
            one.close()
        self._workers.clear()

    def _report_ends(self) -> None:
        for pid in [pid for pid in self._workers if pid not in self._ended]:
            end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if end is not None:
                self._ended.add(pid)
                code = end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
                with contextlib.suppress(OSError):  # nobody asks any more: `_release` follows
                    self._workers[pid].send(REPLY.pack(ENDED, code))

    def _release(self, pid: int) -> None:
        """The parent needs this worker no more: end it with all its children, and let its process id go."""
        for end in (os.killpg, os.kill):  # it has no group yet if it has just begun
            with contextlib.suppress(ProcessLookupError):
                end(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._selector.unregister(self._workers[pid])
        self._workers.pop(pid).close()
        self._ended.discard(pid)


def _refuse(request: Request, words: str) -> None:
    """Report that the worker cannot start."""
    with contextlib.suppress(OSError):  # nobody asks any more, or the disk is full
        os.write(request.log, f"{words}\n".encode())
        request.messages.send(REPLY.pack(ENDED, 1))
    request.messages.close()


def _enter(request: Request) -> None:
    """Become the worker: a session, files, environment, cores and temporary folder of its own."""
    os.setsid()
    for output in (1, 2):
        os.dup2(request.log, output)
    os.close(request.log)
    os.chdir(request.settings["folder"])
    os.environ.clear()
    os.environ.update(request.settings["environment"])
    tempfile.tempdir = None
    if set(request.settings["cores"]) != os.sched_getaffinity(0):
        os.sched_setaffinity(0, request.settings["cores"])
    request.messages.send(REPLY.pack(STARTED, os.getpid()))
    request.messages.close()
