"""A bad variant costs itself only: hostile kernels on real drivers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from metrics.outcome import CompileFailed, Crashed, Illegal, LaunchFailed, Outcome, Timed, TimedOut, WrongResult
from runners.base import Bounds, DeviceInfo, Job, Limits
from runners.limits import COMPILE_FLOOR_S
from tests.support import runners as support
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("optimized")

LIMITS = Limits(compile_s=8.0, run_s=4.0, half_width=0.0, min_repeats=5, max_repeats=8, time_s=0.5)


@pytest.fixture(scope="module", params=["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.slow)])
def device(request: pytest.FixtureRequest) -> DeviceInfo:
    found = support.device_of(request.param)
    if found is None:
        pytest.skip(f"{request.param} is not installed")
    return found


@pytest.fixture(scope="module")
def outcomes(device: DeviceInfo, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcome]:
    """All kinds of kernels in one batch; the good ones are spread among the bad."""
    kinds = range(support.GOOD, support.STALE + 1)
    with support.opened(device, tmp_path_factory.mktemp("faults"), LIMITS) as runner:
        return dict(runner.evaluate([Job(kind, support.plan(kind)) for kind in kinds]))


@pytest.mark.parametrize("kind", [support.GOOD, support.ALSO_GOOD, support.LOOP, support.SLEEPY])
def test_good_variants_are_timed_among_bad_ones(outcomes: dict[int, Outcome], kind: int) -> None:
    assert isinstance(outcomes[kind], Timed), outcomes[kind]


def test_equal_code_is_measured_once(outcomes: dict[int, Outcome]) -> None:
    first, second = outcomes[support.GOOD], outcomes[support.SAME_CODE]
    assert isinstance(first, Timed) and isinstance(second, Timed)
    assert first.samples_ms == second.samples_ms
    assert min(first.durations.compile_s, second.durations.compile_s) == 0


def test_an_illegal_plan_says_why(outcomes: dict[int, Outcome]) -> None:
    outcome = outcomes[support.ILLEGAL]
    assert isinstance(outcome, Illegal) and outcome.message == "S0 depends on S0"


def test_a_bug_in_the_lowering_costs_one_plan(outcomes: dict[int, Outcome]) -> None:
    outcome = outcomes[support.BUG]
    assert isinstance(outcome, Crashed) and outcome.phase == "generate"
    assert "a bug in the lowering" in outcome.message


def test_a_compile_error_shows_the_log(outcomes: dict[int, Outcome]) -> None:
    outcome = outcomes[support.NO_COMPILE]
    assert isinstance(outcome, CompileFailed) and "undeclared identifier 'this'" in outcome.message
    assert "Build on <" not in outcome.message


def test_too_much_local_memory_is_a_launch_failure(outcomes: dict[int, Outcome]) -> None:
    outcome = outcomes[support.LOCAL]
    assert isinstance(outcome, LaunchFailed) and "local memory" in outcome.message


@pytest.mark.parametrize(("kind", "phase"), [(support.CRASH, "compile"), (support.CRASH_CHECK, "check")])
def test_a_crash_names_its_phase(outcomes: dict[int, Outcome], kind: int, phase: str) -> None:
    outcome = outcomes[kind]
    assert isinstance(outcome, Crashed) and outcome.phase == phase, outcome
    assert "SIG" in outcome.message


@pytest.mark.parametrize(("kind", "phase"), [(support.HANG_LOWER, "generate"), (support.HANG, "compile"),
                                             (support.HANG_CHECK, "check"), (support.HANG_TIME, "time")])
def test_a_hang_ends_at_its_limit(outcomes: dict[int, Outcome], kind: int, phase: str) -> None:
    outcome = outcomes[kind]
    assert isinstance(outcome, TimedOut) and outcome.phase == phase, outcome
    if phase in ("generate", "compile"):  # what the others took tightens it
        assert COMPILE_FLOOR_S <= outcome.limit_s <= LIMITS.compile_s
    else:
        assert outcome.limit_s == LIMITS.run_s
    durations = outcome.durations
    spent = durations.generate_s + durations.compile_s + durations.check_s + durations.time_s
    assert 0.9 * outcome.limit_s <= spent < 3 * outcome.limit_s


@pytest.mark.parametrize(("kind", "words"), [
    (support.WRONG, "after the first run B[77] is 0.0"), (support.NAN, "B[5] is nan"),
    (support.OVERRUN, "B was written past its end"), (support.UNDERRUN, "B was written before its start"),
    (support.SPOILS_INPUT, "after the last run H was written, which the program only reads"),
    (support.HALF, "B[0] is nan"), (support.STALE, "after the first run B[0] is 0.0"),
    (support.NO_WRITE, "B[9] is nan"), (support.ONCE, "after the last run B[0] is 0.0")])
def test_a_wrong_result_names_the_place(outcomes: dict[int, Outcome], kind: int, words: str) -> None:
    outcome = outcomes[kind]
    assert isinstance(outcome, WrongResult) and words in outcome.message, outcome


def test_slow_variants_stop_early(device: DeviceInfo, tmp_path: Path) -> None:
    with support.opened(device, tmp_path, LIMITS, workers=1) as runner:
        (_, outcome), = runner.evaluate([Job(0, support.plan(support.LOOP))], Bounds(1e-6))
        assert isinstance(outcome, Timed) and outcome.stopped_early
        assert len(outcome.samples_ms) < LIMITS.min_repeats


def test_workers_killed_from_outside_are_replaced(device: DeviceInfo, tmp_path: Path) -> None:
    before = set(support.worker_pids(os.getpid()))

    def kill_workers() -> None:
        for pid in set(support.worker_pids(os.getpid())) - before:
            os.kill(pid, signal.SIGKILL)

    with support.opened(device, tmp_path, Limits(compile_s=6.0, run_s=5.0), workers=1) as runner:
        killer = threading.Timer(1.5, kill_workers)
        killer.start()
        start = time.monotonic()
        (_, outcome), = runner.evaluate([Job(0, support.plan(support.IDLE))])
        killer.join()
        # the compile worker had lowered the Plan before, so that the kernel gets a second chance - and hangs
        assert isinstance(outcome, TimedOut | Crashed) and time.monotonic() - start < 30
        kill_workers()
        (_, outcome), = runner.evaluate([Job(1, support.plan(support.GOOD))])
        assert isinstance(outcome, Timed), outcome


PARENT = """
import os, sys, threading, time
from pathlib import Path
from runners.base import Job, Limits
from tests.support import runners as support

def tell():
    time.sleep(3)
    print(*support.worker_pids(os.getpid()), flush=True)

device = support.device_of(sys.argv[2])
threading.Thread(target=tell).start()
with support.opened(device, Path(sys.argv[1]), Limits(compile_s=60.0, run_s=60.0), workers=2) as runner:
    kinds = [support.IDLE, support.HANG_LOWER]
    list(runner.evaluate([Job(kind, support.plan(kind)) for kind in kinds]))
"""


def test_drivers_end_with_a_parent_that_is_killed(device: DeviceInfo, tmp_path: Path) -> None:
    """A kernel without end, and a lowering that holds the interpreter lock, both under a real driver."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), device.platform], text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) >= 2 and all(map(support.alive, pids))
    parent.kill()
    start = time.monotonic()
    parent.wait()
    parent.stdout.close()
    while any(map(support.alive, pids)) and time.monotonic() - start < 10:
        time.sleep(0.05)
    assert not any(map(support.alive, pids)) and time.monotonic() - start < 5
    assert list(tmp_path.iterdir())  # nobody could tidy up; the next runner does
    with support.opened(device, tmp_path):
        assert len(list(tmp_path.iterdir())) == 1
