"""The outcome of an evaluation: a closed union. A failure is a value with a message, never a magic number.

`device` is the device of an outcome if a run has several; otherwise it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["generate", "rate", "compile", "check", "time"]
"""The phases of an evaluation. "rate" computes the metrics; its failure is not a failure of the variant."""

MetricValues: TypeAlias = tuple[tuple[str, float], ...]
"""Metrics by name, each in [0, 1], where 1 is the device's peak; unknown metrics are absent."""

Ratings: TypeAlias = tuple[tuple[tuple[str, ...], MetricValues], ...]
"""The metrics of a variant's kernels, by their statements."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Wall seconds spent per phase of one evaluation; rating counts as generating."""

    generate_s: float = 0.0
    compile_s: float = 0.0
    check_s: float = 0.0
    time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Median device time of one kernel, summed over its launches in one run of the program, and its metrics. Idle time
    before a launch counts for its kernel, so that the times of the kernels add up to that of the program.

    `metrics` are empty if they could not be computed, and in runs stored by older versions. The same holds for
    `amounts`: the resources of a block by name (threads, shared_bytes), maximum over all launches.
    """

    statements: tuple[str, ...]
    median_ms: float
    metrics: MetricValues = ()
    amounts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Timed:
    """A correct variant: device times in milliseconds, `low_ms`..`high_ms` is a 95 % interval of the median.

    `host_ms` is the median total time seen by the host. `stopped_early`: clearly slower than the best known.
    """

    median_ms: float
    low_ms: float
    high_ms: float
    samples_ms: tuple[float, ...]
    host_ms: float
    kernels: tuple[KernelTime, ...]
    code_hash: str
    stopped_early: bool
    durations: Durations
    device: str = ""


@dataclass(frozen=True, slots=True)
class Illegal:
    """The Plan breaks a dependence or a limit; nothing was compiled."""

    message: str
    durations: Durations
    device: str = ""


@dataclass(frozen=True, slots=True)
class CompileFailed:
    """The device's compiler rejected the text."""

    message: str
    durations: Durations
    device: str = ""


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    """The device rejected or aborted a launch."""

    message: str
    durations: Durations
    device: str = ""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A phase took longer than its limit."""

    phase: Phase
    limit_s: float
    durations: Durations
    device: str = ""

    @property
    def message(self) -> str:
        """A one-line description."""
        return f"{self.phase} took longer than {self.limit_s:g} s"


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process that compiled or ran the variant died."""

    phase: Phase
    message: str
    durations: Durations
    device: str = ""


@dataclass(frozen=True, slots=True)
class WrongResult:
    """The outputs differ from the reference."""

    message: str
    durations: Durations
    device: str = ""


Failed: TypeAlias = Illegal | CompileFailed | LaunchFailed | TimedOut | Crashed | WrongResult
Outcome: TypeAlias = Timed | Failed


@dataclass(frozen=True, slots=True)
class Compilation:
    """A variant that was compiled, but not run.

    `spills`: the bytes per thread that did not fit into registers, of all kernels together; None if the compiler does
    not report them.
    """

    spills: int | None


@dataclass(frozen=True, slots=True)
class Profile:
    """The metrics of a variant's kernels that a profiler measured (`metrics.measured`), and the profiler.

    `source`: perf (Linux perf events) or ncu (Nsight Compute).
    """

    source: Literal["perf", "ncu"]
    kernels: Ratings


@dataclass(frozen=True, slots=True)
class NoProfile:
    """A variant could not be profiled: the reason and a remedy."""

    message: str


def program_metrics(kernels: Sequence[KernelTime]) -> MetricValues:
    """Return the metrics of a program: per metric, the mean over the kernels that have it, weighted by their times.

    Names are in the order of their first occurrence. If all times are 0, the weights are equal.
    """
    having: dict[str, list[tuple[float, float]]] = {}
    for kernel in kernels:
        for name, value in kernel.metrics:
            having.setdefault(name, []).append((kernel.median_ms, value))
    return tuple((name, _weighted_mean(pairs)) for name, pairs in having.items())


def _weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    total = sum(weight for weight, _ in pairs)
    if not total:
        return sum(value for _, value in pairs) / len(pairs)
    return sum(weight * value for weight, value in pairs) / total


def cost_ms(outcome: Outcome) -> float | None:
    """Return the median time in ms, or None for a failure."""
    return outcome.median_ms if isinstance(outcome, Timed) else None
