"""Real Dask schedulers and workers in separate processes, for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.support.paths import ROOT

MARK = "ANTUNE_TEST_CLUSTER"
PATIENCE_S = 60.0


def wait_until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until `condition` holds; fail the test if that takes too long."""
    until = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < until, f"waited {patience_s:g} s until {what}"
        time.sleep(0.05)


def marked(mark: str) -> list[int]:
    """Return all processes that were started with `mark`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            ended = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            if not ended and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


@dataclass
class TestCluster:
    """A scheduler and its workers; `mark` is in the environment of all of them and of their children."""

    __test__ = False
    folder: Path
    root: Path = ROOT
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def file(self) -> str:
        """The scheduler file: an address for --cluster."""
        return str(self.folder / "scheduler.json")

    def start(self, *words: str, name: str, root: Path | None = None) -> subprocess.Popen[bytes]:
        """Start `python WORDS`; its output goes to NAME.log."""
        environment = os.environ | {MARK: self.mark, "PYTHONPATH": str(root or self.root),
                                    "DASK_TEMPORARY_DIRECTORY": str(self.folder)}
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen([sys.executable, *words], env=environment, cwd=self.folder, stdout=log,
                                       stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    def scheduler(self, *words: str) -> subprocess.Popen[bytes]:
        """Start the scheduler, with further options, and wait for its file."""
        process = self.start("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                             "--no-dashboard", "--scheduler-file", self.file, *words, name="scheduler")
        wait_until(lambda: Path(self.file).is_file() and Path(self.file).stat().st_size > 0, "the scheduler is there")
        return process

    def worker(self, device: str, name: str, root: Path | None = None) -> subprocess.Popen[bytes]:
        """Start `antune worker` for one device; it joins some seconds later."""
        return self.start("-m", "antune.cli", "worker", self.file, "--device", device, "--compilers", "1", name=name,
                          root=root)

    def bare_worker(self, device: str, name: str) -> subprocess.Popen[bytes]:
        """Start Dask's own worker for one device, without a nanny: that takes a third of the processor time."""
        address = json.loads(Path(self.file).read_text())["address"]
        return self.start("-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard",
                          "--nthreads", "2", "--memory-limit", "0", "--preload", "runners.cluster.preload",
                          "--device", device, name=name)

    def ready(self, *names: str) -> None:
        """Wait until the workers `names` have joined."""
        for name in names:
            wait_until(partial(self._joined, name), f"worker {name} has joined")

    def _joined(self, name: str) -> bool:
        return b"Registered to" in (self.folder / f"{name}.log").read_bytes()

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process of `start`, with its whole session."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> list[int]:
        """End everything in order; kill and return the processes that remain after that."""
        for process in reversed(self.processes):  # the scheduler last: workers sign off from it
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
        with suppress(AssertionError):
            wait_until(lambda: not marked(self.mark), "all have ended", 10)
        left = marked(self.mark)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
        return left


@contextmanager
def cluster_of(folder: Path, devices: Sequence[str]) -> Iterator[TestCluster]:
    """Yield a scheduler with one worker per entry of `devices`, called w0, w1, ...; the first is of `antune worker`."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = TestCluster(folder)
    try:
        cluster.scheduler()
        names = [f"w{number}" for number in range(len(devices))]
        for name, device in zip(names, devices, strict=True):
            (cluster.bare_worker if name != "w0" else cluster.worker)(device, name)
        cluster.ready(*names)
        yield cluster
    finally:
        left = cluster.close()
    assert not left, "a worker has left processes behind"
