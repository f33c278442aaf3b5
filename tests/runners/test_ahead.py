"""Idle compilers begin with the jobs of the next call, which are measured only when it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from generator.variant import Variant
from metrics.outcome import CompileFailed, Durations, Illegal, Outcome, Timed
from runners.base import NOTHING_KNOWN, Bounds, Job, Sitting
from runners.batch import Batch
from runners.limits import COMPILE_FLOOR_S, ENOUGH
from runners.pool_runner import DeviceRunner
from runners.processes import Event, Finished, Task
from runners.tasks import Compile, Compiled, Generate, Generated, Measure, Warm, Warmed
from tests.support.batches import FAILED, TIMED, FakePool, lowered, other
from tests.support.bench import LIMITS
from tests.support.hostile import hostile_plan, lower_hostile
from tests.support.runners import needed_device, scale_problem


class Ahead:
    """A batch that is told upcoming jobs. `answers`: a code per key, or how generating it fails.

    Measurements wait while `busy`, and compilations of keys in `slow` for one poll, of those in `held` until they are
    taken out.
    """

    def __init__(self, answers: Sequence[Variant | Outcome]) -> None:
        self.answers, self.busy, self.slow, self.faults = answers, False, set[int](), list[str]()
        self.held = set[int]()
        self.compilers, self.devices = FakePool(self._compile), FakePool(self._measure)
        self.batch = Batch(self.compilers, self.devices, LIMITS, True, {}, self.faults.append, share=2)

    def _compile(self, task: Task) -> Event | None:
        match task.payload:
            case Generate():
                answer = self.answers[task.key]
                return Finished(task.key, Generated(answer, 0.0) if isinstance(answer, Variant) else answer)
            case Compile() if task.key in self.held:
                return None
            case Compile(variant):
                if task.key in self.slow:
                    self.slow.clear()
                    assert self.keys(Generate) == [0, 1]  # no upcoming job begins before this one is compiled
                    return None
                return Finished(task.key, FAILED if variant == lowered()[1] else Compiled(variant, 0.5, ()))
            case Warm():
                return Finished(task.key, Warmed(1.0))
        raise TypeError(task)

    def _measure(self, task: Task) -> Event | None:
        self.busy = not self.busy  # each takes two polls
        return None if self.busy else Finished(task.key, TIMED)

    def keys(self, kind: type[object]) -> list[int]:
        pool = self.devices if kind is Measure else self.compilers
        return [task.key for task in pool.asked if isinstance(task.payload, kind)]

    def run(self, numbers: Sequence[int], upcoming: Sequence[int] = (),
            bounds: Bounds = NOTHING_KNOWN) -> dict[int, type[Outcome]]:
        found = self.batch.run(jobs(numbers), bounds, jobs(upcoming))
        return {number: type(outcome) for number, outcome in found}


def jobs(numbers: Sequence[int]) -> list[Job]:
    return [Job(number, lowered()[0]) for number in numbers]


def test_upcoming_jobs_are_compiled_after_the_current_ones_and_measured_in_their_call() -> None:
    ahead = Ahead([other(key) for key in range(4)])
    ahead.slow = {1}
    assert ahead.run([10, 11], [12, 13]) == {10: Timed, 11: Timed}
    assert ahead.keys(Compile) == [0, 1, 2, 3] and ahead.keys(Measure) == [0, 1] and ahead.compilers.cancelled < 1
    assert ahead.run([12, 13]) == {12: Timed, 13: Timed}
    assert ahead.keys(Generate) == ahead.keys(Compile) == ahead.keys(Measure) == [0, 1, 2, 3]
    assert ahead.compilers.cancelled == 1


def test_early_failures_are_yielded_in_their_own_call() -> None:
    ahead = Ahead([other(0), Illegal("no", Durations()), lowered()[1], other(1)])
    assert ahead.run([1], [2, 3]) == {1: Timed}
    assert ahead.run([2, 3, 4]) == {2: Illegal, 3: CompileFailed, 4: Timed}


def test_an_upcoming_job_with_the_code_of_a_current_one_gets_its_outcome() -> None:
    ahead = Ahead([other(0), other(0)])
    assert ahead.run([1], [2]) == {1: Timed}
    assert ahead.run([2]) == {2: Timed}
    assert ahead.keys(Generate) == [0, 1] and ahead.keys(Compile) == ahead.keys(Measure) == [0]


def test_the_limits_of_upcoming_jobs_are_lowered_to_those_of_their_call() -> None:
    ahead = Ahead([other(0), other(1), other(2)])
    ahead.held = {1}
    assert ahead.run([1], [2]) == {1: Timed}
    assert ahead.keys(Compile) == [0, 1] and ahead.compilers.limits == []
    ahead.held.clear()
    assert ahead.run([2], bounds=Bounds(compiled_s=(0.1,) * ENOUGH)) == {2: Timed}
    assert ahead.compilers.limits == [(1, COMPILE_FLOOR_S)]
    assert ahead.run([3], bounds=Bounds(compiled_s=(0.1,) * ENOUGH)) == {3: Timed}
    assert len(ahead.compilers.limits) == 1


def test_an_announced_job_that_is_not_asked_is_given_up() -> None:
    ahead = Ahead([other(key) for key in range(3)])
    assert ahead.run([1], [2]) == {1: Timed}
    assert ahead.run([3]) == {3: Timed}
    assert ahead.keys(Measure) == [0, 2] and ahead.compilers.cancelled == 1


def test_jobs_of_this_call_are_not_begun_again_as_upcoming_ones() -> None:
    ahead = Ahead([other(key) for key in range(2)])
    assert ahead.run([1, 2], [1, 2]) == {1: Timed, 2: Timed}
    assert ahead.keys(Generate) == [0, 1] and ahead.compilers.cancelled == 1


def test_only_a_code_that_its_own_call_waits_for_is_shared_out() -> None:
    ahead = Ahead([other(0), other(1)])
    assert ahead.run([1], [2]) == {1: Timed} and ahead.run([2]) == {2: Timed}
    assert [task.key for task in ahead.compilers.asked] == [0, -1, -2, 0, 1, 1]


def test_finals_can_follow_an_announced_call_that_does_not_come(tmp_path: Path) -> None:
    """PoCL stands for a device with cores of its own."""
    device = needed_device("PoCL")
    device = replace(device, target=replace(device.target, shares_host_cores=False))
    one, two, three = [Job(number, hostile_plan("good", number)) for number in range(3)]
    runner = DeviceRunner(scale_problem(), device, LIMITS, tmp_path, workers=2, lower=lower_hostile)
    try:
        runner.announce([two, three])
        assert [type(outcome) for _, outcome in runner.evaluate([one])] == [Timed]
        assert [type(outcome) for _, outcome in runner.remeasure([one], Sitting(1, 0, 0.1))] == [Timed]
        assert {number: type(outcome) for number, outcome in runner.evaluate([two, three])} == {1: Timed, 2: Timed}
    finally:
        runner.close()
