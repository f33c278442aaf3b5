"""When a search has found enough, or finds nothing more: the goals of `--stop-at`, and what `--stagnation` counts.

Both are decided at the ends of iterations, from stored results in ask order: a resumed run decides the same. Measured
times are a little wrong, so a plan reaches a goal when the slow end of its interval does, and improves on another one
when their intervals do not overlap.
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
    """How fast is fast enough.

    `value`: how many times as fast as the default plan or as the sequential program; for `roofline`, how many percent
    of the speed that the device's ceilings allow the program. `base_ms` is the time of the sequential program, or the
    least time by the ceilings; it is fixed when a run begins. (The default plan's is measured by the run itself.)
    """

    measure: Measure
    value: float
    base_ms: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not positive, or that no plan can reach."""
        if not 0 < self.value < math.inf:
            raise InputError(f"--stop-at is {self.value:g}; use a number above 0")
        if self.measure == "roofline" and self.value > 100:
            raise InputError(f"--stop-at is {self.value:g} % of what the device's ceilings allow; use at most 100%")

    def target_ms(self, default_ms: float | None) -> float | None:
        """The time to reach; None as long as what it is compared with has none, or has 0, which has no multiples."""
        base_ms = default_ms if self.measure == "default" else self.base_ms
        if not base_ms:
            return None
        return base_ms / (self.value / 100 if self.measure == "roofline" else self.value)

    @property
    def option(self) -> str:
        """As the command line has it: `8x`, `2x-sequential`, `90%`."""
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
        """For people: `8x over the default plan`."""
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
    """The goal that the option --stop-at names. Raises InputError when it names none."""
    match = _GOAL.fullmatch(text.strip().lower().replace(" ", ""))
    if match is None:
        raise InputError(
            f"--stop-at {text!r} is no goal; write 8x (over the default plan), 2x{SUFFIX} (over sequential C) "
            "or 90% (of what the device's ceilings allow)"
        )
    measure: Measure = {"%": "roofline", "x": "default"}.get(match["unit"], "sequential")  # type: ignore[assignment]  # both are names of a Measure
    return Goal(measure, float(match["number"]))


@dataclass(frozen=True, slots=True)
class Gains:
    """What the results have shown so far, in ask order.

    `surest_ms` is the lowest upper end of an interval, that of evaluation `surest`. `low_ms` is the lower end of the
    best at its last clear improvement, which was evaluation `latest`; the default plan is the first. `last`: the last
    evaluation.
    """

    default_ms: float | None = None
    surest_ms: float | None = None
    surest: int = 0
    low_ms: float | None = None
    latest: int = 0
    last: int = 0

    @property
    def stagnant(self) -> int:
        """Evaluations since the last clear improvement."""
        return self.last - self.latest

    def reaches(self, goal: Goal) -> bool:
        """True when a plan is fast enough."""
        target_ms = goal.target_ms(self.default_ms)
        return target_ms is not None and self.surest_ms is not None and self.surest_ms <= target_ms


NO_GAINS = Gains()


def gained(gains: Gains, outcomes: Iterable[tuple[int, Outcome]]) -> Gains:
    """`gains` with what further evaluations, by number, have shown."""
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
