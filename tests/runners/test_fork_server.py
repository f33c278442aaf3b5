"""The fork server: what its workers see is what a new process would see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from generator.garbage import THRESHOLDS
from runners.backends import BACKENDS
from runners.fork_server import Forked
from runners.messages import Startup
from runners.pools import wait_for
from runners.processes import Died, Event, Finished, Task, WorkerPool
from runners.tasks import COMPILE_IMPORTS
from tests.support.children import changed_children
from tests.support.paths import ROOT
from tests.support.runners import alive
from tests.support.workers import teller

SEES = ("(dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid(), sorted(os.sched_getaffinity(0)),"
        " tempfile.gettempdir(), sys.path, os.getppid())")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no fork server")


@contextmanager
def telling(folder: Path, environment: Mapping[str, str], size: int = 1) -> Iterator[WorkerPool]:
    pool = WorkerPool("teller", size, Startup(teller, ()), environment, folder)
    try:
        yield pool
    finally:
        pool.close()


def ends(pool: WorkerPool, *tasks: str) -> Sequence[Event]:
    for key, text in enumerate(tasks):
        pool.submit(Task(key, text, "check", None))
    found: list[Event] = []
    while len(found) < len(tasks):
        wait_for([pool])
        found.extend(pool.poll())
    return sorted(found, key=lambda event: event.key)


def told(pool: WorkerPool, *tasks: str) -> list[Any]:
    events = ends(pool, *tasks)
    assert all(isinstance(event, Finished) for event in events), events
    return [event.value for event in events if isinstance(event, Finished)]


def seen(folder: Path, environment: Mapping[str, str]) -> Any:
    with telling(folder, environment) as pool:
        (found,) = told(pool, SEES)
    return found


def test_a_worker_has_its_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTUNE_TEST_REMOVED", "1")
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
    first = seen(places[0], {"TMPDIR": str(places[0]), "ANTUNE_TEST_NAME": "ä"})
    monkeypatch.delenv("ANTUNE_TEST_REMOVED")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        second = seen(places[1], {"TMPDIR": str(places[1])})
    finally:
        os.sched_setaffinity(0, cores)
    assert first[-1] == second[-1] != os.getpid(), "both have the same server"
    for (environment, folder, leads, _, temporary, path, _), place in zip((first, second), places, strict=True):
        assert (folder, leads, temporary, path[0]) == (str(place), True, str(place), str(ROOT))
        assert environment["TMPDIR"] == str(place)
    assert first[0].items() >= {"ANTUNE_TEST_REMOVED": "1", "ANTUNE_TEST_NAME": "ä"}.items()
    assert not {"ANTUNE_TEST_REMOVED", "ANTUNE_TEST_NAME"} & set(second[0])
    assert (first[3], second[3]) == (sorted(cores), [min(cores)])


def test_a_server_loads_no_driver(tmp_path: Path) -> None:
    imports = (*COMPILE_IMPORTS, "runners.devices", *(name for backend in BACKENDS for name in backend.imports))
    pool = WorkerPool("teller", 1, Startup(teller, (), imports), {}, tmp_path)
    with closing(pool):
        modules, files, thresholds = told(pool, "sorted(sys.modules)", "open('/proc/self/maps').read()",
                                          "__import__('gc').get_threshold()")
    assert thresholds == THRESHOLDS, "workers look for garbage as rarely as their server"
    assert set(imports) <= set(modules)
    assert not {"pyopencl", "cuda", "cuda.bindings"} & set(modules)
    assert not [name for name in ("OpenCL", "libcuda", "nvrtc", "amdhip", "pocl", "intelocl") if name in files]


def test_what_tests_let_workers_import_does_not_load_pytest(tmp_path: Path) -> None:
    """It takes them longer than most of their tasks."""
    files = ("runners", "cuda_double", "hostile", "spoiled", "workers")
    load = f"[__import__('tests.support.' + file) for file in {files}]"
    with telling(tmp_path, {}) as pool:
        (loaded,) = told(pool, f"[{load}, 'pytest' in sys.modules][1]")
    assert not loaded


def test_what_python_reads_when_it_starts_is_that_of_the_worker(tmp_path: Path) -> None:
    found = {}
    for seed in ("1", "2"):
        with telling(tmp_path, {"PYTHONHASHSEED": seed}) as pool:
            (found[seed],) = told(pool, "hash('antune')")
    new = {seed: int(subprocess.check_output([sys.executable, "-c", "print(hash('antune'))"],
                                             env={**os.environ, "PYTHONHASHSEED": seed})) for seed in found}
    assert found == new


def test_a_server_that_is_killed_is_replaced(tmp_path: Path) -> None:
    environment = {"PYTHONHASHSEED": "3"}  # a server of this test
    with telling(tmp_path, environment) as pool:
        server, worker = told(pool, "os.getppid()", "os.getpid()")
        os.kill(server, signal.SIGKILL)
        start = time.monotonic()
        while alive(worker) and time.monotonic() - start < 10:
            time.sleep(0.01)
        assert not alive(worker)
        (after,) = told(pool, "os.getppid()")
        assert after != server
        (event,) = ends(pool, "os.kill(os.getpid(), 9)")
        assert isinstance(event, Died) and "SIGKILL" in event.message


def test_an_environment_that_no_message_holds(tmp_path: Path) -> None:
    with telling(tmp_path, {f"ANTUNE_TEST_{n}": "x" * 100_000 for n in range(5)}) as pool:
        (parent, size) = told(pool, "os.getppid()", "len(os.environ['ANTUNE_TEST_4'])")
        assert (parent, size) == (os.getpid(), 100_000)
        assert not isinstance(pool._workers[0].process, Forked)


PARENT = """
import os
import sys
import time
from pathlib import Path
from runners.messages import Startup
from runners.processes import Task, WorkerPool
from runners.pools import wait_for
from tests.support.workers import teller

