"""Usual start plans in the order in which the learned model ranks them: which kernels and tiles are good depends on the
program, which the fixed order of the usual start plans does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from graph.foretelling import Foresee
from graph.walk import Walk

TIMES = 5.0
"""A start plan with a predicted time this many times as long as the shortest is left out, because it takes the place of
a walk. Of 24 such plans of eight pipelines, the fastest took 3.2 times as long as the best start plan
(docs/benchmarks/cost_models.md).
"""


def ranked(walks: Sequence[Walk], foresee: Foresee) -> tuple[Walk, ...]:
    """Return the walks with those whose plans the model can rate in the order of their predicted times, without those
    above TIMES times the shortest. The others keep their places.
    """
    times = [foresee(walk.plan).program for walk in walks]
    rated = sorted((time, number) for number, time in enumerate(times) if time is not None)
    best = iter([walks[number] for time, number in rated if time <= rated[0][0] + log(TIMES)])
    found = (walk if time is None else next(best, None) for walk, time in zip(walks, times, strict=True))
    return tuple(walk for walk in found if walk is not None)
