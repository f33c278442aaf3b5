"""The best plan and other systems, measured in turns by the wall clock.

Threads and memory are placed differently in each process, and machines have slow minutes. Each round therefore
measures all of them, one right after the other, ours and most others in a new process; only times of the same round are
compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from experiments.values.outcome_rows import kind_of
from metrics.finals import Ratio
from metrics.outcome import Timed
from metrics.statistics import median, median_interval
from runners.base import Job, Runner, Sitting

ROUNDS, FEWEST = 6, 3
"""The number of rounds: the fewest that have a 95 % interval; and the fewest on slow machines."""
LIMIT_S = 180.0
"""The time in seconds after which no round begins, if the fewest were held."""
SECONDS = 1.0
"""The time in seconds for which each is run in a round."""

Turn: TypeAlias = Callable[[int], "float | str"]
"""Measures something in the round of a number; returns the median time of a run in ms, or the reason for its absence.
"""


@dataclass(frozen=True, slots=True)
class PeerTime:
    """The median of the `rounds`, which are wall-clock times of a run in ms; None if there is none: see `detail`."""

    name: str
    ms: float | None
    detail: str = ""
    rounds: tuple[float, ...] = ()


def turn_of(runner: Runner, job: Job) -> Turn:
    """Return what measures a plan in a new process, by the wall clock."""
    def turn(number: int) -> float | str:
        ((_, outcome),) = runner.remeasure([job], Sitting(0, number, SECONDS))
        return outcome.host_ms if isinstance(outcome, Timed) else kind_of(outcome)

    return turn


def hold_rounds(turns: Mapping[str, Turn], clock: Callable[[], float] = time.monotonic) -> tuple[PeerTime, ...]:
    """Measure all `turns`, by name, in rounds. Each round begins with another one; who fails once has no time."""
    begin, names = clock(), list(turns)
    found: dict[str, list[float]] = {name: [] for name in names}
    failures: dict[str, str] = {}
    for number in range(ROUNDS):
        if number >= FEWEST and clock() - begin > LIMIT_S:
            break
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            if name in failures:
                continue
            answer = turns[name](number)
            if isinstance(answer, str):
                failures[name] = answer
            else:
                found[name].append(answer)
    return tuple(PeerTime(name, None, failures[name]) if name in failures
                 else PeerTime(name, median(found[name]), "", tuple(found[name])) for name in names)


def over_peers(times: Sequence[PeerTime]) -> Ratio | None:
    """Return the speedup of the first over the others' fastest by its median: the median of the rounds' ratios.

    Its interval covers 95 %, or all rounds where there are fewer than six. None if there is nothing to compare.
    """
    ours, *others = times
    fastest = min((peer for peer in others if peer.ms), key=lambda peer: peer.ms or 0.0, default=None)
    if fastest is None or not fastest.ms or not ours.ms:
        return None
    ratios = [theirs / own for own, theirs in zip(ours.rounds, fastest.rounds, strict=True)]
    ratios = ratios or [fastest.ms / ours.ms]  # older versions measured once
    interval = median_interval(ratios)
    return Ratio(median(ratios), interval.low, interval.high)
