"""Who is fastest, from times of a few variants that were measured in turns: pure functions over samples.

A *sitting* is a process in which the variants were timed round by round, once each per round, so that all of them met
the same moods of the machine. A variant's level in a sitting is the median, over the rounds, of its time relative to
the median time of that round: what slows a whole round down cancels, and of what hits single variants the two medians
bear a lot. (On a busy machine it is essential that the round's middle is a median: relative to the mean, one
disturbed variant makes all others look fast. docs/benchmarks.md compares ways to choose.) Ratios differ between
processes, too, where memory and threads come to lie elsewhere. Each sitting therefore counts as one observation of a
ratio, and the interval of the ratio is that over the sittings.
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
"""The fewest that can have a 95 % interval."""
TIE = 0.01
"""Nobody cares for a difference that is smaller than this share."""
HOPELESS, HOPELESS_SITTINGS = 0.05, 2
"""A variant that was slower by this share at the least, in this many sittings, need not sit again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One variant. Milliseconds are medians over its sittings, the ratios are its time over the winner's.

    Intervals are those of 95 %; with fewer than `ENOUGH_SITTINGS` sittings, they cover what was seen at all. A variant
    that is `complete` took part in every sitting; only such a one can win.
    """

    number: int
    complete: bool
    median_ms: float
    low_ms: float
    high_ms: float
    ratio: float
    ratio_low: float
    ratio_high: float

    @property
    def slower(self) -> bool:
        """Surely slower than the winner."""
        return self.ratio_low > 1

    @property
    def tied(self) -> bool:
        """As good as the winner, as far as is known: not surely slower by more than `TIE`."""
        return self.complete and self.ratio_low <= 1 + TIE

    @property
    def undecided(self) -> bool:
        """Not surely slower, but it left early: it can neither win nor tie."""
        return not self.complete and self.ratio_low <= 1 + TIE

    @property
    def settled(self) -> bool:
        """More sittings would tell nothing that matters."""
        return self.slower or self.ratio_high <= 1 + TIE


def standings(sittings: Sequence[SittingTimes]) -> tuple[Standing, ...]:
    """All that sat with the winner, the winner first, then by ratio. Empty when none took part in every sitting.

    The winner is the one with the lowest level, the median over the sittings; of equals, the lowest number.
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
    """True when the winner is surely faster than each of its rivals, or not worth telling from it."""
    rivals = [entry for entry in standings(sittings)[1:] if entry.complete]
    enough = ENOUGH_SITTINGS if rivals else HOPELESS_SITTINGS
    return len(sittings) >= enough and all(entry.settled for entry in rivals)


def hopeless(sittings: Sequence[SittingTimes]) -> frozenset[int]:
    """Those that are so far behind that they need not sit again."""
    if len(sittings) < HOPELESS_SITTINGS:
        return frozenset()
    return frozenset(entry.number for entry in standings(sittings) if entry.ratio_low > 1 + HOPELESS)


def _everywhere(sittings: Sequence[SittingTimes]) -> list[int]:
    if not sittings:
        return []
    return sorted(number for number in sittings[0] if all(times.get(number) for times in sittings))


def _levels(times: SittingTimes, complete: Sequence[int]) -> dict[int, float]:
    """Of all variants of a sitting: the median over the rounds of log(time / median time of the `complete` ones)."""
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
                    math.exp(ratios.low), math.exp(ratios.high))


def _interval(sittings: Sequence[float], rounds: Sequence[float]) -> Interval:
    """The interval of the median over the sittings; as long as there are few, it also covers that over all rounds."""
    between = median_interval(sittings)
    if len(sittings) >= ENOUGH_SITTINGS:
        return between
    within = series_interval(rounds)
    return Interval(min(between.low, within.low), max(between.high, within.high))


def _log(ms: float) -> float:
    """Times below a picosecond count as one: a device's clock may show 0."""
    return math.log(max(ms, 1e-9))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two times with its 95 % interval; with fewer than `ENOUGH_SITTINGS` sittings it covers what was
    seen.
    """

    middle: float
    low: float
    high: float


def ratio_of(sittings: Sequence[SittingTimes], one: int, two: int) -> Ratio | None:
    """How many times as long variant `one` takes as variant `two`, by the rounds that both had; None without any.

    A sitting counts as one observation: the median, over its rounds, of the ratio of the two times of a round.
    """
    rounds = [[_log(own) - _log(other) for own, other in zip(times[one], times[two], strict=False)]
              for times in sittings if times.get(one) and times.get(two)]
    if not rounds:
        return None
    levels = [median(apart) for apart in rounds]
    interval = _interval(levels, [apart for apart_in in rounds for apart in apart_in])
    return Ratio(math.exp(median(levels)), math.exp(interval.low), math.exp(interval.high))
