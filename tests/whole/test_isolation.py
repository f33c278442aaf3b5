"""A run among hostile variants: it finishes, everything is typed rightly, nothing is lost, mixed up or left behind."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from experiments import run
from experiments.benchmarks.worker_overhead import restart_s
from experiments.run import tune
from experiments.search.parts import PARTS, Parts
from experiments.store import read_store
from generator.expr import Binary, Load, Name
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Access
from metrics.outcome import Outcome
from runners import pool_runner
from runners.base import DeviceInfo, Limits
from runners.many import Place
from runners.pool_runner import DeviceRunner
from tests.support.hostile import (
    HOSTILE,
    Script,
    as_expected,
    fault_of,
    hostile_plan,
    lower_hostile,
    make_fragile_compile_worker,
    make_fragile_device_worker,
)
from tests.support.runners import SIZE, alive, needed_device, scale_problem, worker_pids
from tests.support.runs import Log, toy_options, toy_source

MARK = "ANTUNE_TEST_MARK"
SHARED_MEMORY = Path("/dev/shm")
FOREIGN = "sem.mp-"  # semaphores of Python's multiprocessing, which the workers do not use
BETWEEN_KILLS_S = (6.0, 9.0)
"""With compilers and timers by turns, this is more than any plan may take: none is met by three kills."""


@pytest.fixture(params=["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.slow)])
def device(request: pytest.FixtureRequest) -> DeviceInfo:
    return needed_device(request.param)


@dataclass
class Killer:
    """Kills workers from outside at random times, compilers and timers by turns."""

    seed: int
    killed: list[int] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def at_large(self) -> Iterator[None]:
        """Kill while the body runs."""
        thread = threading.Thread(target=self._kill)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _kill(self) -> None:
        draw = np.random.default_rng(self.seed)
        while not self._stop.wait(draw.uniform(*BETWEEN_KILLS_S)):
            wanted = "device-" if len(self.killed) % 2 else "compile-"
            if pids := [pid for pid in worker_pids(os.getpid()) if wanted in log_of(pid)]:
                self.killed.append(int(draw.choice(pids)))
                os.kill(self.killed[-1], signal.SIGKILL)


def log_of(pid: int) -> str:
    """The file that a worker writes to, which has the name of its pool; empty when it is gone."""
    try:
        return str(Path(f"/proc/{pid}/fd/1").readlink())
    except OSError:
        return ""


def storable_problem() -> Problem:
    """The problem with the exact accesses that the program of a store must have."""
    found = scale_problem()
    [statement] = found.program.statements
    reads, writes = (replace(access, relation=access.relation.replace("}", f": 0 <= i < {SIZE} }}"))
                     for access in statement.accesses)
    scalar = Access("a", f"{{ S0[i] -> a[] : 0 <= i < {SIZE} }}", "read")
    body = replace(statement.body, value=Binary("*", Load("a", (), 2), Load("A", (Name("i"),), 0)))
    exact = replace(statement, body=body, accesses=(reads, writes, scalar))
    return replace(found, subject=replace(found.program, statements=(exact,)))


def parts_of(device: DeviceInfo, script: Script, default: Plan) -> Parts:
    """A real run around a real device; Plans come from the script."""

    def open_runner(problem: Problem, _place: Place, limits: Limits, work: Path) -> DeviceRunner:
        brief = replace(limits, min_repeats=5, max_repeats=8, time_s=0.3)
        return DeviceRunner(problem, device, brief, work, workers=2, lower=lower_hostile)

    return replace(PARTS, read_problem=lambda _options, _tell: storable_problem(), check_place=lambda place: place,
                   make_space=lambda *_: lambda _chooser: default, starts=lambda *_: (),
                   make_explorer=lambda *_: script, default_plan=lambda *_: default, open_runner=open_runner)


def marked_processes(mark: str) -> list[int]:
    """All processes but this one that were started under the environment of this test, wherever they are now, and all
    that are in its folder: workers, whose initial environment is that of their fork server.
    """
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment, place = (folder / "environ").read_bytes(), (folder / "cwd").readlink()
        except OSError:  # another user's, or gone
            continue
        is_marked = f"{MARK}={mark}".encode() in environment or Path(mark) in (place, *place.parents)
        if is_marked and int(folder.name) != os.getpid() and alive(int(folder.name)):
            found.append(int(folder.name))
    return found


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Marks all processes of the test, and gives them a folder for temporary files of their own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv(MARK, str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for user in (pool_runner, run):
        monkeypatch.setattr(user, "timing_lock", lambda *_: tmp_path / "lock")  # hangs must not hold up others
    monkeypatch.setattr(pool_runner, "make_compile_worker", make_fragile_compile_worker)
    monkeypatch.setattr(pool_runner, "make_device_worker", make_fragile_device_worker)
    os.mkfifo(folder / "fifo")
    return folder


def hostile_run(device: DeviceInfo, traces: Path, faults: list[str], killer: Killer,
                limit_s: float) -> dict[Plan, Outcome]:
    """Every plan with its stored outcome, after a run through the real loop."""
    plans = [hostile_plan(fault, number, str(traces)) for number, fault in enumerate(faults, 1)]
    script, directory = Script(plans), traces.parent / "run"
    options = replace(toy_options(toy_source(traces.parent), len(plans)), ants=10, compile_limit_s=limit_s,
                      run_limit_s=limit_s / 2, memory_limit_gb=0.3)
    with killer.at_large():
        finish = tune(options, directory, Log(), parts_of(device, script, hostile_plan("good", 0)))
    assert finish.ending == "finished"
    with read_store(directory) as store:
        stored = {result.evaluation.plan: result.outcome for result in store.results()}
    assert len(stored) == len(plans) + 1 and {plan: stored[plan] for plan in plans} == script.told
    assert {path.name for path in directory.iterdir()} >= {"run.sqlite", "summary.json"}
    assert not (directory / "work").exists()
    return stored


def open_ends() -> int:
    """The pipes and sockets of this process."""
    ends = [os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()]
    return sum("pipe:" in end or "socket:" in end for end in ends)


def assert_nothing_is_left(traces: Path, before: set[Path], ends: int) -> None:
    start = time.monotonic()
    while (left := marked_processes(str(traces.parent))) and time.monotonic() - start < 5:
        time.sleep(0.1)
    assert not left, "orphans"
    assert {path.name for path in traces.iterdir()} == {"fifo"}
    left_memory = orphaned_memory(before)
    while left_memory and time.monotonic() - start < 10:  # of other programs, which come and go
        time.sleep(0.5)
        left_memory &= orphaned_memory(before)
    assert not left_memory
    assert open_ends() == ends


def orphaned_memory(before: set[Path]) -> set[Path]:
    """Shared memory that is new and that no process uses."""
    new = {path for path in set(SHARED_MEMORY.iterdir()) - before if not path.name.startswith(FOREIGN)}
    used: set[Path] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            text = maps.read_text()
        except OSError:
            continue
        used |= {path for path in new if str(path) in text}
    return new - used


def check(device: DeviceInfo, traces: Path, faults: list[str], seed: int, limit_s: float) -> None:
    memory, ends, killer = set(SHARED_MEMORY.iterdir()), open_ends(), Killer(seed)
    outcomes = hostile_run(device, traces, faults, killer, limit_s)
    strange = {f"{fault_of(plan)}: {outcome}" for plan, outcome in outcomes.items() if not as_expected(plan, outcome)}
    assert not strange
    assert_nothing_is_left(traces, memory, ends)
    assert killer.killed


def injected(count: int, hostile: int, seed: int) -> list[str]:
    """`count` faults in random order, `hostile` of them not "good" and of every kind if they are enough."""
    draw = np.random.default_rng(seed)
    bad = [HOSTILE[number % len(HOSTILE)] for number in range(hostile)]
    faults = bad + ["good"] * (count - hostile)
    return [faults[place] for place in draw.permutation(count)]


def test_a_lost_device_worker_is_back_within_three_seconds(device: DeviceInfo, tmp_path: Path) -> None:
    assert restart_s(scale_problem(), device, tmp_path) < 3.0


@pytest.mark.slow
def test_a_run_survives_every_kind_of_fault(device: DeviceInfo, traces: Path) -> None:
    check(device, traces, injected(40, len(HOSTILE), 1), 1, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_a_run_survives_300_evaluations(device: DeviceInfo, traces: Path, seed: int) -> None:
    check(device, traces, injected(300, 120, seed), seed, 8.0)
