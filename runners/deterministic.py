"""A simulated device: the time of a Plan is computed by a function, not measured.

It is for trying explorers without waiting, and for showing that a stopped and resumed run equals an uninterrupted one.
The function is a suitable landscape for searches: smooth bowls over the logarithms of tile volume, block size and
unroll factor, an interaction between shared memory and inner tiles, an optimum of each kernel that depends on its
statements, and a little ruggedness by hash. A few Plans fail, always in the same way. Metrics are simulated, too: they
have the names of the static model's metrics and correlate with parts of the time.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from statistics import fmean

from generator.decisions.size_lists import inner_sizes, smallest_inner
from generator.plan import KernelPlan, Parameters, Plan
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes, LoopNest
from generator.schedules.partition import Group, Partition
from generator.schedules.schedule import Schedule
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Durations,
    Illegal,
    KernelTime,
    LaunchFailed,
    MetricValues,
    Outcome,
    Timed,
    TimedOut,
    WrongResult,
)
from metrics.statistics import median, median_interval
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits, Sitting

DEVICE = DeviceInfo("deterministic", "deterministic", "none", "1",
                    Target("deterministic", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 16, True, False))
FAILING_SHARE = 0.06
RUGGEDNESS = 0.08
JITTER = (0.0, 0.002, -0.001, 0.004, -0.002, 0.001)
NOTHING = Durations()


class DeterministicRunner:
    """Returns computed outcomes, at once or after `delay_s` seconds per evaluation."""

    def __init__(self, problem: Problem, limits: Limits | None = None, delay_s: float = 0.0) -> None:
        """The Program is only used to make the times of two programs differ; the place of its file has no effect."""
        subject = problem.subject
        self._salt = (replace(subject, file="") if Path(subject.file).is_absolute() else subject).digest
        self._limits, self._delay_s = limits or Limits(), delay_s

    @property
    def device(self) -> DeviceInfo:
        """The simulated device, with the limits of a typical GPU."""
        return DEVICE

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) in the order of `jobs`."""
        for job in jobs:
            if self._delay_s:
                time.sleep(self._delay_s)
            yield job.number, self._outcome(job.plan, bounds.best_ms)

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcome of every job again; it is the same as before."""
        del sitting
        for job in jobs:
            yield job.number, self._outcome(job.plan, None)

    def close(self) -> None:
        """Do nothing."""

    def _outcome(self, plan: Plan, best_ms: float | None) -> Outcome:
        return _failure(plan, self._salt, self._limits) or self._timed(plan, best_ms)

    def _timed(self, plan: Plan, best_ms: float | None) -> Timed:
        kernels, factor = tuple[KernelTime, ...](), template_ms(plan.parameters, self._salt)
        if plan.schedule is not None:
            kernels = tuple(KernelTime(kernel.statements, kernel_ms(kernel, plan.scheduled, self._salt),
                                       kernel_metrics(kernel, self._salt),
                                       (("threads", float(math.prod(kernel.block))),))
                            for kernel in plan.kernels)
            factor = schedule_factor(plan.scheduled, self._salt)
        total = factor * math.fsum(kernel.median_ms for kernel in kernels) if kernels else factor
        samples = tuple(total * (1 + jitter) for jitter in JITTER)
        interval = median_interval(samples)
        hopeless = best_ms is not None and interval.low > self._limits.give_up * best_ms
        return Timed(median(samples), interval.low, interval.high, samples, total * 1.05 + 0.02, kernels,
                     plan.digest, hopeless, NOTHING)


def template_ms(parameters: Parameters, salt: str) -> float:
    """Return the simulated time of a template's kernel in ms: a factor per value, and a small random part."""
    factors = [1 + _uniform(salt, name, repr(value)) for name, value in parameters]
    return math.prod(factors) * (1 + RUGGEDNESS * _uniform(salt, repr(parameters)))


def schedule_factor(schedule: Schedule, salt: str) -> float:
    """Return how much a schedule slows the whole program down (1: not at all); the best one depends on `salt`."""
    return 1 + 0.3 * _uniform(salt, "schedule", _decided(schedule))


