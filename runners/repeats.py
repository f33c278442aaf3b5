"""When to stop repeating a measurement: a pure function of the samples so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from metrics.statistics import median, median_interval, series_interval
from runners.base import Limits

Verdict: TypeAlias = Literal["go on", "enough", "hopeless"]
FEWEST_TO_GIVE_UP = 3
SLOWER, COARSER = 1.1, 2.5
"""If the whole interval is above SLOWER times the best, the interval may be COARSER times as wide: the variant cannot
be the best, and a search learns as much from 5 % as from 2 %.
"""
LONG_MS = 250.0
"""From this time on, a first run counts like a later one: its warm-up (code, pages, caches) takes far less time."""
LOST, LOST_MS = 2, 2000.0
"""A first run longer than LOST times the give-up time and than LOST_MS is enough to give a variant up: machines rarely
pause for seconds.
"""

SURE, SURE_MS, ALIKE = 1.5, 1000.0, 1.1
"""Two runs (the first included) are enough if both exceed SURE_MS and SURE times the best, and their ratio is at most
ALIKE.
"""


def judge(samples_ms: Sequence[float], elapsed_s: float, limits: Limits, best_ms: float | None,
          first_ms: float | None = None) -> Verdict:
    """Return whether to repeat the measurement. `samples_ms`: the samples in the order in which they were taken.

    `enough`: the interval of the median (corrected for correlated samples) is tight enough, or time or repeats are
    used up. A variant that is clearly slower than the best needs less precision. `hopeless`: the lower end of the
    interval is above `give_up` x best. This takes three samples, or two if they used up the time, so that one outlier
    does not end a good variant. `first_ms`: the time of the first run, whose results were checked. If it is long, it
    also counts: alone if it is beyond `LOST`, or with one sample if both are `SURE`.
    """
    count = len(samples_ms)
    if count == 0:
        lost = best_ms is not None and first_ms is not None and first_ms > max(LOST_MS, LOST * limits.give_up * best_ms)
        return "hopeless" if lost else "go on"
    if best_ms is not None and median_interval(samples_ms).low > limits.give_up * best_ms:
        seen = first_ms is not None and first_ms > max(LONG_MS, limits.give_up * best_ms)
        if count >= FEWEST_TO_GIVE_UP or (count > 1 and elapsed_s >= limits.time_s) or seen:
            return "hopeless"
    if count == 1 and best_ms is not None and first_ms is not None and _sure(first_ms, samples_ms[0], best_ms):
        return "hopeless"
    if count >= limits.max_repeats:
        return "enough"
    if count < limits.min_repeats:
        return "go on"
    if elapsed_s >= limits.time_s:
        return "enough"
    return "enough" if elapsed_s >= limits.least_s and _tight(samples_ms, limits, best_ms) else "go on"


def _sure(first_ms: float, second_ms: float, best_ms: float) -> bool:
    low, high = sorted((first_ms, second_ms))
    return low > max(SURE_MS, SURE * best_ms) and high <= ALIKE * low


def _tight(samples_ms: Sequence[float], limits: Limits, best_ms: float | None) -> bool:
    interval = series_interval(samples_ms)
    slower = best_ms is not None and interval.low > SLOWER * best_ms
    return interval.relative_half_width(median(samples_ms)) <= limits.half_width * (COARSER if slower else 1)
