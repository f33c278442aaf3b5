"""The fastest of a few variants, from times that were measured in turns: pure functions over samples.

A *sitting* is a process in which the variants were timed round by round, once each per round, so that disturbances of
the machine affect all of them. A variant's level in a sitting is the median, over the rounds, of its time relative to
the median time of that round: slowdowns of a whole round cancel, and the two medians tolerate many disturbances of
single variants. (On a busy machine the median of the round is essential: relative to the mean, one disturbed variant
makes all others look fast. docs/timing.md compares ways to choose.) Ratios also differ between processes, because
of the places of memory and threads. Each sitting therefore counts as one observation of a ratio, and the interval of
the ratio is that over the sittings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metrics.statistics import Interval, median, median_interval, series_interval

SittingTimes: TypeAlias = Mapping[int, Sequence[float]]
"""Milliseconds by variant: one per round, those of a round at the same position."""

ENOUGH_SITTINGS = 6
"""The least number of sittings with a 95 % interval."""
TIE = 0.01
"""Differences smaller than this share do not matter."""
LEAST_MS = 1e-9
"""Lower times count as this one: a device's clock may show 0."""
HOPELESS, HOPELESS_SITTINGS = 0.05, 2
"""A variant that was slower by at least this share, in this many sittings, is not measured again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One variant. Milliseconds are medians over its sittings, the ratios are its time over the winner's.

    Intervals are those of 95 %; with fewer than `ENOUGH_SITTINGS` sittings, they cover all observations. A variant that
    is `complete` took part in every sitting; only such a one can win. Without `has_ratio`, it or the winner showed 0 in
    a round (an objective may be 0): then the ratios only order variants, as if 0 were `LEAST_MS`.
    """

    number: int
    complete: bool
    median_ms: float
    low_ms: float
    high_ms: float
    ratio: float
    ratio_low: float
    ratio_high: float
    has_ratio: bool = True

    @property
    def slower(self) -> bool:
        """Whether it is surely slower than the winner."""
        return self.ratio_low > 1

    @property
    def tied(self) -> bool:
        """Whether it is as good as the winner, as far as known: not surely slower by more than `TIE`."""
        return self.complete and self.ratio_low <= 1 + TIE

    @property
    def undecided(self) -> bool:
        """Whether it is not surely slower, but was dropped early: it can neither win nor tie."""
        return not self.complete and self.ratio_low <= 1 + TIE

    @property
    def settled(self) -> bool:
        """Whether more sittings would not change the result."""
        return self.slower or self.ratio_high <= 1 + TIE


def standings(sittings: Sequence[SittingTimes]) -> tuple[Standing, ...]:
    """Return all variants that were measured with the winner, the winner first, then by ratio.

    The winner is the one with the lowest level, the median over the sittings; of equals, the lowest number. Empty if no
    variant took part in every sitting.
    """
    complete = _everywhere(sittings)
    if not complete:
        return ()
    levels = [_levels(times, complete) for times in sittings]
    scores = {number: median([level[number] for level in levels]) for number in complete}
    winner = min(complete, key=lambda number: (scores[number], number))
    present = {number for times in sittings for number, samples in times.items() if samples}
    found = [_standing(sittings, levels, number, winner, number in complete) for number in present]
    return tuple(sorted(found, key=lambda entry: (entry.number != winner, entry.ratio, entry.number)))


def decided(sittings: Sequence[SittingTimes]) -> bool:
    """Return whether the winner is surely faster than each rival, or the difference does not matter."""
    rivals = [entry for entry in standings(sittings)[1:] if entry.complete]
    enough = ENOUGH_SITTINGS if rivals else HOPELESS_SITTINGS
    return len(sittings) >= enough and all(entry.settled for entry in rivals)


def hopeless(sittings: Sequence[SittingTimes]) -> frozenset[int]:
    """Return the variants that are too slow to be measured again."""
    if len(sittings) < HOPELESS_SITTINGS:
        return frozenset()
    return frozenset(entry.number for entry in standings(sittings) if entry.ratio_low > 1 + HOPELESS)


def _everywhere(sittings: Sequence[SittingTimes]) -> list[int]:
    if not sittings:
        return []
    return sorted(number for number in sittings[0] if all(times.get(number) for times in sittings))


def _levels(times: SittingTimes, complete: Sequence[int]) -> dict[int, float]:
    """Return, for all variants of a sitting, the median over the rounds of log(time / median time of the `complete`
    ones).
    """
    centres = [median(row) for row in zip(*([_log(ms) for ms in times[number]] for number in complete), strict=False)]
    return {number: median([_log(ms) - centre for ms, centre in zip(samples, centres, strict=False)])
            for number, samples in times.items() if samples}


def _standing(sittings: Sequence[SittingTimes], levels: Sequence[dict[int, float]], number: int, winner: int,
              complete: bool) -> Standing:
    shared = [times for times in sittings if times.get(number)]
    medians = [median(times[number]) for times in shared]
    times_ms = _interval(medians, [ms for times in shared for ms in times[number]])
    apart = [level[number] - level[winner] for level in levels if number in level]
    ratios = _interval(apart, [_log(own) - _log(best) for times in shared
                               for own, best in zip(times[number], times[winner], strict=False)])
    return Standing(number, complete, median(medians), times_ms.low, times_ms.high, math.exp(median(apart)),
                    math.exp(ratios.low), math.exp(ratios.high),
                    all(ms > LEAST_MS for times in shared for ms in (*times[number], *times[winner])))


def _interval(sittings: Sequence[float], rounds: Sequence[float]) -> Interval:
    """Return the interval of the median over the sittings; if there are few, it also covers that over all rounds."""
    between = median_interval(sittings)
    if len(sittings) >= ENOUGH_SITTINGS:
        return between
    within = series_interval(rounds)
    return Interval(min(between.low, within.low), max(between.high, within.high))


def _log(ms: float) -> float:
    return math.log(max(ms, LEAST_MS))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two times with its 95 % interval; with fewer than `ENOUGH_SITTINGS` sittings it covers all
    observations.
    """

    middle: float
    low: float
    high: float


def ratio_of(sittings: Sequence[SittingTimes], one: int, two: int) -> Ratio | None:
    """Return the time of variant `one` over that of variant `two`, by their common rounds; None without any.

    A sitting counts as one observation: the median, over its rounds, of the ratio of the two times of a round.
    """
    rounds = [[_log(own) - _log(other) for own, other in zip(times[one], times[two], strict=False)]
              for times in sittings if times.get(one) and times.get(two)]
    if not rounds:
        return None
    levels = [median(apart) for apart in rounds]
    interval = _interval(levels, [apart for apart_in in rounds for apart in apart_in])
    return Ratio(math.exp(median(levels)), math.exp(interval.low), math.exp(interval.high))
