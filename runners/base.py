"""The contract of all runners: Plans in, Outcomes out, nothing raised for a bad variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from generator.plan import Plan
from generator.target import Target
from metrics.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Job:
    """One evaluation: `number` is the caller's key for it."""

    number: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits per variant in seconds, and when timing may stop.

    `compile_s` bounds lowering, compiling and the first launch; `run_s` bounds the check and the timing. A variant
    whose kernels take longer than `rate_s` to be rated by the static model (most take some milliseconds) is measured
    without metrics.
    `half_width`: repeats go on until the 95 % interval of the median is this tight (relative), within
    `min_repeats`..`max_repeats` and about `time_s` seconds. A variant slower than `give_up` x best stops early.
    """

    compile_s: float = 60.0
    run_s: float = 30.0
    rate_s: float = 10.0
    half_width: float = 0.02
    min_repeats: int = 6  # the fewest samples that can have a 95 % interval
    max_repeats: int = 50
    time_s: float = 2.0
    give_up: float = 3.0


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What is recorded with every run: strings for people, `key` for comparing devices."""

    key: str
    name: str
    platform: str
    driver: str
    target: Target


class Runner(Protocol):
    """Evaluates Plans of one Problem on one device."""

    @property
    def device(self) -> DeviceInfo:
        """The device and its limits."""

    def evaluate(self, jobs: Sequence[Job], best_ms: float | None) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) for every job, as results arrive, in any order.

        `best_ms` is the best known time, for the early stop. Stopping the iteration early cancels the rest.
        """

    def close(self) -> None:
        """End all worker processes."""
