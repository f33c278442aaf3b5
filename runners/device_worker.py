"""The code of the device worker: checks a compiled Variant against the reference, then times it.

The only process that times on the device, under a lock that all antune processes of the host respect. Every run
starts from the same data; the whole output is compared after the first run and after the last, and nothing else may
have been written. While results are compared on the host, others may use a device that has cores of its own; the
comparison would disturb times on the host's cores.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, prod
from typing import Literal, assert_never

import numpy as np

from generator.problem import Problem
from generator.variant import Kernel, Variant
from metrics.outcome import (
    CompileFailed,
    Durations,
    KernelTime,
    LaunchFailed,
    NoProfile,
    Outcome,
    Profile,
    Ratings,
    Timed,
    WrongResult,
)
from metrics.statistics import median, series_interval
from runners.backends import open_device
from runners.check import Comparison
from runners.driver import BuildError, Executable, LaunchError, RunTime
from runners.host_program import BoundLaunch, launches
from runners.interleaved import play
from runners.locks import Turn, exclusive
from runners.messages import Answer, Report
from runners.profiling.perf_events import CountersUnavailable
from runners.profiling.profile import profile_variant
from runners.realtime import begin_realtime
from runners.repeats import judge
from runners.tasks import Compiled, Count, DeviceTask, Interleave, Interleaved, Measure, WorkerSetup

TURN_RUNS, TURN_S = 3, 0.005  # a turn of a short variant: so many runs, or as many as begin in this time
KERNELS_S = 0.5  # no further run for the times of kernels is begun that would end later
MOST_REPEATED = 1024  # launches for one time, of a program that is run several times over
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
    """A Variant on the device, with all its launches in order, and the metrics of its kernels.

    It is run `times` times over for one time.
    """

    variant: Variant
    ratings: Ratings
    executable: Executable
    launches: tuple[BoundLaunch, ...]
    times: int = 1


class DeviceWorker:
    """Handles Measure, Interleave and Count."""

    def __init__(self, setup: WorkerSetup) -> None:
        """Open the device and upload the inputs."""
        if setup.limits.realtime:
            begin_realtime()  # before the driver starts its threads, which inherit it
        problem = setup.problem()
        self._setup = setup
        self._reference, self._contract = problem.reference, problem.contract
        self._device = open_device(setup.device, problem)
        self._memory = self._device.memory
        self._expected = Comparison(setup.subject, self._reference.outputs, setup.length, self._reference.rounding)

    def __call__(self, task: DeviceTask, report: Report) -> Answer:
        """Return an Outcome, Interleaved, or a profile.

        Anything but a correct result may have damaged the process, so the answer is marked doubtful. After a sitting
        the process retires, because the next sitting needs one with another placement of threads and memory.
        """
        report("check", None)
        with exclusive(self._setup.lock) as turn:
            match task:
                case Measure():
                    outcome = self._measure(task, report, turn)
                    return Answer(outcome, doubtful=not isinstance(outcome, Timed))
                case Interleave():
                    return Answer(self._sit(task, report), retire=True)
                case Count(compiled):
                    return Answer(self._count(compiled, report), retire=True)
                case _:
                    assert_never(task)

    def _measure(self, task: Measure, report: Report, turn: Turn) -> Outcome:
        clock = _Clock()
        try:
            report("compile", task.limits.compile_s)
            loaded = self._load(task.compiled, task.ratings)
            load_s = clock.lap()
            report("check", task.limits.run_s)
            first, message = self._first(loaded, turn)
            check_s = clock.lap()
            clock.durations = Durations(check_s=load_s + check_s)
            if message is not None:
                return WrongResult(message, clock.durations)
            report("check", None)
            turn.take()
            clock.lap()  # waiting is not a part of the evaluation
            report("time", task.limits.run_s - check_s)
            return self._time(loaded, task, first, check_s, clock, turn)
        except BuildError as error:
            return CompileFailed(str(error), clock.durations)
        except LaunchError as error:
            return LaunchFailed(str(error), clock.durations)

    def _sit(self, task: Interleave, report: Report) -> Interleaved | WrongResult | CompileFailed | LaunchFailed:
        limits, clock, loaded = self._setup.limits, _Clock(), []
        try:
            for compiled in task.compiled:
                report("compile", limits.compile_s)
                loaded.append(self._load(compiled, ()))
                report("check", limits.run_s)
                first, message = self._first(loaded[-1], None)
                if message is not None:
                    return WrongResult(message, clock.durations)
                loaded[-1] = self._repeated(loaded[-1], first)
            spent = clock.lap() / len(loaded)
            report("time", task.sitting.seconds + len(loaded) * limits.run_s)
            played = play([partial(self._turn, entry) for entry in loaded], task.sitting)
            kernels = []
            for entry in loaded:
                kernels.append([self._repeat(entry, by_kernel=True)])
                if (last := self._difference("last", entry, None)) is not None:
                    return WrongResult(last, clock.durations)
        except BuildError as error:
            return CompileFailed(str(error), clock.durations)
        except LaunchError as error:
            return LaunchFailed(str(error), clock.durations)
        durations = Durations(check_s=spent, time_s=clock.lap() / len(loaded))
        return Interleaved(tuple(_timed(entry, runs, last_runs, False, durations)
                                 for entry, runs, last_runs in zip(loaded, played, kernels, strict=True)))

    def _count(self, compiled: Compiled, report: Report) -> Profile | NoProfile:
        setup, limit_s = self._setup, self._setup.limits.run_s
        report("time", limit_s)
        try:
            return profile_variant(self._device, Problem(setup.subject, self._reference), setup.device, setup.target,
                                   compiled.variant, compiled.codes, LAST_SHARE * limit_s)
        except (CountersUnavailable, BuildError, LaunchError) as error:
            return NoProfile(str(error))

    def _turn(self, loaded: _Loaded) -> RunTime:
        """Return the median of a few runs, with the caches in the same state as in repeated runs (warm or cold)."""
        if self._setup.limits.cache == "warm":
            self._memory.restore()
            loaded.executable.run(loaded.launches)
        begin, runs = time.perf_counter(), [self._repeat(loaded)]
        while len(runs) < TURN_RUNS and time.perf_counter() - begin < TURN_S:
            runs.append(self._repeat(loaded))
        return sorted(runs, key=lambda run: run.device_ms)[(len(runs) - 1) // 2]

    def _repeat(self, loaded: _Loaded, by_kernel: bool = False) -> RunTime:
        """Run once from restored data, with the caches in the state that the limits ask for."""
        self._memory.restore()
        if self._setup.limits.cache == "cold":
            self._device.flush()
        return loaded.executable.run(loaded.launches, loaded.times, by_kernel)

    def _repeated(self, loaded: _Loaded, first: RunTime) -> _Loaded:
        """Return `loaded` with the number of runs per sample that makes the device's clock exact enough.

        Only a program that changes nothing which it reads does the same each time.
        """
        again = not any(array.role == "inout" or (array.role == "temp" and array.name in self._reference.inputs)
                        for array in self._contract.arrays)
        if not again or self._setup.limits.cache == "cold" or first.device_ms >= self._device.least_ms:
            return loaded
        warm_ms = self._repeat(loaded).device_ms
        wanted = ceil(self._device.least_ms / max(warm_ms, 1e-6))
        return replace(loaded, times=max(1, min(wanted, MOST_REPEATED // max(1, len(loaded.launches)))))

    def _load(self, compiled: Compiled, ratings: Ratings) -> _Loaded:
        variant = compiled.variant
        return _Loaded(variant, ratings, self._device.load(variant, compiled.codes), tuple(launches(variant)))

    def _first(self, loaded: _Loaded, turn: Turn | None) -> tuple[RunTime, str | None]:
        """Run once from uploaded data (the warm-up). Return its times, and what is wrong with the results or None.

        `turn`: see `_difference`.
        """
        self._memory.upload()
        took = loaded.executable.run(loaded.launches, by_kernel=True)
        if self._setup.results is not None:
            written = [array.name for array in self._contract.arrays if array.role != "in"]
            np.savez(self._setup.results / f"{loaded.variant.code_hash}.npz", allow_pickle=False,
                     **self._memory.read(written))
        return took, self._difference("first", loaded, turn)

    def _difference(self, which: Literal["first", "last"], loaded: _Loaded, turn: Turn | None) -> str | None:
        """Return what is wrong with the results of a run, or None.

        `turn` is given to others as soon as all data are on the host, unless the device has no cores of its own.
        """
        got = self._memory.read([array.name for array in self._contract.outputs])
        overrun = self._memory.overrun()
        changed = self._memory.changed_input() if which == "last" and overrun is None else None
        if turn is not None and not self._setup.target.shares_host_cores:
            turn.give()
        message = overrun or self._expected.difference(got, loaded.variant.plan.rounded_products) or changed
        return f"after the {which} run {message}" if message else None

    def _time(self, loaded: _Loaded, task: Measure, first: RunTime, check_s: float, clock: _Clock,
              turn: Turn) -> Outcome:
        limits = task.limits
        left_s = LAST_SHARE * limits.run_s - check_s
        loaded, runs, elapsed = self._repeated(loaded, first), list[RunTime](), 0.0
        begin, verdict = time.perf_counter(), judge((), 0.0, limits, task.best_ms, first.device_ms)
        while verdict == "go on":
            runs.append(self._repeat(loaded))
            elapsed = time.perf_counter() - begin
            verdict = judge([run.device_ms for run in runs], elapsed, limits, task.best_ms, first.device_ms)
            if elapsed + elapsed / len(runs) > left_s:
                break
        kernels = self._by_kernel(loaded, runs, left_s - elapsed) if verdict == "enough" else []
        last = self._difference("last", loaded, turn)
        clock.durations = replace(clock.durations, time_s=clock.lap())
        if last is not None:
            return WrongResult(last, clock.durations)
        return _timed(loaded, runs or [first], kernels or [first], verdict == "hopeless", clock.durations)

    def _by_kernel(self, loaded: _Loaded, runs: Sequence[RunTime], left_s: float) -> list[RunTime]:
        """Return runs with times per kernel: `runs` if they have them, else a few more runs within the time limit."""
        if runs[0].kernels_ms:
            return list(runs)
        begin, more, last_s = time.perf_counter(), list[RunTime](), runs[-1].host_ms * loaded.times / 1e3
        while len(more) < TURN_RUNS and time.perf_counter() - begin + last_s < min(left_s, KERNELS_S):
            more.append(self._repeat(loaded, by_kernel=True))
        return more


def _timed(loaded: _Loaded, runs: Sequence[RunTime], kernels: Sequence[RunTime], stopped_early: bool,
           durations: Durations) -> Timed:
    samples = tuple(run.device_ms for run in runs)
    interval = series_interval(samples)
    return Timed(median(samples), interval.low, interval.high, samples, median([run.host_ms for run in runs]),
                 _kernel_times(loaded, kernels), loaded.variant.code_hash, stopped_early, durations)


def _kernel_times(loaded: _Loaded, runs: Sequence[RunTime]) -> tuple[KernelTime, ...]:
    """Return the median time per set of statements; kernels with the same statements (two launch sites) are summed."""
    columns: dict[tuple[str, ...], list[int]] = {}
    for number, kernel in enumerate(loaded.variant.kernels):
        columns.setdefault(kernel.statements, []).append(number)
    metrics = dict(loaded.ratings)
    return tuple(KernelTime(statements, median([sum(run.kernels_ms[n] for n in numbers) for run in runs]),
                            metrics.get(statements, ()), _amounts([loaded.variant.kernels[n] for n in numbers]))
                 for statements, numbers in columns.items())


def _amounts(kernels: Sequence[Kernel]) -> tuple[tuple[str, float], ...]:
    """Return the resources of a block. For templates only the threads are known: the text may declare shared memory."""
    threads = ("threads", float(max(prod(kernel.block) for kernel in kernels)))
    if any(kernel.order for kernel in kernels):
        return (threads,)
    return threads, ("shared_bytes", float(max(kernel.local_bytes for kernel in kernels)))
