"""When to stop repeating a measurement: a pure function of the samples so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from metrics.statistics import median, median_interval
from runners.base import Limits

Verdict: TypeAlias = Literal["go on", "enough", "hopeless"]
FEWEST_TO_GIVE_UP = 3


def judge(samples_ms: Sequence[float], elapsed_s: float, limits: Limits, best_ms: float | None) -> Verdict:
    """Whether another repeat is worth its time.

    `hopeless`: the lower end of the median's interval is above `give_up` x best. That needs three samples, or
    two when they have used up the time already: one outlier must not end a good variant.
    """
    count = len(samples_ms)
    if count == 0:
        return "go on"
    interval = median_interval(samples_ms)
    slow = best_ms is not None and interval.low > limits.give_up * best_ms
    if slow and (count >= FEWEST_TO_GIVE_UP or (count > 1 and elapsed_s >= limits.time_s)):
        return "hopeless"
    if count >= limits.max_repeats:
        return "enough"
    if count < limits.min_repeats:
        return "go on"
    tight = interval.relative_half_width(median(samples_ms)) <= limits.half_width
    return "enough" if tight or elapsed_s >= limits.time_s else "go on"
