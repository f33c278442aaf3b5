"""The contract of all runners: Plans in, Outcomes out, nothing raised for a bad variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from generator.plan import Plan
from generator.target import Target
from metrics.outcome import NoProfile, Outcome, Profile

CacheState: TypeAlias = Literal["warm", "cold"]
"""What a timed run finds in the device's caches: what the run before it left, or nothing of the program's data."""


@dataclass(frozen=True, slots=True)
class Job:
    """One evaluation: `number` is the caller's key for it."""

    number: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits per variant in seconds, and when timing may stop.

    `compile_s` bounds lowering, and compiling and the first launch of all kernels; `run_s` bounds the check and the
    timing. Both are the most that is ever allowed: `runners.limits.adapted` tightens them by what has succeeded. A
    variant whose kernels take longer than `rate_s` to be rated by the static model (most take some milliseconds) is
    measured without metrics.
    `half_width`: repeats go on until the 95 % interval of the median is this tight (relative; for a variant that is
    surely slower than the best `repeats.COARSER` times as wide), within `min_repeats`..`max_repeats` and about
    `least_s`..`time_s` seconds. A variant slower than `give_up` x best stops early.
    `memory_bytes`: what a worker process may take beside the data that it begins with (None: a share of the machine's).
    `cache`: whether the caches are flushed before every timed run.
    """

    compile_s: float = 60.0
    run_s: float = 30.0
    rate_s: float = 10.0
    half_width: float = 0.02
    min_repeats: int = 6  # the fewest samples that can have a 95 % interval
    max_repeats: int = 200
    least_s: float = 0.05  # a few good moments in a row are no proof
    time_s: float = 2.0
    give_up: float = 3.0
    cache: CacheState = "warm"
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sitting:
    """One session of timing several variants in turns, in one process on one device.

    In every round each variant is timed once, in a random order drawn from `seed` and `number`; rounds go on for about
    `seconds`. `number` counts sittings from 0.
    """

    seed: int
    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """Results of earlier evaluations; they determine the early stop and tighter limits.

    `best_ms` is the best known time. `run_s`: the seconds that checking the best variant and three repeats of it took
    (None: nothing is known). `compiled_s`: what the latest variants took to generate and compile, if that succeeded or
    expired.
    """

    best_ms: float | None = None
    run_s: float | None = None
    compiled_s: tuple[float, ...] = ()


NOTHING_KNOWN = Bounds()


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The device data recorded with every run: strings for people, `key` for comparing devices.

    `features` are the features that our kernels can use, in words: fp64, images, sub-groups, atomics.
    """

    key: str
    name: str
    platform: str
    driver: str
    target: Target
    features: tuple[str, ...] = ()


class Runner(Protocol):
    """Evaluates Plans of one Problem on one device."""

    @property
    def device(self) -> DeviceInfo:
        """The device and its limits."""

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) for every job, as results arrive, in any order.

        `bounds` are the results of earlier jobs (`runners.limits.learned`). Stopping the iteration
        early cancels the rest.
        """

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """Time `jobs` again, in turns; yield (job number, outcome) for every job.

        No result is cached and no plan stops early. A Timed outcome holds one sample per round. Samples of all jobs
        correspond by position, so a slow round can be distinguished from a slow plan.
        """

    def close(self) -> None:
        """End all worker processes."""


@runtime_checkable
class ProfilingRunner(Protocol):
    """A Runner whose device has counters, read separately from timing."""

    def profile(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Profile | NoProfile]]:
        """Yield (job number, the profile of the plan or the reason for its absence) for every job."""


@runtime_checkable
class WarningRunner(Protocol):
    """A Runner that reports problems which are not part of an outcome."""

    def warn_through(self, tell: Callable[[str], None]) -> None:
        """From now on, `tell` the first of each kind."""


@runtime_checkable
class DiagnosingRunner(Protocol):
    """A Runner that can distinguish failures of the plan from failures of the device."""

    def refusal(self) -> str | None:
        """The error of a one-line kernel in the processes that compile and run all plans; None if it runs."""
