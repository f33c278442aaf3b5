"""The best plans of all lanes of an entry, measured in turns: only times of the same sittings are compared.

First the few that may be the best of each lane sit together, and the best of each lane is chosen. Then those that were
chosen, and the default plan, sit together again: whoever was chosen because it had luck has it only by chance this time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.finals import finalists, times_of
from experiments.records import Result
from experiments.sittings import hold_sittings
from generator.plan import Plan
from metrics.finals import SittingTimes, standings
from metrics.outcome import cost_ms
from runners.base import Job, Runner

CANDIDATES = 3
"""Plans of a lane that may be its best."""
CHOOSING, MEASURING = 3, 6
"""Sittings to choose the best of each lane, and to measure those."""
LIMIT_S = 60.0
"""After that, a round of sittings ends early."""
DEFAULT = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured: `plans` by number (0 is the default plan), the `best` of each lane, or None, and the sittings."""

    plans: tuple[Plan, ...]
    best: tuple[int | None, ...]
    sittings: tuple[SittingTimes, ...]


def measure(runner: Runner, lanes: Sequence[Sequence[Result]], seed: int = 0) -> Measured:
    """Measure the best plan of each lane, of which the results are given, and the default plan (evaluation 0 of each)."""
    numbers: dict[Plan, int] = {lanes[0][0].evaluation.plan: DEFAULT}
    candidates = [[numbers.setdefault(r.evaluation.plan, len(numbers)) for r in finalists(results, CANDIDATES)]
                  for results in lanes]
    plans = tuple(numbers)
    best = _best(runner, plans, candidates, seed)
    default_works = cost_ms(lanes[0][0].outcome) is not None
    wanted = sorted({n for n in best if n is not None} | ({DEFAULT} if default_works else set()))
    return Measured(plans, best, _sit(runner, plans, wanted, seed + 1, MEASURING))


def _best(runner: Runner, plans: Sequence[Plan], candidates: Sequence[Sequence[int]], seed: int) -> tuple[int | None, ...]:
    """The best candidate of each lane: measured where there is a choice, the apparently best one where that fails."""
    several = sorted({n for some in candidates if len(some) > 1 for n in some})
    sittings = _sit(runner, plans, several, seed, CHOOSING)

    def best_of(some: Sequence[int]) -> int | None:
        found = standings([{n: ms for n, ms in times.items() if n in some} for times in sittings]) if len(some) > 1 else ()
        return found[0].number if found else next(iter(some), None)

    return tuple(best_of(some) for some in candidates)


def _sit(runner: Runner, plans: Sequence[Plan], numbers: Sequence[int], seed: int, count: int) -> tuple[SittingTimes, ...]:
    jobs = [Job(n, plans[n]) for n in numbers]
    return tuple(times_of(outcomes) for outcomes in hold_sittings(runner, jobs, seed, count, LIMIT_S))


def time_ms(sittings: Sequence[Mapping[int, Sequence[float]]], number: int) -> float | None:
    """The median, over the sittings, of a plan's median time; None when it took part in none."""
    from metrics.statistics import median

    medians = [median(times[number]) for times in sittings if times.get(number)]
    return median(medians) if medians else None
