"""The parent's side of the fork server: starts worker processes as copies of a process that has imported antune.

A worker that starts as a new Python imports the same modules as all others, which takes longer than many of its tasks.
The server (`fork_server_main.py`) imports them once, without drivers, and forks itself for every worker. A process has
one server for all of its workers, which ends with it.

What a Python process reads once, when it starts, is the same in all workers of a server: processes that differ in it
have servers of their own. All other settings of a worker come with the request for it.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import Protocol

AT_START = ("PYTHON", "LD_", "LANG", "LC_", "MALLOC_", "GLIBC_", "OPENBLAS_", "GOTO_", "OMP_", "MKL_", "NPY_",
            "NUMPY_")
"""Prefixes of the environment variables that Python, its loader and the imported modules read when a process starts."""
SERVERS = 4
STUCK_S = 60.0
"""A server that needs longer to start a worker is ended, and with it all of its workers."""
BOOTSTRAP = ("import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
             "from runners.{} import main; main()")
STARTED, ENDED = b"p", b"s"
REPLY = struct.Struct("=ci")
"""A message about a worker: STARTED and its pid, or ENDED and its exit code."""


class Process(Protocol):
    """What a pool needs of a worker's process."""

    @property
    def pid(self) -> int:
        """Return the process id, which is also that of its process group."""

    @property
    def returncode(self) -> int | None:
        """Return the exit code, negative for a signal; None before `wait` has returned."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the process has ended.

        Raises:
            subprocess.TimeoutExpired: it has not ended after `timeout` seconds.
        """


class Forked:
    """A worker process that a server has forked. Its process id is not given to another one before `wait`."""

    def __init__(self, server: ForkServer, messages: socket.socket) -> None:
        """`messages` come from the worker when it starts, and from the server when it ends."""
        self._server = server  # it lives as long as its workers
        self._messages = messages
        self._pid: int | None = None
        self.returncode: int | None = None

    @property
    def pid(self) -> int:
        """Return the process id. Waits until the process runs.

        Raises:
            ProcessLookupError: it has ended before that.
        """
        while self._pid is None:
            if self.returncode is not None:
                raise ProcessLookupError
            if not wait([self._messages], STUCK_S):
                self._server.kill()
            self._receive()
        return self._pid

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the process has ended.

        Raises:
            subprocess.TimeoutExpired: it has not ended after `timeout` seconds.
        """
        while self.returncode is None:
            if timeout is not None and not wait([self._messages], timeout):
                raise subprocess.TimeoutExpired("worker", timeout)
            self._receive()
        self._messages.close()
        return self.returncode

    def _receive(self) -> None:
        message = self._messages.recv(REPLY.size)
        kind, number = REPLY.unpack(message) if message else (ENDED, -signal.SIGKILL)  # the server has been killed
        if kind == STARTED:
            self._pid = number
        else:
            self.returncode = number


class ForkServer:
    """A running server. It ends when nothing refers to this object, or with this process."""

    def __init__(self, path: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it: `path` is that of its workers, `environment` the variables of AT_START."""
        self._requests, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        others = {name: value for name, value in os.environ.items() if not name.startswith(AT_START)}
        with inner:  # not in the current folder: Python would import the user's files there
            self._process = subprocess.Popen(
                [sys.executable, "-c", BOOTSTRAP.format("fork_server_main"), json.dumps(path), str(inner.fileno()),
                 str(os.getpid())], pass_fds=(inner.fileno(),), env={**others, **environment}, start_new_session=True,
                cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __del__(self) -> None:
        """Let the server end, which it does at once if all of its workers have ended."""
        self._requests.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def failed(self) -> bool:
        """Return whether the server, which does not answer, has ended by itself: the next one would, too."""
        try:
            return self._process.wait(1.0) > 0
        except subprocess.TimeoutExpired:
            return False

    def kill(self) -> None:
        """End the server. Its workers end themselves."""
        self._process.kill()

    def start(self, imports: Sequence[str], environment: Mapping[str, str], folder: str,
              files: Sequence[int]) -> Forked:
        """Return a new worker with this environment, in `folder`. `files`: message pipe, life line and log.

        The server first imports the modules `imports`, if it has not done that.

        Raises:
            OSError: the server has ended, or the environment is too large for a message.
        """
        outer, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {"imports": imports, "environment": dict(environment), "folder": folder,
                   "cores": sorted(os.sched_getaffinity(0))}
        try:
            with inner:
                socket.send_fds(self._requests, [json.dumps(request).encode()], [*files, inner.fileno()])
        except OSError:
            outer.close()
            raise
        return Forked(self, outer)


def start_worker(path: Sequence[str], imports: Sequence[str], environment: Mapping[str, str], folder: Path,
                 files: tuple[int, int, int]) -> Process:
    """Return a new worker process with this module path and environment in `folder`, which needs `imports`.

    `files` are the descriptors of its message pipe, its life line and its log. A worker without a server (systems other
    than Linux, an environment that is too large for a message, a server that fails) is a new Python.
    """
    if sys.platform == "linux":
        at_start = tuple(sorted((name, value) for name, value in environment.items() if name.startswith(AT_START)))
        for _ in range(2):
            server = _server(os.getpid(), tuple(path), at_start)
            try:
                return server.start(imports, environment, str(folder), files)
            except OSError as error:
                if error.errno == errno.EMSGSIZE or server.failed():
                    break
                _server.cache_clear()  # somebody has ended it
    channel, life_line, log = files
    return subprocess.Popen([sys.executable, "-c", BOOTSTRAP.format("worker_main"), json.dumps(path), str(channel),
                             str(life_line), str(os.getpid())], pass_fds=(channel, life_line), env=environment,
                            start_new_session=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@lru_cache(maxsize=SERVERS)
def _server(_pid: int, path: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> ForkServer:
    return ForkServer(path, dict(environment))
