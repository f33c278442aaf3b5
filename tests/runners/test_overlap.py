"""Compiling beside timing: on a device with cores of its own it saves time, on the host's cores it would spoil it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, count
from pathlib import Path
from typing import Any

import pytest

from metrics.outcome import Timed
from runners import pool_runner
from runners.base import DeviceInfo, Job, Limits
from runners.compile_worker import CompileWorker
from runners.device_worker import DeviceWorker
from runners.messages import Handler
from runners.pool_runner import DeviceRunner
from runners.tasks import WorkerSetup
from tests.support.hostile import hostile_plan, lower_hostile
from tests.support.runners import needed_device, scale_problem

SLOWLY_S = 0.15
"""Each compilation and each measurement takes at least so long, so that they meet where they may."""
LONGEST_WAIT_S = 30
MEASURED = "a measurement began"


@dataclass(frozen=True)
class Span:
    """What a worker did from `begin` to `end`, in seconds of the clock that all processes share."""

    what: str
    begin: float
    end: float

    def meets(self, other: Span) -> bool:
        """True when both were going on at some time."""
        return self.begin < other.end and other.begin < self.end


def noted(
    what: str, log: Path, work: Callable[..., Any], before_end: Callable[[], None] = lambda: None
) -> Callable[..., Any]:
    """`work`, which writes into `log` when it was done and `before_end` has returned."""

    def done(*arguments: Any) -> Any:
        begin = time.monotonic()
        if what == "measure":
            (log.parent / MEASURED).touch()
        result = work(*arguments)
        time.sleep(SLOWLY_S)
        before_end()
        with log.open("a") as file:
            file.write(f"{what} {begin} {time.monotonic()}\n")
        return result

    return done


def make_noted_compile_worker(log: Path, waits: bool, setup: WorkerSetup) -> Handler:
    """A compile worker whose work, without waiting, goes into `log`. If it `waits`, its second compilation ends when a
    measurement has begun: the device's worker may start as slowly as it likes."""
    worker, number = CompileWorker(setup), count(1)

    def wait() -> None:
        until = time.monotonic() + LONGEST_WAIT_S
        if waits and next(number) == 2:
            while not (log.parent / MEASURED).exists() and time.monotonic() < until:
                time.sleep(0.01)

    worker._generate = noted("compile", log, worker._generate)  # type: ignore[method-assign]  # observed
    worker._built = noted("compile", log, worker._built, wait)  # type: ignore[method-assign]  # observed
    return worker


def make_noted_device_worker(log: Path, setup: WorkerSetup) -> Handler:
    """A device worker whose work, without waiting, goes into `log`."""
    worker = DeviceWorker(setup)
    worker._measure = noted("measure", log, worker._measure)  # type: ignore[method-assign]  # observed
    return worker


@pytest.fixture(scope="module")
def pocl() -> DeviceInfo:
    return needed_device("PoCL")


def spans_of(device: DeviceInfo, folder: Path, runners: int, monkeypatch: pytest.MonkeyPatch,
             waits: bool = False) -> list[Span]:
    """What was going on while `runners` runners worked side by side, each on six plans of its own."""
    log = folder / "log"
    monkeypatch.setattr(pool_runner, "make_compile_worker", partial(make_noted_compile_worker, log, waits))
    monkeypatch.setattr(pool_runner, "make_device_worker", partial(make_noted_device_worker, log))
    monkeypatch.setattr(pool_runner, "timing_lock", lambda *_: folder / "lock")
    threads = [threading.Thread(target=evaluate, args=(device, folder / f"work{n}")) for n in range(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans = [Span(what, float(begin), float(end)) for what, begin, end in map(str.split, log.read_text().splitlines())]
    assert sum(span.what == "measure" for span in spans) == 6 * runners
    return spans


def evaluate(device: DeviceInfo, workdir: Path) -> None:
    limits = Limits(min_repeats=3, max_repeats=3)
    runner = DeviceRunner(scale_problem(), device, limits, workdir, workers=2, lower=lower_hostile)
    try:
        outcomes = dict(runner.evaluate([Job(number, hostile_plan("good", number)) for number in range(6)]))
    finally:
        runner.close()
    assert all(isinstance(outcome, Timed) for outcome in outcomes.values())


def test_on_the_hosts_cores_nothing_is_timed_beside_anything(pocl: DeviceInfo, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even beside the work of another run."""
    spans = spans_of(pocl, tmp_path, 2, monkeypatch)
    assert not [pair for pair in combinations(spans, 2) if pair[0].meets(pair[1])
                and "measure" in (pair[0].what, pair[1].what)]
    assert any(one.meets(other) for one, other in combinations(spans, 2))  # compilers do work side by side


def test_a_discrete_device_is_timed_while_others_compile(pocl: DeviceInfo, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL stands for a device with cores of its own."""
    discrete = replace(pocl, target=replace(pocl.target, shares_host_cores=False))
    spans = spans_of(discrete, tmp_path, 1, monkeypatch, waits=True)
    meetings = [(one.what, other.what) for one, other in combinations(spans, 2) if one.meets(other)]
    assert {"compile", "measure"} in [set(pair) for pair in meetings]
    assert ("measure", "measure") not in meetings
