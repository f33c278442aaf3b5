"""The best plans of all lanes of an entry, measured in turns: only times of the same sittings are compared.

First the candidates of each lane are measured together, and the best of each lane is chosen. Then the chosen plans, the
default plan and the guests (plans that no search has to find) are measured again, so that the luck of the chosen ones
does not bias their times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from experiments.search.finals import finalists, times_of
from experiments.search.sittings import hold_sittings
from experiments.values.records import Result
from generator.plan import Plan
from metrics.finals import SittingTimes, standings
from metrics.outcome import Failed, Outcome, Timed, cost_ms
from runners.base import Job, Runner

CANDIDATES = 3
"""The number of plans of a lane that may be its best."""
CHOOSING, MEASURING = 3, 6
"""The number of sittings to choose the best plan of each lane, and to measure the chosen ones."""
LIMIT_S = 60.0
"""The time in seconds after which a series of sittings ends early."""
DEFAULT = 0

Numbers: TypeAlias = tuple[int | None, ...]
"""Plans by number; None if no plan works."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements: `plans` by number (0 is the default plan), the `best` of each lane, and that of each of the
    `teams`.

    `guests` maps the names of guests to their numbers, None for one that fails; `failures` then has its outcome, if
    any.
    """

    plans: tuple[Plan, ...]
    best: Numbers
    sittings: tuple[SittingTimes, ...]
    teams: Numbers = ()
    guests: Mapping[str, int | None] = field(default_factory=dict)
    failures: Mapping[str, Failed] = field(default_factory=dict)


def measure(runner: Runner, lanes: Sequence[Sequence[Result]], guests: Mapping[str, Plan],
            teams: Sequence[Sequence[int]] = (), seed: int = 0) -> Measured:
    """Measure the best plan of each lane, given by its results, and the default plan (evaluation 0 of a lane).

    Working `guests` are measured with them. `teams` are lists of lanes, by index, for which the best plan of all their
    lanes is chosen.
    """
    default = next(result for results in lanes for result in results if result.evaluation.number == DEFAULT)
    numbers: dict[Plan, int] = {default.evaluation.plan: DEFAULT}
    candidates = [[numbers.setdefault(r.evaluation.plan, len(numbers)) for r in finalists(results, CANDIDATES)]
                  for results in lanes]
    asked = {name: numbers.setdefault(plan, len(numbers)) for name, plan in guests.items()}
    plans = tuple(numbers)
    tried = {name: default.outcome if n == DEFAULT else _outcome(runner, plans, n) for name, n in asked.items()}
    best, of_teams = _best(runner, plans, candidates, teams, seed)
    fine = {name: n if isinstance(tried[name], Timed) else None for name, n in asked.items()}
    first = None if cost_ms(default.outcome) is None else DEFAULT
    wanted = sorted({n for n in (*best, first, *fine.values()) if n is not None})
    sittings = _sit(runner, plans, wanted, seed + 1, MEASURING)
    return Measured(plans, best, sittings, of_teams, fine,
                    {name: outcome for name, outcome in tried.items() if not isinstance(outcome, Timed)})


def _outcome(runner: Runner, plans: Sequence[Plan], number: int) -> Outcome:
    """Return the outcome of a plan that was never run; a sitting would time it without checking its results."""
    (_, outcome), = runner.evaluate([Job(number, plans[number])])
    return outcome


def _best(runner: Runner, plans: Sequence[Plan], candidates: Sequence[Sequence[int]], teams: Sequence[Sequence[int]],
          seed: int) -> tuple[Numbers, Numbers]:
    """Return the best candidate of each lane and team: measured if there is a choice, by the search's times if that
    fails.
    """
    in_teams = {n for team in teams for lane in team for n in candidates[lane]}
    several = {n for some in (*candidates, in_teams) if len(some) > 1 for n in some}
    sittings = _sit(runner, plans, sorted(several), seed, CHOOSING)

    def best_of(some: Sequence[int]) -> int | None:
        shared = [{n: ms for n, ms in times.items() if n in some} for times in sittings]
        found = standings(shared) if len(some) > 1 else ()
        return found[0].number if found else next(iter(some), None)

    best = tuple(best_of(some) for some in candidates)
    of_teams = [dict.fromkeys(n for lane in team if (n := best[lane]) is not None) for team in teams]
    return best, tuple(best_of(list(some)) for some in of_teams)


def _sit(runner: Runner, plans: Sequence[Plan], numbers: Sequence[int], seed: int,
         count: int) -> tuple[SittingTimes, ...]:
    jobs = [Job(n, plans[n]) for n in numbers]
    return tuple(times_of(outcomes) for outcomes in hold_sittings(runner, jobs, seed, count, LIMIT_S))


def time_ms(sittings: Sequence[Mapping[int, Sequence[float]]], number: int) -> float | None:
    """Return the median, over the sittings, of a plan's median time; None if it took part in none."""
    from metrics.statistics import median

    medians = [median(times[number]) for times in sittings if times.get(number)]
    return median(medians) if medians else None