def kernel_ms(kernel: KernelPlan, schedule: Schedule, salt: str) -> float:
    """Return the simulated time of one kernel in ms."""
    name = ",".join(kernel.statements)
    work_ms = 1 + 9 * _uniform(salt, name, "work")
    threads, volume = math.prod(kernel.block), math.prod(kernel.tile)
    best_threads = _best_threads(salt, name)
    best_points = 1 + 3 * _uniform(salt, name, "points")
    best_unroll = 3 * _uniform(salt, name, "unroll")
    bowl = (0.15 * (math.log2(threads) - best_threads) ** 2
            + 0.10 * (math.log2(max(volume / threads, 1)) - best_points) ** 2
            + 0.05 * (math.log2(kernel.unroll) - best_unroll) ** 2
            + _memory_cost(kernel, salt, name) + _coalescing_cost(kernel))
    rugged = 1 + RUGGEDNESS * _uniform(salt, name, _decided(kernel), _decided(schedule))
    return work_ms * (1 + bowl) * rugged


def kernel_metrics(kernel: KernelPlan, salt: str) -> MetricValues:
    """Return the simulated metrics of one kernel: high occupancy and coalescing correlate with short times.

    Occupancy is 1 at the best number of threads and is halved for every power of two of difference; load coalescing is
    the share of a warp that the innermost block extent fills, that of stores is its square root. Only kernels with
    shared memory have a shared efficiency.
    """
    name = ",".join(kernel.statements)
    away = abs(math.log2(math.prod(kernel.block)) - _best_threads(salt, name))
    filled = min(1.0, kernel.block[-1] / 32) if kernel.block else 1 / 32
    reuse = 1.0 + (smallest_inner(kernel.inner_tile) if kernel.shared else 1)
    shared = (("shared_efficiency", 1.0 if kernel.padding else 0.5),) if kernel.shared else ()
    return (("occupancy", 2**-away), ("load_efficiency", filled), ("store_efficiency", math.sqrt(filled)), *shared,
            ("intensity", reuse / (reuse + 4)))


def _best_threads(salt: str, name: str) -> float:
    """Return the base-2 logarithm of the best number of threads per block."""
    return 6 + 3 * _uniform(salt, name, "threads")


def _memory_cost(kernel: KernelPlan, salt: str, name: str) -> float:
    """Return the cost of memory: shared memory is good for some kernels, and only with a suitable inner tile."""
    inner = fmean(map(math.log2, inner_sizes(kernel.inner_tile)))
    if not kernel.shared:
        return 0.02 * inner
    gain = 0.8 * _uniform(salt, name, "reuse") - 0.3
    return 0.6 - gain + 0.05 * (inner - 4) ** 2


def _coalescing_cost(kernel: KernelPlan) -> float:
    """Return the cost of coalescing: the innermost block extent should fill a warp."""
    return 0.25 * max(0.0, 5 - math.log2(kernel.block[-1])) if kernel.block else 0.0


def _failure(plan: Plan, salt: str, limits: Limits) -> Outcome | None:
    """Return the simulated failure of `plan`, or None."""
    for kernel in plan.kernels:
        threads = math.prod(kernel.block)
        if threads > DEVICE.target.max_threads:
            return LaunchFailed(f"{threads} threads per block; the device allows {DEVICE.target.max_threads}",
                                NOTHING)
    draw = _uniform(salt, _decided(plan), "failure")
    if draw >= FAILING_SHARE:
        return None
    kind = int(draw / FAILING_SHARE * 6)
    match kind:
        case 0:
            return CompileFailed("the pretended compiler refuses this plan", NOTHING)
        case 1:
            return WrongResult("the pretended output differs from the reference", NOTHING)
        case 2:
            return TimedOut("time", limits.run_s, NOTHING)
        case 3:
            return Crashed("check", "the pretended process died", NOTHING)
        case 4:
            return LaunchFailed("the pretended device has too few registers", NOTHING)
        case _:
            return Illegal("the pretended dependence check failed", NOTHING)


def _decided(value: object) -> str:
    """Return `value` without fields that have their defaults, so that a new decision does not change the results of old
    plans.
    """
    if isinstance(value, tuple):
        return f"({', '.join(_decided(part) for part in value)})"
    if not isinstance(
        value, Plan | KernelPlan | ScheduleChoice | Partition | Group | Hyperplanes | LoopNest | TimeTiles
    ):
        return repr(value)
    given = [(f.name, getattr(value, f.name)) for f in fields(value) if getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(f'{name}={_decided(part)}' for name, part in given)})"


def _uniform(*parts: str) -> float:
    """Return a number in [0, 1) that is a function of `parts`."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
