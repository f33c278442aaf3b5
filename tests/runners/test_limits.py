"""Limits follow from what succeeded, start when the work starts, and let a resumed run learn the same."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.search.places import limits_of
from experiments.values.options import RunOptions
from generator.errors import InputError
from metrics.outcome import Crashed, Durations, Illegal, Outcome, Timed, TimedOut
from runners import pool_runner
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits
from runners.limits import COMPILE_FLOOR_S, ENOUGH, RECENT, RUN_FLOOR_S, adapted, learned
from runners.locks import exclusive, shared
from runners.pool_runner import DeviceRunner
from tests.support.hostile import hostile_plan, lower_hostile
from tests.support.runners import needed_device, scale_problem
from tests.support.runs import toy_options
from tests.support.slow import few, in_turn

MOST = Limits()
SECONDS = st.floats(0.001, 1000)


def timed(ms: float, compile_s: float, check_s: float = 0.1, time_s: float = 0.3, samples: int = 6) -> Timed:
    return Timed(ms, ms, ms, (ms,) * samples, ms, (), "code", False, Durations(0.5, compile_s, check_s, time_s))


def test_nothing_known_is_the_most_that_is_allowed() -> None:
    assert adapted(MOST, NOTHING_KNOWN) == MOST
    few = learned(NOTHING_KNOWN, [timed(1.0, 0.1)] * (ENOUGH - 1))
    assert adapted(MOST, few).compile_s == MOST.compile_s


def test_compiling_may_take_a_multiple_of_the_upper_quartile() -> None:
    outcomes = [timed(1.0, seconds - 0.5) for seconds in (1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 50.0)]
    assert adapted(MOST, learned(NOTHING_KNOWN, outcomes)).compile_s == 4 * 3.0
    assert adapted(MOST, learned(NOTHING_KNOWN, outcomes), 4).compile_s == 6 * 3.0  # a third is not through yet


def test_running_may_take_a_multiple_of_what_the_best_took() -> None:
    bounds = learned(NOTHING_KNOWN, [timed(9.0, 1.0), timed(2.0, 1.0, check_s=0.5, time_s=3.0), timed(5.0, 1.0)])
    assert bounds.best_ms == 2.0 and bounds.run_s == 0.5 + 3 * 3.0 / 6
    assert adapted(MOST, bounds).run_s == 20.0
    reused = replace(timed(1.0, 0.0), durations=Durations(generate_s=0.1))
    assert learned(bounds, [reused]) == replace(bounds, best_ms=1.0)


def test_what_was_not_compiled_now_says_nothing() -> None:
    silent: list[Outcome] = [Illegal("no", Durations(0.1)), Crashed("compile", "SIGSEGV", Durations(0.1, 2.0)),
                             replace(timed(1.0, 0.0), durations=Durations(0.3))]
    assert learned(NOTHING_KNOWN, silent).compiled_s == ()
    assert learned(NOTHING_KNOWN, [Crashed("check", "SIGSEGV", Durations(0.5, 2.0, 0.1))]).compiled_s == (2.5,)


def test_limits_that_are_too_tight_rise_again() -> None:
    """Quick plans first, then plans of another kind that all need 15 s: they must not be shut out for good."""
    bounds, limits = learned(NOTHING_KNOWN, [timed(1.0, 0.2)] * 12), []
    for _ in range(4):
        limits.append(adapted(MOST, bounds).compile_s)
        outcome: Outcome = timed(1.0, 14.5)
        if limits[-1] < 15.0:
            outcome = TimedOut("compile", limits[-1], Durations(0.5, limits[-1] - 0.5))
        bounds = learned(bounds, [outcome] * 6)
    assert limits[0] == COMPILE_FLOOR_S and limits[-1] > 15.0


@given(st.lists(SECONDS, max_size=30), st.none() | SECONDS, st.floats(0.1, 100), st.floats(0.1, 100), st.integers(0, 9))
def test_limits_stay_between_floor_and_most(compiled: list[float], run_s: float | None, most_compile: float,
                                            most_run: float, compiling: int) -> None:
    most, bounds = Limits(most_compile, most_run), Bounds(1.0, run_s, tuple(compiled))
    limits = adapted(most, bounds, compiling)
    assert min(most_compile, COMPILE_FLOOR_S) <= limits.compile_s <= most_compile
    assert min(most_run, RUN_FLOOR_S) <= limits.run_s <= most_run
    assert replace(limits, compile_s=most_compile, run_s=most_run) == most
    assert adapted(most, bounds, compiling + 1).compile_s >= limits.compile_s


@given(st.lists(SECONDS, max_size=2 * RECENT), st.integers(0, 2 * RECENT))
def test_learning_in_parts_is_learning_at_once(seconds: list[float], cut: int) -> None:
    """What a resumed run goes through."""
    outcomes = [timed(1 / one, one) for one in seconds]
    bounds = learned(learned(NOTHING_KNOWN, outcomes[:cut]), outcomes[cut:])
    assert bounds == learned(NOTHING_KNOWN, outcomes) and len(bounds.compiled_s) <= RECENT


def test_the_defaults_of_a_run_are_those_of_the_runners(tmp_path: Path) -> None:
    options = toy_options(tmp_path / "toy.c")
    assert (options.compile_limit_s, options.run_limit_s) == (MOST.compile_s, MOST.run_s)
    assert limits_of(replace(options, memory_limit_gb=1.5)).memory_bytes == 1_500_000_000


@pytest.mark.parametrize("change", [{"compile_limit_s": 0.0}, {"run_limit_s": -1.0}, {"memory_limit_gb": float("nan")}])
def test_a_limit_without_sense_is_refused(tmp_path: Path, change: dict[str, float]) -> None:
    options: RunOptions = toy_options(tmp_path / "toy.c")
    with pytest.raises(InputError, match=f"--{next(iter(change)).split('_')[0]}-limit is"):
        replace(options, **change)  # type: ignore[arg-type]  # real fields


@pytest.fixture(scope="module")
def pocl() -> DeviceInfo:
    return needed_device("PoCL")


def runner_of(device: DeviceInfo, workdir: Path, limits: Limits) -> DeviceRunner:
    return DeviceRunner(scale_problem(), device, limits, workdir, workers=2, lower=lower_hostile)


@in_turn
def test_the_first_batch_does_not_wait_for_a_compiler_that_never_returns(
        pocl: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_runner, "timing_lock", lambda *_: tmp_path / "lock")
    os.mkfifo(tmp_path / "fifo")
    plans = [hostile_plan("endless compile", 1, str(tmp_path)), *(hostile_plan("good", n) for n in range(2, 8))]
    runner = runner_of(pocl, tmp_path / "work", Limits(min_repeats=3, max_repeats=3))
    try:
        outcomes = dict(runner.evaluate([Job(number, plan) for number, plan in enumerate(plans)]))
    finally:
        runner.close()
    endless, *good = (outcomes[number] for number in range(len(plans)))
    assert isinstance(endless, TimedOut) and endless.phase == "compile"
    assert endless.limit_s < MOST.compile_s / 2 and endless.durations.compile_s < MOST.compile_s * 2 / 3
    assert all(isinstance(outcome, Timed) for outcome in good)


@in_turn
@pytest.mark.parametrize("hold", few([shared, exclusive], 1))
def test_limits_begin_when_the_lock_is_there(pocl: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             hold: Callable[[Path], AbstractContextManager[None]]) -> None:
    """Somebody else is timing: compiling has to wait. Somebody else is compiling: timing has to wait."""
    lock, done = tmp_path / "lock", threading.Event()
    monkeypatch.setattr(pool_runner, "timing_lock", lambda *_: lock)

    def occupy() -> None:
        with hold(lock):
            done.wait(9.0)

    thread = threading.Thread(target=occupy)
    thread.start()
    runner = runner_of(pocl, tmp_path / "work", Limits(6.0, 4.0, min_repeats=3, max_repeats=3))
    start = time.monotonic()
    try:
        ((_, outcome),) = runner.evaluate([Job(1, hostile_plan("good", 1))])
    finally:
        done.set()
        thread.join()
        runner.close()
    assert isinstance(outcome, Timed) and time.monotonic() - start > 8.9
