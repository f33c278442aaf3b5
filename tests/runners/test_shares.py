"""Compiling the many kernels of one plan by all workers that have nothing else to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.variant import Variant
from metrics.outcome import CompileFailed, Crashed, Durations, Outcome, Timed, TimedOut
from runners import compile_worker
from runners.base import NOTHING_KNOWN, Bounds, Job, Limits
from runners.batch import Batch
from runners.driver import BuildError, Built
from runners.host_program import first_launches
from runners.limits import COMPILE_FLOOR_S, ENOUGH, adapted
from runners.messages import Answer
from runners.pool_runner import DeviceRunner, default_lower
from runners.processes import Died, Event, Expired, Finished, Task
from runners.shares import LEAST, data_lead, shares
from runners.tasks import Compile, Compiled, Generate, Generated, Lower, Warm, Warmed, WorkerSetup
from tests.support.batches import FAILED, GENERATE_S, TIME_S, TIMED, WHOLE_S, FakePool, lowered, many, other
from tests.support.bench import LIMITS
from tests.support.programs import program_of, scop
from tests.support.runners import needed_device
from tests.support.spoiled import broken
from tests.support.suite import TARGET


@given(st.integers(0, 40))
@settings(max_examples=20, deadline=None)
def test_each_kernel_is_in_one_share_with_its_own_launch(workers: int) -> None:
    program = many().program
    variant = lower(program, default_plan(program, TARGET), TARGET)
    found = shares(variant, workers)
    assert len(found) == (min(workers, len(variant.kernels) // LEAST) if workers > 1 else 0)
    if found:
        assert sum((share.kernels for share in found), ()) == variant.kernels
        assert min(len(share.kernels) for share in found) >= LEAST
        launched = [(share.kernels[one.kernel].name, replace(one, kernel=0)) for share in found
                    for one in first_launches(share)]
        assert sorted(launched, key=str) == sorted(
            ((variant.kernels[one.kernel].name, replace(one, kernel=0)) for one in first_launches(variant)), key=str)


@pytest.mark.parametrize("leads, text", [
    (False, "for (i = 0; i < 64; i++) y[i] = x[63 - i] * idx[i];"),
    (True, "for (i = 0; i < 64; i++) y[i] = x[idx[i] % 64];"),
    (True, "for (i = 0; i < 64; i++) y[idx[i] % 64] = x[i];"),
    (True, "for (i = 0; i < 64; i++) { int m = idx[i] % 64; y[i] = x[m] + m; }"),
    (True, "for (i = 0; i < 64; i++) { double t = 0; for (k = 0; k < idx[i]; k++) t += x[i] * t; y[i] = t; }"),
])
def test_whether_data_lead(leads: bool, text: str) -> None:
    assert data_lead(program_of(scop(text))) == leads


class Scene:
    """A batch of one job per variant, with two workers. `share` tells how the share of a key and number ends."""

    def __init__(self, share: Callable[[int, int], Event | None], variants: Sequence[Variant] = (),
                 whole: Outcome | Event | None = None, limits: Limits = LIMITS, bounds: Bounds = NOTHING_KNOWN) -> None:
        self.variants = variants or (lowered()[1],)
        self.share, self.whole = share, whole
        self.compilers, self.devices = FakePool(self._compile), FakePool(lambda task: Finished(task.key, TIMED))
        self.batch = Batch(self.compilers, self.devices, limits, True, {}, pytest.fail, share=2)
        self.running = self.batch.run([Job(k, lowered()[0]) for k in range(len(self.variants))], bounds)

    def _compile(self, task: Task) -> Event | None:
        match task.payload:
            case Generate():
                return Finished(task.key, Generated(self.variants[task.key], GENERATE_S))
            case Warm():
                return self.share(task.key, self.asked(Warm).index(task))
            case Compile(variant):
                if isinstance(self.whole, Finished | Expired | Died):
                    return self.whole
                return Finished(task.key, self.whole or Compiled(variant, WHOLE_S, ()))
        raise TypeError(task)

    def asked(self, kind: type[Any]) -> list[Task]:
        return [task for task in self.compilers.asked if isinstance(task.payload, kind)]

    def outcome(self) -> Outcome:
        [(_, outcome)] = self.running
        return outcome


def good(key: int, number: int) -> Event:
    return Finished(key, Warmed(3.0 + number))


def test_the_limit_of_a_kernel_is_the_same_for_shares_and_the_whole() -> None:
    """A tight limit, that the kernels of no share have exceeded, though all together have."""
    bounds = Bounds(None, None, (1.0,) * ENOUGH)
    limit_s = adapted(LIMITS, bounds).compile_s
    assert limit_s == COMPILE_FLOOR_S < 3.0 + 4.0
    scene = Scene(good, bounds=bounds)
    outcome = scene.outcome()
    assert isinstance(outcome, Timed)
    assert outcome.durations == Durations(GENERATE_S, 3.0 + 4.0 + WHOLE_S, 0.0, TIME_S)
    [whole] = scene.asked(Compile)
    assert whole.payload == Compile(lowered()[1], limit_s - GENERATE_S, 3.0 + 4.0)
    assert [task.payload.limit_s for task in scene.asked(Warm)] == [limit_s - GENERATE_S] * 2


def test_a_share_that_takes_too_long_ends_the_plan() -> None:
    def late(key: int, number: int) -> Event:  # both in one poll: the last one is no longer wanted
        return Expired(key, "compile", 9.0, 9.5) if number == 0 else good(key, number)

    scene = Scene(late)
    outcome = scene.outcome()
    assert outcome == TimedOut("compile", LIMITS.compile_s, Durations(GENERATE_S, 9.5))
    assert not scene.asked(Compile) and not scene.devices.asked

    scene = Scene(lambda key, number: Expired(key, "compile", 9.0, 9.5) if number else good(key, number))
    assert scene.outcome().durations == Durations(GENERATE_S, 3.0 + 9.5)  # the first one was done

    scene = Scene(lambda key, number: None if number else Expired(key, "compile", 9.0, 9.5))
    assert isinstance(scene.outcome(), TimedOut) and scene.compilers.cancelled == 2  # by the share, and at the end


@pytest.mark.parametrize("event", [Finished(-1, Warmed(1.5, failed=True)), Died(-1, "compile", "SIGSEGV", 1.5),
                                   Died(-1, "compile", "the process was ended by SIGKILL", 1.5)])
@pytest.mark.parametrize("whole, kind, more_s", [
    (None, Timed, WHOLE_S), (FAILED, CompileFailed, WHOLE_S), (Expired(0, "compile", 1.0, 1.25), TimedOut, 1.25),
    (Died(0, "compile", "SIGSEGV", 0.75), Crashed, 0.75)])
def test_the_whole_tells_what_is_wrong_with_a_share(event: Event, whole: Outcome | Event | None,
                                                    kind: type[Outcome], more_s: float) -> None:
    scene = Scene(lambda key, number: None if number else replace(event, key=key), whole=whole)
    outcome = scene.outcome()
    assert isinstance(outcome, kind)
    assert (outcome.durations.generate_s, outcome.durations.compile_s) == (GENERATE_S, 1.5 + more_s)
    assert len(scene.asked(Compile)) == 1 and len(scene.asked(Warm)) == 2


def test_shared_out_is_only_what_no_other_plan_waits_for() -> None:
    several = [other(k) for k in range(ENOUGH + 1)]
    scene = Scene(good, several)
    assert all(isinstance(outcome, Timed) for _, outcome in scene.running)
    assert len(scene.asked(Compile)) == len(several) and not scene.asked(Warm)

    scene = Scene(good, [other(0)] * 2)
    assert [type(outcome) for _, outcome in scene.running] == [Timed, Timed]
    assert len(scene.asked(Compile)) == 1 and not scene.asked(Warm)


def test_the_last_plan_is_shared_out_under_the_limit_that_the_others_tightened() -> None:
    several = [other(k) for k in range(ENOUGH + 1)]
    scene, script = Scene(good, several), Scene._compile

    def last_waits(task: Task) -> Event | None:
        last = isinstance(task.payload, Generate) and task.key == ENOUGH
        return None if last and len(scene.devices.asked) < ENOUGH else script(scene, task)

    scene.compilers.script = last_waits
    assert len([outcome for _, outcome in scene.running if isinstance(outcome, Timed)]) == len(several)
    tight_s = COMPILE_FLOOR_S - GENERATE_S
    assert [task.payload.limit_s for task in scene.asked(Warm)] == [tight_s] * 2
    assert scene.asked(Compile)[-1].payload == Compile(several[-1], tight_s, 3.0 + 4.0)
    assert len(scene.asked(Compile)) == len(several)


def test_a_batch_that_is_given_up_while_shares_are_compiled_leaves_nothing() -> None:
    scene = Scene(good)

    class Stop(Exception):
        pass

    def stop(task: Task) -> Event | None:
        if isinstance(task.payload, Warm):
            raise Stop
        return scene._compile(task)

    scene.compilers.script = stop
    with pytest.raises(Stop):
        list(scene.running)
    assert len(scene.asked(Warm)) == 2 and not scene.compilers.unfinished and scene.compilers.cancelled == 1


class FakeCompiler:
    """Compiles all kernels at once, or finds an error in them if `wrong`."""

    def __init__(self, wrong: bool) -> None:
        self._wrong = wrong

    def compile(self, variant: Variant, begin: Callable[[], None]) -> Built:
        begin()
        if self._wrong:
            raise BuildError("no")
        return Built((b"",) * len(variant.kernels), True)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_worker_counts_what_others_spent_for_the_limit_of_all_kernels(wrong: bool, monkeypatch: pytest.MonkeyPatch,
                                                                       tmp_path: Path) -> None:
    monkeypatch.setattr(compile_worker, "open_compiler", lambda *_: FakeCompiler(wrong))
    limits, variant = Limits(compile_s=100.0), lowered()[1]
    worker = compile_worker.CompileWorker(WorkerSetup(many().subject, tmp_path, "", TARGET, limits, tmp_path / "lock",
                                                      default_lower))
    reported = list[float | None]()

    def told(task: Compile | Warm) -> Answer:
        reported.clear()
        return worker(task, lambda phase, limit_s: reported.append(limit_s))

    answer = told(Compile(variant, 5.0, 97.0))
    assert reported[-2] == 5.0 and reported[-1] == pytest.approx(3.0, abs=0.5)
    assert answer.doubtful == wrong and isinstance(answer.value, CompileFailed if wrong else Compiled)
    answer = told(Warm(variant, 5.0))
    assert reported[-2:] == [5.0, 5.0]
    assert not answer.doubtful and answer.retire == wrong and answer.value == Warmed(answer.value.seconds, wrong)


@pytest.mark.parametrize("lowering", [default_lower, pytest.param(broken, marks=pytest.mark.slow)])
def test_two_workers_compile_the_kernels_of_one_plan(lowering: Lower, monkeypatch: pytest.MonkeyPatch,
                                                     tmp_path: Path) -> None:
    asked, answered, hear = list[Task](), list[Any](), Batch._on_event

    def heard(self: Batch, event: Any) -> None:
        answered.append(getattr(event, "value", event))
        hear(self, event)

    monkeypatch.setattr(Batch, "_on_event", heard)
    with closing(DeviceRunner(many(), needed_device("PoCL"), LIMITS, tmp_path, workers=2, lower=lowering)) as runner:
        submit = runner._compilers.submit

        def submitted(task: Task) -> None:
            asked.append(task)
            submit(task)

        monkeypatch.setattr(runner._compilers, "submit", submitted)
        outcome = dict(runner.evaluate([Job(0, default_plan(many().program, runner.device.target))]))[0]
    *some, whole = [task.payload.variant.kernels for task in asked if not isinstance(task.payload, Generate)]
    assert len(some) == 2 and some[0] + some[1] == whole and len(whole) >= 2 * LEAST
    warmed = [one for one in answered if isinstance(one, Warmed)]
    assert all(one.seconds > 0 for one in warmed)
    if lowering is default_lower:
        [compiled] = [one for one in answered if isinstance(one, Compiled)]
        assert isinstance(outcome, Timed) and compiled.variant.kernels == whole
        assert compiled.seconds == 0  # nothing was left to compile
        assert outcome.durations.compile_s == pytest.approx(sum(one.seconds for one in warmed))
    else:
        assert isinstance(outcome, CompileFailed) and "no_such_thing" in outcome.message
        assert warmed[-1].failed and outcome.durations.compile_s > sum(one.seconds for one in warmed)
