"""A Dask cluster on this machine for one run: `--cluster local:N`.

It is a separate process, so that Ctrl-C in the terminal does not reach it, and that it ends with this process, however
that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from generator.errors import AntuneError, InputError
from runners.processes import ROOT

LOCAL = "local:"
MOST_WORKERS = 256
START_S, END_S = 120.0, 20.0
BOOTSTRAP = ("import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
             "from runners.cluster.local_main import main; main()")


def local_workers(cluster: str) -> int | None:
    """Return N of `local:N`, None for the address of an existing cluster. Raises InputError for an invalid N."""
    if not cluster.startswith(LOCAL):
        return None
    text = cluster.removeprefix(LOCAL)
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MOST_WORKERS:
        raise InputError(f"--cluster {cluster} has no number of workers: write local:N, N from 1 to {MOST_WORKERS}")
    return int(text)


@dataclass(frozen=True, slots=True)
class LocalSpec:
    """A cluster to start: the selectors of the devices of each Dask worker, and the threads of each."""

    devices: tuple[tuple[str, ...], ...]
    threads: int


def spread(keys: Sequence[str], workers: int) -> LocalSpec:
    """Distribute the devices `keys` over `workers` Dask workers; if there are more workers than devices, they share
    devices.
    """
    hands = [tuple(keys[number::workers]) or (keys[number % len(keys)],) for number in range(workers)]
    cores = len(os.sched_getaffinity(0))
    return LocalSpec(tuple(hands), max(1, cores // workers) + max(len(hand) for hand in hands))


class LocalCluster:
    """A scheduler and workers on this machine; close it after use."""

    def __init__(self, spec: LocalSpec, folder: Path) -> None:
        """Starts it; temporary files go to `folder`.

        Raises:
            AntuneError: it does not start.
        """
        path = json.dumps([str(ROOT), *(entry or str(Path.cwd()) for entry in sys.path)])
        asked = json.dumps({"devices": spec.devices, "threads": spec.threads, "folder": str(folder)})
        self._log = folder / "cluster.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([sys.executable, "-c", BOOTSTRAP, path, asked], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        try:
            self.address = self._first_line()
        except BaseException:  # Ctrl-C too: nothing else would end the new processes
            self.close()
            raise

    def __enter__(self) -> Self:
        """Return the cluster itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End all of its processes; may be called again."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _first_line(self) -> str:
        """Return the first line of its output, which is its address."""
        assert self._process.stdout is not None
        until, said = time.monotonic() + START_S, b""
        while not said.endswith(b"\n"):
            left_s = until - time.monotonic()
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, left_s))
            part = os.read(self._process.stdout.fileno(), 4096) if ready else b""
            if not part:
                raise AntuneError(f"the cluster on this machine does not start: {self._last_words()}")
            said += part
        return said.decode().strip()

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return lines[-1][:300] if lines else f"no answer within {START_S:g} s"
