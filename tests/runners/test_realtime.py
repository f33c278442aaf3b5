"""`--realtime`: who measures has real-time priority, who compiles has not, and a missing right is said at once."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.lowering.heuristics.default import default_plan
from metrics.outcome import Timed
from runners.base import Job, Limits
from runners.devices import find_device
from runners.pool_runner import DeviceRunner
from runners.realtime import begin_realtime, check_realtime
from tests.support.runners import scale_problem, worker_pids
from tests.support.targets import CPU

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_RR"), reason="there are no real-time priorities")


def policies(pid: int) -> set[int]:
    """Return the scheduling policies of a process's threads."""
    return {os.sched_getscheduler(int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()}


@pytest.fixture
def permitted() -> None:
    """Skip the test where this user has no right to real-time priorities."""
    try:
        check_realtime()
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("wanted", [True, False])
def test_all_threads_that_measure_have_it_and_no_others(wanted: bool, permitted: None, tmp_path: Path) -> None:
    del permitted
    before, problem = set(worker_pids(os.getpid())), scale_problem()
    with closing(DeviceRunner(problem, find_device("pocl"), Limits(realtime=wanted), tmp_path, workers=1)) as runner:
        outcome = dict(runner.evaluate([Job(0, default_plan(problem.program, CPU))]))[0]
        found = [policies(pid) for pid in set(worker_pids(os.getpid())) - before]
    assert isinstance(outcome, Timed)
    # a watching thread is older than the device; PoCL's threads are those that count
    assert sorted(os.SCHED_RR in some for some in found) == [False, wanted]
    assert policies(os.getpid()) == {os.SCHED_OTHER}


def test_a_missing_right_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with pytest.raises(InputError, match=r"--realtime needs the right .* run as root"):
        DeviceRunner(scale_problem(), find_device("pocl"), Limits(realtime=True), tmp_path)
    assert not list(tmp_path.iterdir()), "nothing was begun"
    with pytest.raises(InputError, match="--realtime needs the right"):  # a process of another machine of a cluster
        begin_realtime()
