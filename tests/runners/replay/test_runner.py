"""The runner that replays recordings: the contract of all runners, as far as looking up can break it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator.plan import Plan
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import Durations, Illegal, KernelTime, Timed, WrongResult, cost_ms
from runners.base import Bounds, Job, Runner
from runners.replay.reading import read_recording
from runners.replay.recording import Recording, Row
from runners.replay.runner import ReplayRunner
from tests.support.recordings import cache, write

WALKS = Recording("walks", "a device", (
    Row((("d", (), 1),), Timed(2.0, 1.9, 2.1, (1.9, 2.1), 2.2, (KernelTime(("S0",), 1.8),), "c", False, Durations())),
    Row((("d", (), 2), ("e", ("S0",), "x")), WrongResult("no", Durations(time_s=3))),
), False)


@pytest.fixture(params=["parameters", "walks"])
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    return WALKS if request.param == "walks" else read_recording(write(tmp_path / "toy.json.gz", cache()))


def test_every_job_gets_its_outcome(recording: Recording) -> None:
    runner: Runner = ReplayRunner(recording)
    jobs = [Job(100 + number, plan) for number, plan in enumerate(recording.plans)]
    assert dict(runner.evaluate(jobs)) == {100 + n: row.outcome for n, row in enumerate(recording.rows)}
    assert dict(runner.evaluate(jobs, Bounds(0.001))) == dict(runner.evaluate(jobs))  # no early stop


def test_the_plans_of_a_recording_differ(recording: Recording) -> None:
    assert len({plan.digest for plan in recording.plans}) == len(recording.rows)


def test_an_unknown_plan_is_illegal(recording: Recording) -> None:
    stranger = replace(recording.plans[0], parameters=(*recording.plans[0].parameters, ("z", 1)))
    for plan in (stranger, Plan(ScheduleChoice(), ())):
        (outcome,) = dict(ReplayRunner(recording).evaluate([Job(0, plan)])).values()
        assert isinstance(outcome, Illegal) and "not in the recording" in outcome.message


def test_timed_outcomes_are_consistent(recording: Recording) -> None:
    timed = [row.outcome for row in recording.rows if isinstance(row.outcome, Timed)]
    assert timed
    for outcome in timed:
        assert 0 < min(outcome.samples_ms) <= outcome.low_ms <= outcome.median_ms <= outcome.high_ms
        assert outcome.high_ms <= max(outcome.samples_ms)
        assert cost_ms(outcome) == outcome.median_ms and outcome.host_ms > 0


def test_no_jobs_stopping_early_and_closing_twice(recording: Recording) -> None:
    runner = ReplayRunner(recording)
    assert list(runner.evaluate([])) == []
    results = runner.evaluate([Job(number, plan) for number, plan in enumerate(recording.plans)])
    next(results)
    results.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(list(runner.evaluate([Job(1, recording.plans[0])]))) == 1
    runner.close()
    runner.close()


def test_the_device_is_described(recording: Recording) -> None:
    device = ReplayRunner(recording).device
    assert device.key and device.name == recording.device
    assert device.target.max_threads >= 1 and device.target.local_bytes > 0 and device.target.compute_units >= 1
