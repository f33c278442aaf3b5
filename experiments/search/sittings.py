"""Plans measured in turns, for as many sittings as are wanted: the long look at a few of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from metrics.outcome import Outcome
from runners.base import Job, Runner, Sitting

SITTING_S = 1.0
FEWEST = 3


def hold_sittings(runner: Runner, jobs: Sequence[Job], seed: int, count: int, limit_s: float = math.inf,
                  clock: Callable[[], float] = time.monotonic) -> tuple[Mapping[int, Outcome], ...]:
    """The outcomes of `count` sittings of about a second, by job number; fewer, but `FEWEST`, after `limit_s` by
    `clock`.
    """
    begin = clock()
    found: list[Mapping[int, Outcome]] = []
    while jobs and len(found) < count and (len(found) < FEWEST or clock() - begin < limit_s):
        found.append(dict(runner.remeasure(jobs, Sitting(seed, len(found), SITTING_S))))
    return tuple(found)
