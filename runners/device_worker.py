"""Inside the device worker: check a compiled Variant against the reference, then time it.

The only process that times on the device, under a lock that all antune processes of the host respect. Every run
starts from the same data; the whole output is compared after the first run and after the last, and nothing else may have
been written.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from generator.variant import Variant
from metrics.outcome import CompileFailed, Durations, KernelTime, LaunchFailed, Outcome, Ratings, Timed, WrongResult
from metrics.statistics import median, median_interval
from runners.check import compare, longest_chain
from runners.host_program import BoundLaunch, launches
from runners.locks import exclusive
from runners.messages import Answer, Report
from runners.opencl_device import BuildError, Device, Executable, LaunchError, Memory, RunTime
from runners.repeats import judge
from runners.tasks import Measure, WorkerSetup

LAST_SHARE = 0.9  # of the limit: no repeat is begun that would end later


@dataclass(slots=True)
class _Clock:
    """The durations of one measurement, filled in as it proceeds."""

    begin: float = field(default_factory=time.perf_counter)
    durations: Durations = field(default_factory=Durations)

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = time.perf_counter()
        seconds, self.begin = now - self.begin, now
        return seconds


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A Variant on the device, with all its launches in order, and the metrics of its kernels."""

    variant: Variant
    ratings: Ratings
    executable: Executable
    launches: tuple[BoundLaunch, ...]


class DeviceWorker:
    """Handles Measure."""

    def __init__(self, setup: WorkerSetup) -> None:
        """Opens the device and puts the inputs there."""
        problem = setup.problem()
        self._setup = setup
        self._reference = problem.reference
        self._device = Device(setup.device)
        self._memory = Memory(self._device, problem)
        self._length = longest_chain(setup.program) if setup.length is None else setup.length

    def __call__(self, task: Measure, report: Report) -> Answer:
        """An Outcome. Whatever is not a correct result may have damaged the process, which then retires."""
        report("check", None)
        with exclusive(self._setup.lock):
            outcome = self._measure(task, report)
        return Answer(outcome, retire=not isinstance(outcome, Timed))

    def _measure(self, task: Measure, report: Report) -> Outcome:
        clock = _Clock()
        try:
            report("compile", self._setup.limits.compile_s)
            loaded = self._load(task)
            clock.durations = Durations(compile_s=clock.lap())
            report("check", self._setup.limits.run_s)
            first = self._check(loaded, "first")
            check_s = clock.lap()
            clock.durations = Durations(compile_s=clock.durations.compile_s, check_s=check_s)
            if first is not None:
                return WrongResult(first, clock.durations)
            report("time", self._setup.limits.run_s - check_s)
            return self._time(loaded, task.best_ms, check_s, clock)
        except BuildError as error:
            return CompileFailed(str(error), clock.durations)
        except LaunchError as error:
            return LaunchFailed(str(error), clock.durations)

    def _load(self, task: Measure) -> _Loaded:
        variant = task.compiled.variant
        program = self._device.build(variant, task.compiled.binary)
        executable = Executable(self._device, program, variant, self._memory)
        return _Loaded(variant, task.ratings, executable, tuple(launches(variant)))

    def _check(self, loaded: _Loaded, which: Literal["first", "last"]) -> str | None:
        """Run once from whole data (which also warms up), and compare."""
        self._memory.upload()
        loaded.executable.run(loaded.launches)
        return self._difference(which)

    def _difference(self, which: Literal["first", "last"]) -> str | None:
        got = self._memory.read([array.name for array in self._setup.program.outputs])
        message = self._memory.overrun() or compare(self._setup.program, self._reference.outputs, got, self._length,
                                                    self._reference.rounding)
        if message is None and which == "last":
            message = self._memory.changed_input()
        return f"after the {which} run {message}" if message else None

    def _time(self, loaded: _Loaded, best_ms: float | None, check_s: float, clock: _Clock) -> Outcome:
        limits = self._setup.limits
        left_s = LAST_SHARE * limits.run_s - check_s
        runs: list[RunTime] = []
        begin, verdict = time.perf_counter(), "go on"
        while verdict == "go on":
            self._memory.restore()
            runs.append(loaded.executable.run(loaded.launches))
            elapsed = time.perf_counter() - begin
            verdict = judge([run.device_ms for run in runs], elapsed, limits, best_ms)
            if elapsed + elapsed / len(runs) > left_s:
                break
        last = self._difference("last")
        clock.durations = Durations(compile_s=clock.durations.compile_s, check_s=check_s, time_s=clock.lap())
        if last is not None:
            return WrongResult(last, clock.durations)
        return _timed(loaded, runs, verdict == "hopeless", clock.durations)


def _timed(loaded: _Loaded, runs: list[RunTime], stopped_early: bool, durations: Durations) -> Timed:
    samples = tuple(run.device_ms for run in runs)
    interval = median_interval(samples)
    return Timed(median(samples), interval.low, interval.high, samples, median([run.host_ms for run in runs]),
                 _kernel_times(loaded, runs), loaded.variant.code_hash, stopped_early, durations)


def _kernel_times(loaded: _Loaded, runs: list[RunTime]) -> tuple[KernelTime, ...]:
    """Median per identity; several kernels of one identity (a kernel launched from two places) count together."""
    columns: dict[tuple[str, ...], list[int]] = {}
    for number, kernel in enumerate(loaded.variant.kernels):
        columns.setdefault(kernel.statements, []).append(number)
    metrics = dict(loaded.ratings)
    return tuple(KernelTime(statements, median([sum(run.kernels_ms[n] for n in numbers) for run in runs]),
                            metrics.get(statements, ()))
                 for statements, numbers in columns.items())
