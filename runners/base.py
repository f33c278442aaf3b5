"""The interface of all runners: they turn Plans into Outcomes, and never raise an error for a bad variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from generator.plan import Plan
from generator.target import Target
from metrics.outcome import Compilation, Failed, NoProfile, Outcome, Profile

CacheState: TypeAlias = Literal["warm", "cold"]
"""The device's caches before a timed run: as the previous run left them (warm), or without the program's data (cold).
"""


@dataclass(frozen=True, slots=True)
class Job:
    """One evaluation: `number` is the caller's key for it."""

    number: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits per variant in seconds, and the rules that end the timing.

    `compile_s`: limit of lowering, compiling and first launches of all kernels. `run_s`: limit of check and timing.
    Both are upper limits: `runners.limits.adapted` tightens them with the times of successful variants. `rate_s`: limit
    of the static model (most kernels take milliseconds); a variant that exceeds it is measured without metrics.

    `half_width`: timing repeats until the relative half width of the median's 95 % interval is at most this (or
    `repeats.COARSER` times this for a variant that is clearly slower than the best), within `min_repeats`..
    `max_repeats` repeats and about `least_s`..`time_s` seconds. `give_up`: a variant slower than this factor times the
    best stops early. `cache`: whether caches are flushed before every timed run. `memory_bytes`: limit of a worker
    process, beside its initial data (None: a share of the machine's memory). `realtime`: whether the processes that
    measure have real-time priority (`runners.realtime`).
    """

    compile_s: float = 60.0
    run_s: float = 30.0
    rate_s: float = 10.0
    half_width: float = 0.02
    min_repeats: int = 6  # the fewest samples that can have a 95 % interval
    max_repeats: int = 200
    least_s: float = 0.05  # a few fast samples in a row may be chance
    time_s: float = 2.0
    give_up: float = 3.0
    cache: CacheState = "warm"
    memory_bytes: int | None = None
    realtime: bool = False


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

    `best_ms`: the best known time. `run_s`: the seconds for the check and three repeats of the best variant (None:
    unknown). `compiled_s`: the seconds that the latest variants took to generate and compile, if that succeeded or
    timed out.
    """

    best_ms: float | None = None
    run_s: float | None = None
    compiled_s: tuple[float, ...] = ()


NOTHING_KNOWN = Bounds()


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The description of a device that is stored with every run. `key` identifies the device.

    `features`: names of the features that kernels can use: fp64, images, sub-groups, atomics. `warning`: a known fault
    of its compiler, with a remedy; empty if there is none.
    """

    key: str
    name: str
    platform: str
    driver: str
    target: Target
    features: tuple[str, ...] = ()
    warning: str = ""


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
class AnnouncedRunner(Protocol):
    """A Runner that can generate and compile plans while it measures others."""

    def announce(self, jobs: Sequence[Job]) -> None:
        """Tell which jobs the call of `evaluate` after the next one will have; idle compilers begin with them."""


@runtime_checkable
class CompilingRunner(Protocol):
    """A Runner that can compile plans without running them."""

    def compiled(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Compilation | Failed]]:
        """Yield (job number, what the compiler reports about the plan, or how it failed), in the order of `jobs`."""


@runtime_checkable
class ProfilingRunner(Protocol):
    """A Runner whose device has counters, read separately from timing."""

    def profile(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Profile | NoProfile]]:
        """Yield (job number, the profile of the plan or the reason for its absence) for every job."""


@runtime_checkable
class WarningRunner(Protocol):
    """A Runner that reports problems which are not part of an outcome."""

    def warn_through(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the first message of each kind from now on."""


@runtime_checkable
class DiagnosingRunner(Protocol):
    """A Runner that can distinguish failures of the plan from failures of the device."""

    def refusal(self) -> str | None:
        """Return the error of a one-line kernel in the processes that compile and run all plans; None if it runs."""
