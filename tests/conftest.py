"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from generator.garbage import collect_rarely
from tests.support.kept import FOLDER as KEPT
from tests.support.order import rank
from tests.support.paths import GOLDEN
from tests.support.slow import DAY, EVERY, QUICK_ONLY, day

if TYPE_CHECKING:  # numpy, and its BLAS with it, is to be loaded with the variables below
    from runners.base import DeviceInfo
    from tests.support.watched_gpu import WatchedGpu

os.environ.setdefault("ANTUNE_PICTURE", "0")  # a third of the time of a short run
os.environ.setdefault("ANTUNE_FINALISTS", "0")  # the sittings of a final: another third
os.environ["ANTUNE_WISDOM"] = "off"  # what tests find is not what users want to know
KERNELS = "POCL_CACHE_DIR"
QUICKLY = ("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")  # PoCL's options of its compiler
MEMORY = Path("/dev/shm")
ROOM_BYTES = 8 << 30  # of which a session takes less than one
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in runs; pytest has a process per core, and waiting costs too


def pytest_configure(config: pytest.Config) -> None:
    """Tests of Ctrl-C hold in a shell's background job, too: there SIGINT is ignored, and children inherit that.

    All processes of a session find what PoCL has compiled for one of them, a second for each new kernel, and programs
    that one of them has captured.
    """
    collect_rarely()
    os.environ.setdefault(DAY, date.today().isoformat())
    day()  # is it one?
    os.environ[QUICK_ONLY] = "1" if config.option.markexpr == "not slow" else ""
    _keep_in_memory(config)
    _compile_quickly(config)
    if KERNELS not in os.environ:
        os.environ[KERNELS] = folder = tempfile.mkdtemp(prefix="antune-tests-pocl-")
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
    if not hasattr(config, "workerinput"):  # one folder for this process and those that it starts
        os.environ[KEPT] = folder = tempfile.mkdtemp(prefix="antune-tests-kept-")
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
    if hasattr(config.option, "loadscopereorder"):  # of xdist: files with many tests first
        config.option.loadscopereorder = False
    if find_spec("hypothesis") is not None:  # GPU machines have none
        _take_time(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Which cases run today, to repeat them another day."""
    return f"cases of the day: {DAY}={day() or EVERY}"


def _keep_in_memory(config: pytest.Config) -> None:
    """Temporary files are kept in memory where there is room: hundreds of tests make runs, which wait for the disk at
    every result.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return
    state = os.statvfs(MEMORY)
    if state.f_bavail * state.f_frsize < ROOM_BYTES or state.f_flag & os.ST_NOEXEC:  # programs are compiled there
        return
    os.environ["TMPDIR"] = folder = tempfile.mkdtemp(prefix="antune-tests-", dir=MEMORY)
    tempfile.tempdir = None  # it was asked before
    config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))


def _slowly(config: pytest.Config) -> bool:
    """Whether slow tests run."""
    return "slow" in config.option.markexpr.replace("not slow", "")


def _compile_quickly(config: pytest.Config) -> None:
    """PoCL does not optimize, which takes a sixth of the time: most tests ask what a kernel computes, not how fast.

    Slow tests get the code that users get, and so do tests with the fixture `optimized`.
    """
    if not _slowly(config):
        os.environ.setdefault(*QUICKLY)


def _take_time(config: pytest.Config) -> None:
    """How long an example of hypothesis takes is a matter of what else the machine does: it fails no test.

    Tests that say nothing else have 30 examples, with slow tests 100.
    """
    from hypothesis import HealthCheck, settings

    settings.register_profile("antune", deadline=None, suppress_health_check=[HealthCheck.too_slow],
                              max_examples=100 if _slowly(config) else 30)
    settings.load_profile("antune")


@pytest.hookimpl(optionalhook=True)  # GPU machines have no xdist
def pytest_xdist_auto_num_workers() -> int:
    """Of `-n auto`: one process more than cores, since many tests wait: for limits, locks, ends of processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Several processes begin with the files that take long: see `tests.support.order`."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.path))


def pytest_collection_finish() -> None:
    """Garbage is not looked for in what collecting has made, and less often: a tenth of the processor time of tests."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest --update-golden` rewrites the expected texts; read the diff before you commit it."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what the code says now")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("gemm.cl", text)` fails unless tests/golden/gemm.cl holds exactly `text`."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing; make it with: pytest --update-golden {request.node.nodeid}"
        assert text == path.read_text(), f"{path} differs; if that is meant: pytest --update-golden"

    return check


@pytest.fixture(scope="module")
def optimized() -> Iterator[None]:
    """PoCL optimizes, as it does for users, in all processes that begin now."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get(QUICKLY[0]) == QUICKLY[1]:
            patch.delenv(QUICKLY[0])
        yield


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The C file of a toy run."""
    from tests.support.runs import toy_source

    return toy_source(tmp_path)


@pytest.fixture
def saved_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs write a checkpoint after every iteration."""
    from experiments.search import checkpoints

    monkeypatch.setattr(checkpoints, "LEAST_S", 0.0)
    monkeypatch.setattr(checkpoints, "TIMES", 0.0)


@contextmanager
def _watched(folder: Path) -> Iterator[None]:
    """Let processes that start now find the stand-in for a CUDA driver in `folder`, which watches kernels."""
    from tests.support.cuda_double import UNUSABLE, WATCHED, pretended

    if UNUSABLE is not None:
        pytest.skip(UNUSABLE)
    with pretended(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv(WATCHED, "1")
        yield


@pytest.fixture(scope="session")
def watched_driver(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DeviceInfo]:
    """The folder of a driver that watches kernels, and its device: asked once, and all workers with this folder come
    from one server of processes.
    """
    from runners.devices import find_device

    folder = tmp_path_factory.mktemp("driver")
    with _watched(folder):
        return folder, find_device("cuda")


@pytest.fixture(scope="module")
def watched_device(watched_driver: tuple[Path, DeviceInfo]) -> Iterator[DeviceInfo]:
    """That device, for processes that start now."""
    folder, device = watched_driver
    with _watched(folder):
        yield device


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the calls that reach a stand-in for a driver, and what it finds wrong."""
    monkeypatch.setenv("CUDA_DOUBLE_LOG", str(tmp_path / "calls"))
    return tmp_path / "calls"


@pytest.fixture
def watched_gpu(watched_device: DeviceInfo, calls: Path, tmp_path: Path) -> WatchedGpu:
    """The stand-in for a CUDA GPU, which watches what kernels do to memory."""
    from tests.support.watched_gpu import WatchedGpu

    return WatchedGpu(watched_device, calls, tmp_path)
