"""`antune tune --live`: starts the process that serves the report of a run (live.py), and ends it with the run."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from generator.errors import InputError

ADDRESS = "127.0.0.1"
TOKEN = "ANTUNE_LIVE_TOKEN"
"""The environment variable with the token in the page's address: unlike arguments, other users cannot read it."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def live_view(directory: Path, port: int) -> Iterator[str]:
    """Serve the page of the run in `directory` inside the context; yield its address. `port` 0: any free port.

    Raises:
        InputError: the port is in use or not allowed.
    """
    token = secrets.token_urlsafe(12)  # other users of this machine can connect to the port, too
    with _listening(port) as listening:
        process = _start(listening, directory, token)
        address = f"http://{ADDRESS}:{listening.getsockname()[1]}/{token}/"
    try:
        yield address
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):  # it waits until watching browsers have the last page
            process.wait(0.5)


def _listening(port: int) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((ADDRESS, port))
        server.listen()
    except OSError as error:
        server.close()
        why = "is taken by another program" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise InputError(f"--live-port {port} {why}; choose another, or leave it out for a free one") from None
    return server


def _start(listening: socket.socket, directory: Path, token: str) -> subprocess.Popen[bytes]:
    """Start the process in its own session, so that Ctrl-C reaches only the run."""
    root = str(Path(__file__).parents[2])
    environment = os.environ | dict.fromkeys(ONE_THREAD, "1") | {
        TOKEN: token, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    words = [sys.executable, "-m", "experiments.report.live", str(listening.fileno()), str(directory.absolute()),
             str(os.getpid())]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            pass_fds=(listening.fileno(),), start_new_session=True, env=environment)