pool = WorkerPool("teller", 1, Startup(teller, ()), {}, Path(sys.argv[1]))
child = "os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '60')"
pool.submit(Task(0, f"(os.getppid(), os.getpid(), {child})", "check", None))
while not (events := pool.poll()):
    wait_for([pool])
if sys.argv[2] == "fork" and os.fork() == 0:
    time.sleep(60)  # holds copies of the parent's descriptors
print(*events[0].value, flush=True)
if sys.argv[2] == "close":
    pool.close()
else:
    input()
"""


@pytest.mark.parametrize("end", ["close", "kill", "fork"])
def test_a_server_and_its_workers_end_with_their_process(end: str, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    user = tmp_path / "user"
    user.mkdir()
    (user / "json.py").write_text("raise AssertionError('a file of the user')")
    with subprocess.Popen([sys.executable, str(tmp_path / "parent.py"), str(tmp_path), end], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, cwd=user, start_new_session=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as parent:
        assert parent.stdout is not None
        processes = [int(word) for word in parent.stdout.readline().split()]
        assert len(processes) == 3
        try:
            if end != "close":
                parent.kill()
            assert parent.wait(60) == (0 if end == "close" else -signal.SIGKILL)
            start = time.monotonic()
            while any(map(alive, processes)) and time.monotonic() - start < 10:
                time.sleep(0.02)
            assert not [pid for pid in processes if alive(pid)]
        finally:
            if end == "fork":
                os.killpg(parent.pid, signal.SIGKILL)


def test_a_worker_that_cannot_be_forked_does_not_end_the_others(tmp_path: Path) -> None:
    fails_once = ("import os\nforks, plain = [], os.fork\ndef fork():\n    forks.append(1)\n    if len(forks) == 2:\n"
                  "        raise BlockingIOError(11, 'no more processes')\n    return plain()\nos.fork = fork\n")
    with telling(tmp_path, changed_children(tmp_path / "hooks", fails_once), size=2) as pool:
        servers = told(pool, "os.getppid()")
        servers += told(pool, "(os.getppid(), __import__('time').sleep(0.5))[0]", "os.getppid()")
        assert len(set(servers)) == 1
        assert pool.started == 3


def test_workers_of_a_server_that_fails_are_new_processes(tmp_path: Path) -> None:
    fails = "import os\nimport sys\nif 'fork_server_main' in str(sys.orig_argv):\n    os._exit(3)\n"
    with telling(tmp_path, changed_children(tmp_path / "hooks", fails)) as pool:
        assert told(pool, "os.getppid()") == [os.getpid()]
