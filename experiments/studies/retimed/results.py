"""The figures of the suite `timing`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiments.studies.retimed.passes import Measured, Pass
from generator.errors import InputError
from metrics.finals import SittingTimes
from metrics.statistics import median

ALLOWED = 0.03
"""If the long-run medians of two winners differ by less than this fraction, the winners count as equally good."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The winners of the two passes by one way of choosing, and how much they differ.

    `times_ms` are the winners' times in their passes, `long_ms` their long-run medians. `apart`: the fraction by which
    the long-run times differ, from the median ratio over all rounds. `lost`: the fraction by which each is slower in
    the long run than the best plan measured for long.
    """

    way: str
    plans: tuple[int, int]
    times_ms: tuple[float, float]
    long_ms: tuple[float, float]
    apart: float
    lost: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures.

    `agreement` is Spearman's rank correlation of the two passes, `ratio` the median time of the second over the first,
    `coverage` the fraction of each pass's intervals that contain the long-run median.
    """

    device: str
    plans: int
    timed: int
    one_shot: Winner
    final: Winner
    agreement: float | None
    ratio: float
    coverage: tuple[float | None, float | None]
    search_s: tuple[float, float]
    final_s: tuple[float, float]
    long_s: float
    load: float

    @property
    def passed(self) -> bool:
        """Whether the winners of the finals are equally good."""
        return self.final.apart < ALLOWED

    def to_data(self) -> Mapping[str, Any]:
        """Return the figures for a JSON file."""
        return asdict(self) | {"passed": self.passed, "allowed": ALLOWED}


def figures(measured: Measured) -> Figures:
    """Return the figures of the measurements. The load is the machine's average of the last minute.

    Raises:
        InputError: a winner failed in the long measurements.
    """
    first, second = measured.passes
    ratios = _long_ratios(measured)
    best = min(ratios.values())
    one, two = first.timed(), second.timed()
    both = sorted(one.keys() & two.keys())
    times = [one[n].median_ms for n in both], [two[n].median_ms for n in both]
    return Figures(
        measured.device.name, len(measured.plans), len(both),
        _winner("best time", measured, (first.one_shot, second.one_shot), ratios, best),
        _winner("final", measured, (first.winner, second.winner), ratios, best), _agreement(*times),
        median([b / a for a, b in zip(*times, strict=True)]) if both else math.nan,
        (_coverage(first, measured.wide), _coverage(second, measured.wide)), (first.search_s, second.search_s),
        (first.final_s, second.final_s), measured.long_s, os.getloadavg()[0])


def _long_ratios(measured: Measured) -> Mapping[int, float]:
    always = sorted(n for n in measured.long[0] if all(times.get(n) for times in measured.long))
    ratios = {number: _pooled_ratio(measured.long, number, always[0]) for number in always}
    for one in measured.passes:
        for number in (one.one_shot, one.winner):
            if number not in ratios:
                raise InputError(
                    f"plan {number} was named best, but failed when it was measured for long; look at it with "
                    "`antune check`"
                )
    return ratios


def _pooled_ratio(sittings: Sequence[SittingTimes], number: int, other: int) -> float:
    """Return the median, over all rounds of all sittings, of the time of `number` over that of `other`."""
    return median([own / his for times in sittings for own, his in zip(times[number], times[other], strict=True)])


def _winner(way: str, measured: Measured, plans: tuple[int, int], ratios: Mapping[int, float], best: float) -> Winner:
    long_ms = [median([median(times[plan]) for times in measured.long if times.get(plan)]) for plan in plans]
    told = [_told_ms(one, plan, way) for one, plan in zip(measured.passes, plans, strict=True)]
    one, two = (ratios[plan] for plan in plans)
    return Winner(way, plans, (told[0], told[1]), (long_ms[0], long_ms[1]), max(one, two) / min(one, two) - 1,
                  (one / best - 1, two / best - 1))


def _told_ms(one: Pass, plan: int, way: str) -> float:
    found = [entry.median_ms for entry in (one.ranked.standings if one.ranked else ()) if entry.number == plan]
    return found[0] if way == "final" and found else one.timed()[plan].median_ms


def _agreement(one: Sequence[float], two: Sequence[float]) -> float | None:
    """Return the rank correlation; None for fewer than three plans or if all values are equal."""
    from scipy.stats import spearmanr

    if len(one) < 3 or len(set(one)) == 1 or len(set(two)) == 1:
        return None
    return float(spearmanr(one, two).statistic)


def _coverage(one: Pass, wide: Sequence[SittingTimes]) -> float | None:
    """Return the fraction of intervals that contain the long-run median; None if no plan was measured for long."""
    hits = []
    for number, timed in one.timed().items():
        medians = [median(times[number]) for times in wide if times.get(number)]
        if medians:
            hits.append(timed.low_ms <= median(medians) <= timed.high_ms)
    return sum(hits) / len(hits) if hits else None
