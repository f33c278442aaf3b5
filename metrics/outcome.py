"""What became of an evaluation: a closed union. A failure is a value with a message, never a magic number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["generate", "compile", "check", "time"]

MetricValues: TypeAlias = tuple[tuple[str, float], ...]
"""Metrics by name, each in [0, 1] with 1 the device's peak; one that is unknown is absent."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Wall seconds spent per phase of one evaluation."""

    generate_s: float = 0.0
    compile_s: float = 0.0
    check_s: float = 0.0
    time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Median device time of one kernel, summed over its launches in one run of the program, and its metrics."""

    statements: tuple[str, ...]
    median_ms: float
    metrics: MetricValues = ()


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


@dataclass(frozen=True, slots=True)
class Illegal:
    """The Plan breaks a dependence or a limit; nothing was compiled."""

    message: str
    durations: Durations


@dataclass(frozen=True, slots=True)
class CompileFailed:
    """The device's compiler refused the text."""

    message: str
    durations: Durations


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    """The device refused or aborted a launch."""

    message: str
    durations: Durations


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A phase took longer than its limit."""

    phase: Phase
    limit_s: float
    durations: Durations

    @property
    def message(self) -> str:
        """One line for tables."""
        return f"{self.phase} took longer than {self.limit_s:g} s"


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process that compiled or ran the variant died."""

    phase: Phase
    message: str
    durations: Durations


@dataclass(frozen=True, slots=True)
class WrongResult:
    """The outputs differ from the reference."""

    message: str
    durations: Durations


Failed: TypeAlias = Illegal | CompileFailed | LaunchFailed | TimedOut | Crashed | WrongResult
Outcome: TypeAlias = Timed | Failed


def cost_ms(outcome: Outcome) -> float | None:
    """The measured cost, or None for a failure."""
    return outcome.median_ms if isinstance(outcome, Timed) else None
