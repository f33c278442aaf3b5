"""When to stop repeating a measurement: a pure function of the samples so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from metrics.statistics import median, median_interval, series_interval
from runners.base import Limits

Verdict: TypeAlias = Literal["go on", "enough", "hopeless"]
FEWEST_TO_GIVE_UP = 3
SLOWER, COARSER = 1.1, 2.5
"""A variant whose whole interval is so far above the best is timed to so many times the wanted precision: it is no
winner, and a search learns as much from 5 % as from 2 %.
"""
LONG_MS = 250.0
"""From here on a first run is as good as a later one: what it finds cold (code, pages, caches) takes far less than
that.
"""
LOST, LOST_MS = 2, 2000.0
"""A first run so many times beyond `give_up` and that long is all that there is to know: machines seldom pause for
seconds.
"""

SURE, SURE_MS, ALIKE = 1.5, 1000.0, 1.1
"""Two runs, the first one included, of at least that many ms, so many times the best and so near to each other are
enough.
"""


def judge(samples_ms: Sequence[float], elapsed_s: float, limits: Limits, best_ms: float | None,
          first_ms: float | None = None) -> Verdict:
    """Whether another repeat is worth its time; `samples_ms` are in the order in which they were taken.

    `enough`: the interval of the median is as tight as wanted, resemblance of neighbours considered, or time or repeats
    are used up; less is wanted of a variant that is surely slower than the best. `hopeless`: the lower end of the
    median's interval is above `give_up` x best. That needs three samples, or two when they have used up the time
    already: one outlier must not end a good variant. `first_ms` is what the run before the samples took, whose results
    were checked: if that was long it is a witness, too: the only one where it is `LOST` times beyond `give_up`, the
    first of two `SURE` ones.
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
