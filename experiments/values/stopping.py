"""Stopping rules: the goals of `--stop-at` and the counter of `--stagnation`.

Both are evaluated between iterations, from stored results in ask order, so a resumed run stops at the same point.
Because measured times have errors, a plan reaches a goal when the upper end of its confidence interval does, and
improves on another plan when its interval lies below the other's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from generator.errors import InputError
from metrics.outcome import Outcome, Timed

Measure: TypeAlias = Literal["default", "sequential", "roofline"]
SUFFIX = "-sequential"
_GOAL = re.compile(r"(?P<number>\d+(\.\d*)?|\.\d+)(?P<unit>%|x|x-sequential)")


@dataclass(frozen=True, slots=True)
class Goal:
    """A speed at which the search may stop.

    `value`: the speedup over the default plan or the sequential program; for `roofline`, a percentage of the speed that
    the device's ceilings allow. `base_ms` is the time of the sequential program or the least time by the ceilings,
    fixed when the run begins. The time of the default plan is measured by the run itself.
    """

    measure: Measure
    value: float
    base_ms: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not positive or that no plan can reach."""
        if not 0 < self.value < math.inf:
            raise InputError(f"--stop-at is {self.value:g}; use a number above 0")
        if self.measure == "roofline" and self.value > 100:
            raise InputError(f"--stop-at is {self.value:g} % of what the device's ceilings allow; use at most 100%")

    def target_ms(self, default_ms: float | None) -> float | None:
        """Return the time to reach; None while the base time is unknown or 0."""
        base_ms = default_ms if self.measure == "default" else self.base_ms
        if not base_ms:
            return None
        return base_ms / (self.value / 100 if self.measure == "roofline" else self.value)

    @property
    def option(self) -> str:
        """The goal as on the command line: `8x`, `2x-sequential`, `90%`."""
        match self.measure:
            case "default":
                return f"{self.value:g}x"
            case "sequential":
                return f"{self.value:g}x{SUFFIX}"
            case "roofline":
                return f"{self.value:g}%"
            case _:
                assert_never(self.measure)

    @property
    def words(self) -> str:
        """The goal in words: `8x over the default plan`."""
        match self.measure:
            case "default":
                return f"{self.value:g}x over the default plan"
            case "sequential":
                return f"{self.value:g}x over sequential C"
            case "roofline":
                return f"{self.value:g} % of what the device's ceilings allow"
            case _:
                assert_never(self.measure)


def parse_goal(text: str) -> Goal:
    """Return the goal that the option --stop-at names. Raises InputError if `text` is not a goal."""
    match = _GOAL.fullmatch(text.strip().lower().replace(" ", ""))
    if match is None:
        raise InputError(
            f"--stop-at {text!r} is not a goal; write 8x (over the default plan), 2x{SUFFIX} (over sequential C) "
            "or 90% (of what the device's ceilings allow)"
        )
    measure: Measure = {"%": "roofline", "x": "default"}.get(match["unit"], "sequential")  # type: ignore[assignment]  # both are names of a Measure
    return Goal(measure, float(match["number"]))


@dataclass(frozen=True, slots=True)
class Gains:
    """The data of the stopping rules about the results so far, in ask order.

    `surest_ms` is the lowest upper end of a confidence interval, reached by evaluation `surest`. `latest` is the
    evaluation of the last clear improvement (the first timed one counts as one), and `low_ms` the lower end of its
    interval. `last` is the last evaluation.
    """

    default_ms: float | None = None
    surest_ms: float | None = None
    surest: int = 0
    low_ms: float | None = None
    latest: int = 0
    last: int = 0

    @property
    def stagnant(self) -> int:
        """The number of evaluations since the last clear improvement."""
        return self.last - self.latest

    def reaches(self, goal: Goal) -> bool:
        """Return True if a plan is fast enough for `goal`."""
        target_ms = goal.target_ms(self.default_ms)
        return target_ms is not None and self.surest_ms is not None and self.surest_ms <= target_ms


NO_GAINS = Gains()


def gained(gains: Gains, outcomes: Iterable[tuple[int, Outcome]]) -> Gains:
    """Return `gains` updated with further evaluations, given as (number, outcome)."""
    for number, outcome in outcomes:
        gains = replace(gains, last=number)
        if not isinstance(outcome, Timed):
            continue
        if number == 0:
            gains = replace(gains, default_ms=outcome.median_ms)
        if gains.surest_ms is None or outcome.high_ms < gains.surest_ms:
            gains = replace(gains, surest_ms=outcome.high_ms, surest=number)
        if gains.low_ms is None or outcome.high_ms < gains.low_ms:
            gains = replace(gains, low_ms=outcome.low_ms, latest=number)
    return gains
