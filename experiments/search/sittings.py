"""Measure a few plans in turns, over several sittings."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from metrics.outcome import Outcome
from runners.base import Job, Runner, Sitting

SITTING_S = 1.0
FEWEST = 3


def hold_sittings(runner: Runner, jobs: Sequence[Job], seed: int, count: int,
                  limit_s: float = math.inf) -> tuple[Mapping[int, Outcome], ...]:
    """Measure `jobs` in `count` sittings of about a second each; return each sitting's outcomes by job number.

    After `limit_s` seconds no further sitting begins, but at least `FEWEST` are held.
    """
    begin = time.monotonic()
    found: list[Mapping[int, Outcome]] = []
    while jobs and len(found) < count and (len(found) < FEWEST or time.monotonic() - begin < limit_s):
        found.append(dict(runner.remeasure(jobs, Sitting(seed, len(found), SITTING_S))))
    return tuple(found)
