"""Timing several variants in turns on real devices: times that belong together, faults that stay with their owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from generator.problem import program_of
from metrics.outcome import Compilation, Crashed, Illegal, NoProfile, Outcome, Timed, TimedOut, WrongResult
from runners.base import CompilingRunner, DeviceInfo, Job, Runner, Sitting
from runners.caches import MOST_BYTES, UNKNOWN_BYTES, flush_bytes, host_cache_bytes
from runners.deterministic import DeterministicRunner
from runners.pool_runner import DeviceRunner
from tests.support.runners import (
    ALSO_GOOD,
    CRASH_CHECK,
    GOOD,
    HANG_TIME,
    ILLEGAL,
    LOOP,
    ONCE,
    QUICK,
    WRONG,
    device_of,
    lower_by_hand,
    needed_device,
    opened,
    plan,
    scale_problem,
    worker_pids,
)
from tests.support.slow import in_turn

SHORT = Sitting(1, 0, 0.1)


@pytest.fixture(params=["PoCL", "Intel OpenCL"])
def device(request: pytest.FixtureRequest) -> DeviceInfo:
    return needed_device(request.param)


@pytest.fixture
def pocl() -> DeviceInfo:
    found = device_of("PoCL")
    assert found is not None
    return found


@pytest.fixture(params=["deterministic", "PoCL", "Intel OpenCL"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runner]:
    if request.param == "deterministic":
        yield DeterministicRunner(scale_problem(), QUICK)
        return
    found = needed_device(request.param)
    with opened(found, tmp_path, workers=1) as made:
        yield made


def sat(runner: Runner, *kinds: int, sitting: Sitting = SHORT) -> list[Outcome]:
    """The outcomes of one sitting, in the order of `kinds`."""
    outcomes = dict(runner.remeasure([Job(100 + n, plan(kind)) for n, kind in enumerate(kinds)], sitting))
    assert sorted(outcomes) == [100 + n for n in range(len(kinds))]
    return [outcome for _, outcome in sorted(outcomes.items())]


def samples(outcomes: list[Outcome]) -> list[tuple[float, ...]]:
    found = [outcome.samples_ms for outcome in outcomes if isinstance(outcome, Timed)]
    assert len(found) == len(outcomes), outcomes
    return found


@in_turn
def test_all_have_a_sample_of_every_round(runner: Runner) -> None:
    times = samples(sat(runner, GOOD, ALSO_GOOD, LOOP))
    assert len({len(row) for row in times}) == 1
    assert all(ms > 0 for row in times for ms in row)
    assert list(runner.remeasure([], SHORT)) == []


def test_evaluating_and_sitting_take_turns(runner: Runner) -> None:
    assert isinstance(next(iter(runner.evaluate([Job(0, plan(GOOD))])))[1], Timed)
    samples(sat(runner, GOOD, ALSO_GOOD))
    assert isinstance(dict(runner.evaluate([Job(7, plan(LOOP))]))[7], Timed)


def test_a_sitting_measures_anew_in_a_fresh_process(pocl: DeviceInfo, tmp_path: Path) -> None:
    with opened(pocl, tmp_path, workers=1) as runner:
        first, processes = samples(sat(runner, GOOD)), set(worker_pids(os.getpid()))
        second = samples(sat(runner, GOOD, sitting=replace(SHORT, number=1)))
        assert first != second
        assert len(processes - set(worker_pids(os.getpid()))) == 1


@in_turn
def test_faults_stay_with_their_owner(device: DeviceInfo, tmp_path: Path) -> None:
    with opened(device, tmp_path, workers=1) as runner:
        good, crashed, other, illegal, wrong, later = sat(runner, GOOD, CRASH_CHECK, ALSO_GOOD, ILLEGAL, WRONG, ONCE)
    samples([good, other])
    assert isinstance(crashed, Crashed) and crashed.phase == "check"
    assert isinstance(illegal, Illegal)
    assert isinstance(wrong, WrongResult) and "after the first run" in wrong.message
    assert isinstance(later, WrongResult) and "after the last run" in later.message


def test_a_plan_that_a_maker_refuses_is_an_outcome(pocl: DeviceInfo, tmp_path: Path) -> None:
    problem = scale_problem()
    with closing(DeviceRunner(problem, pocl, QUICK, tmp_path, 1,
                              make=lambda one: lower_by_hand(program_of(problem.subject), one, pocl.target))) as runner:
        jobs = [Job(n, plan(kind)) for n, kind in enumerate((GOOD, ILLEGAL, ALSO_GOOD))]
        answers = list(runner.compiled(jobs))
        good, illegal, other = sat(runner, GOOD, ILLEGAL, ALSO_GOOD)
        [(number, profile)] = runner.profile([jobs[1]])
    assert [(n, type(answer)) for n, answer in answers] == [(0, Compilation), (1, Illegal), (2, Compilation)]
    assert answers[1][1] == illegal and isinstance(illegal, Illegal) and illegal.message == "S0 depends on S0"
    samples([good, other])
    assert (number, profile) == (1, NoProfile("S0 depends on S0"))


def test_what_a_runner_has_compiled_it_runs_without_compiling_again(pocl: DeviceInfo, tmp_path: Path) -> None:
    job, seconds = Job(0, plan(GOOD)), list[float]()
    for compiles in (True, False):
        with opened(pocl, tmp_path, QUICK, 1) as runner:
            assert isinstance(runner, CompilingRunner)
            answers = list(runner.compiled([job])) if compiles else []
            [(_, outcome)] = runner.evaluate([job])
        assert all(isinstance(answer, Compilation) for _, answer in answers) and isinstance(outcome, Timed)
        seconds.append(outcome.durations.compile_s)
    assert seconds[0] == 0 < seconds[1]


@in_turn
def test_who_hangs_ends_alone(pocl: DeviceInfo, tmp_path: Path) -> None:
    with opened(pocl, tmp_path, replace(QUICK, run_s=2.0), 1) as runner:
        good, hung = sat(runner, GOOD, HANG_TIME)
    samples([good])
    assert isinstance(hung, TimedOut) and hung.phase == "time"


@in_turn
@pytest.mark.usefixtures("optimized")  # other code of PoCL's waits for arithmetic, not for data
def test_with_flushed_caches_results_are_as_right_and_no_run_finds_its_data(device: DeviceInfo, tmp_path: Path) -> None:
    def is_slower() -> bool:
        with opened(
            device, tmp_path, replace(QUICK, cache="cold"), 1, size=2**18
        ) as runner:  # 2 MiB: fits every last cache
            (outcome,) = [outcome for _, outcome in runner.evaluate([Job(0, plan(GOOD))])]
            cold = min(samples([outcome, *sat(runner, GOOD)])[1])
        with opened(device, tmp_path, QUICK, 1, size=2**18) as runner:
            warm = min(samples(sat(runner, GOOD))[0])
        return cold > 1.1 * warm

    assert any(is_slower() for _ in range(4))  # another process may have had the cache


def test_the_buffer_is_twice_the_last_cache(tmp_path: Path) -> None:
    for index, text in enumerate(("32K", "1024K", "32768K", "garbage", "")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{text}\n")
    assert host_cache_bytes(tmp_path) == 32 * 2**20
    assert flush_bytes(2**20, True, tmp_path) == 64 * 2**20  # a CPU runtime that names its second level only
    assert flush_bytes(50 * 2**20, False, tmp_path) == 100 * 2**20
    assert flush_bytes(0, False, tmp_path) == flush_bytes(0, True, tmp_path / "none") == UNKNOWN_BYTES
    assert flush_bytes(2**31, False, tmp_path) == MOST_BYTES
