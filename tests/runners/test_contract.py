"""One contract for all runners."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from metrics.outcome import Timed, cost_ms
from runners.base import Job, Runner
from runners.deterministic import DeterministicRunner
from runners.devices import find_device
from runners.pool_runner import DeviceRunner
from tests.support.cuda_double import UNUSABLE, hostile_for_host, pretended
from tests.support.runners import (
    ALSO_GOOD,
    GOOD,
    ILLEGAL,
    LOOP,
    NO_COMPILE,
    QUICK,
    SAME_CODE,
    WRONG,
    lower_by_hand,
    needed_device,
    plan,
    scale_problem,
    worker_pids,
)
from tests.support.slow import few

pytestmark = pytest.mark.usefixtures("optimized")

KINDS = (GOOD, ALSO_GOOD, SAME_CODE, ILLEGAL, NO_COMPILE, WRONG, LOOP)
OVERLAPPING = "PoCL as a discrete device"  # compiles while it times
LIKE_OTHERS = (OVERLAPPING, "a double of HIP")  # by default tests/runners/test_overlap.py and hip/ try them
DOUBLES = {"a double of CUDA": ("cuda", "libcuda.so.1"), "a double of HIP": ("hip", "libamdhip64.so")}
RUNNERS = (
    "deterministic",
    "PoCL",
    OVERLAPPING,
    "Intel OpenCL",
    pytest.param("CUDA", marks=pytest.mark.gpu),
    *DOUBLES,
)
SAMPLE = few(RUNNERS, [name for name in RUNNERS if name not in LIKE_OTHERS])


def make_runner(name: str, workdir: Path) -> Runner:
    if name == "deterministic":
        return DeterministicRunner(scale_problem(), QUICK)
    device = needed_device("PoCL" if name == OVERLAPPING else name)
    if name == OVERLAPPING:
        device = replace(device, target=replace(device.target, shares_host_cores=False))
    return DeviceRunner(scale_problem(), device, QUICK, workdir, lower=lower_by_hand)


@contextmanager
def opened_runner(name: str, workdir: Path, drivers: Path) -> Iterator[Runner]:
    """The runner called `name`; doubles of drivers are made in `drivers`."""
    dialect, library = DOUBLES.get(name, ("", ""))
    if dialect and UNUSABLE is not None:
        pytest.skip(UNUSABLE)
    with pretended(drivers, library) if dialect else nullcontext():
        made = (DeviceRunner(scale_problem(), find_device(dialect), QUICK, workdir, 1, hostile_for_host) if dialect
                else make_runner(name, workdir))
        yield made
        made.close()


@pytest.fixture(params=SAMPLE, scope="module")
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with opened_runner(request.param, tmp_path_factory.mktemp("runner"), tmp_path_factory.mktemp("driver")) as made:
        yield made


def test_every_job_gets_exactly_one_outcome(runner: Runner) -> None:
    jobs = [Job(100 + number, plan(kind)) for number, kind in enumerate(KINDS)]
    outcomes = list(runner.evaluate(jobs))
    assert sorted(number for number, _ in outcomes) == [job.number for job in jobs]


def test_a_timed_outcome_is_consistent(runner: Runner) -> None:
    (outcome,) = [outcome for _, outcome in runner.evaluate([Job(0, plan(GOOD))])]
    assert isinstance(outcome, Timed), outcome
    assert 0 < min(outcome.samples_ms) <= outcome.low_ms <= outcome.median_ms <= outcome.high_ms
    assert outcome.high_ms <= max(outcome.samples_ms)
    assert [kernel.statements for kernel in outcome.kernels] == [("S0",)]
    assert cost_ms(outcome) == outcome.median_ms
    assert outcome.host_ms > 0


def test_the_same_plan_has_the_same_outcome(runner: Runner) -> None:
    first, second = (dict(runner.evaluate([Job(0, plan(ALSO_GOOD))]))[0] for _ in range(2))
    assert isinstance(first, Timed) and isinstance(second, Timed)
    assert first.samples_ms == second.samples_ms
    assert first.code_hash == second.code_hash


def test_no_jobs_no_outcomes(runner: Runner) -> None:
    assert list(runner.evaluate([])) == []


def test_stopping_early_leaves_the_runner_usable(runner: Runner) -> None:
    results = runner.evaluate([Job(number, plan(kind)) for number, kind in enumerate(KINDS)])
    next(results)
    results.close()  # type: ignore[attr-defined]  # every runner's iterator is a generator
    assert len(list(runner.evaluate([Job(1, plan(GOOD)), Job(2, plan(LOOP))]))) == 2


def test_the_device_is_described(runner: Runner) -> None:
    target = runner.device.target
    assert runner.device.key and runner.device.name
    assert target.max_threads >= 1 and target.local_bytes > 0 and target.compute_units >= 1


@pytest.mark.parametrize("name", SAMPLE)
def test_close_leaves_nothing(name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = worker_pids(os.getpid())
    with opened_runner(name, tmp_path / "work", tmp_path_factory.mktemp("driver")) as made:
        assert list(made.evaluate([Job(0, plan(GOOD))]))
        made.close()
    assert worker_pids(os.getpid()) == before
    assert list((tmp_path / "work").glob("*")) == []
