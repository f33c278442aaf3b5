"""The end of a run: its best plans are measured again, in turns, and the winner of that is the winner of the run.

A search compares times that were taken minutes apart, on a machine that does other things too, and keeps the lowest:
that is as much the luckiest as the fastest. So the few that may be the best sit together (see `metrics.finals`), in
process after process, until one is the winner, the rest is no worse to speak of, or the time is up. Where the objective
is not the time, what they are compared by is the objective at the times of the sittings. The search never sees any of
it. Each sitting is stored as a whole; a run that is resumed holds its final again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from experiments.store import Store
from experiments.store.finals_table import Final
from experiments.values.records import Result, best_of
from experiments.values.sought import BY_TIME, Sought
from metrics.finals import SittingTimes, Standing, decided, hopeless, standings
from metrics.outcome import Outcome, Timed, cost_ms
from runners.base import Job, Runner, Sitting

NEAR = 1.25
"""A plan is a candidate when its time was at most so many times the best, or its interval overlaps the best one's."""
SITTING_S = 1.0
MOST_SITTINGS = 24
GUEST_SITTINGS = 3
FEWEST_SITTINGS = 2
"""One process alone proves nothing: then the search's own times are as good."""


@dataclass(frozen=True, slots=True)
class FinalLimits:
    """When a final ends: about `seconds` after the first sitting, for which all had to be compiled again,
    or with the sitting during which `stop` becomes true.
    """

    seconds: float
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of the latest final: the finalists in order, the winner first, and the number of sittings.

    `failed` are the evaluations that failed in a sitting, with the reasons.
    """

    standings: tuple[Standing, ...]
    sittings: int
    failed: Mapping[int, Outcome]

    @property
    def tied(self) -> tuple[Standing, ...]:
        """The winner, and what cannot be told from it."""
        return tuple(entry for entry in self.standings if entry.tied)


def finalists(results: Sequence[Result], most: int, sought: Sought = BY_TIME) -> tuple[Result, ...]:
    """The plans that may be the best, the apparently best first: at most `most`, each code once."""
    timed = [(judged.outcome, r) for judged, r in zip(sought.judged(results), results, strict=True)
             if isinstance(judged.outcome, Timed)]
    timed.sort(key=lambda entry: (entry[0].median_ms, entry[1].evaluation.number))
    chosen: dict[str, Result] = {}
    for outcome, result in timed:
        best = timed[0][0]
        if outcome.low_ms <= best.high_ms or outcome.median_ms <= NEAR * best.median_ms:
            chosen.setdefault(outcome.code_hash, result)
    return tuple(chosen.values())[:most]


def hold_final(store: Store, runner: Runner, most: int, seed: int, limits: FinalLimits,
               sought: Sought = BY_TIME) -> None:
    """Measure the finalists of the run in turns, and store each sitting. Nothing happens without a valid plan."""
    results = store.results()
    chosen = finalists(results, most, sought)
    if not chosen:
        return
    final = store.finals.begin()
    for number, outcomes in enumerate(sit(runner, chosen, results[0], seed, limits, sought)):
        store.finals.add_sitting(final, number, outcomes)


def sit(runner: Runner, chosen: Sequence[Result], default: Result, seed: int, limits: FinalLimits,
        sought: Sought = BY_TIME) -> Iterator[Mapping[int, Outcome]]:
    """Yield the outcomes of one sitting after the other, by evaluation, until a winner is found or the time is up.

    Who fails, or is far behind, need not sit again. The default plan (if `default` is that) is a guest of the first
    sittings, so that its time can be compared with the winner's.
    """
    jobs = [_job(result) for result in chosen]
    guests = (
        [] if default in chosen or default.evaluation.number or cost_ms(default.outcome) is None else [_job(default)]
    )
    sittings: list[SittingTimes] = []
    begin = 0.0
    while jobs and len(sittings) < MOST_SITTINGS:
        outcomes = dict(runner.remeasure([*jobs, *guests], Sitting(seed, len(sittings), SITTING_S)))
        yield outcomes
        sittings.append(_costs((*chosen, default), outcomes, sought))
        begin = time.monotonic() if len(sittings) == 1 else begin
        if decided(sittings) or limits.stop() or _next_ends_s(time.monotonic() - begin, len(sittings)) > limits.seconds:
            return
        out = hopeless(sittings) | {number for number in outcomes if number not in sittings[-1]}
        jobs = [job for job in jobs if job.number not in out]
        guests = [job for job in guests if job.number in sittings[-1] and len(sittings) < GUEST_SITTINGS]


def _next_ends_s(elapsed_s: float, count: int) -> float:
    """Where `count` sittings, the first of which does not count, took `elapsed_s`: when the next one would end."""
    return elapsed_s * count / (count - 1) if count > 1 else 0.0


def _job(result: Result) -> Job:
    return Job(result.evaluation.number, result.evaluation.plan)


def ranking(results: Sequence[Result], final: Final, sought: Sought = BY_TIME) -> Ranking | None:
    """Return the result of `final` for a run with these results.

    None without a final of at least `FEWEST_SITTINGS`, when nobody was left at its end, or when a plan was found since
    that looked better than all that took part.
    """
    best = best_of(sought.judged(results))
    if best is None or len(final) < FEWEST_SITTINGS or best.evaluation.number not in final[0]:
        return None
    found = standings([_costs(results, outcomes, sought) for outcomes in final])
    if not sought.objective.is_time:  # the order and the ratios are the objective's
        by_time = {entry.number: entry for entry in standings([times_of(outcomes) for outcomes in final])}
        found = tuple(replace(entry, median_ms=(ms := by_time[entry.number]).median_ms, low_ms=ms.low_ms,
                              high_ms=ms.high_ms) for entry in found)
    failed = {number: outcome for outcomes in final for number, outcome in outcomes.items()
              if not isinstance(outcome, Timed)}
    return Ranking(found, len(final), failed) if found else None


def winner(results: Sequence[Result], ranked: Ranking | None, sought: Sought = BY_TIME) -> Result | None:
    """The best plan of the run: the winner of its final, else the one with the best time, or other objective."""
    best = best_of(sought.judged(results)) if ranked is None else None
    if ranked is None and best is None:
        return None
    number = ranked.standings[0].number if ranked else best.evaluation.number if best else -1
    return next(r for r in results if r.evaluation.number == number)


def settled(results: Sequence[Result], final: Final, ranked: Ranking | None) -> Mapping[int, Timed]:
    """The outcomes of the finalists as their final says, by evaluation; what it does not measure (the metrics) is from
    the search.

    Empty where `ranked`, which is the `ranking` of it, says that the final does not count.
    """
    standing = {entry.number: entry for entry in ranked.standings} if ranked else {}
    return {
        number: _settled(result.outcome, standing[number], [times[number] for times in final if number in times])
        for result in results
        if isinstance(result.outcome, Timed) and (number := result.evaluation.number) in standing
    }


def _settled(first: Timed, standing: Standing, sittings: Sequence[Outcome]) -> Timed:
    timed = [outcome for outcome in sittings if isinstance(outcome, Timed)]
    kernels = tuple(
        replace(kernel, median_ms=median([outcome.kernels[place].median_ms for outcome in timed]))
        for place, kernel in enumerate(first.kernels)
        if all(len(o.kernels) == len(first.kernels) for o in timed)
    )
    return replace(first, median_ms=standing.median_ms, low_ms=standing.low_ms, high_ms=standing.high_ms,
                   samples_ms=tuple(ms for outcome in timed for ms in outcome.samples_ms),
                   host_ms=median([outcome.host_ms for outcome in timed]), kernels=kernels or first.kernels)


def _costs(results: Sequence[Result], outcomes: Mapping[int, Outcome], sought: Sought) -> SittingTimes:
    """The times of a sitting as costs; who has none in it did not take part.

    Costs are relative to the lowest one above 0, because `metrics.finals` takes what is below a picosecond for equal.
    """
    if sought.objective.is_time:
        return times_of(outcomes)
    costs: dict[int, tuple[float, ...]] = {}
    for result in results:
        sat = outcomes.get(result.evaluation.number)
        if isinstance(result.outcome, Timed) and isinstance(sat, Timed):
            timed = replace(result.outcome, host_ms=sat.host_ms)
            costs[result.evaluation.number] = sought.costs(result.evaluation.plan, timed, sat.samples_ms)
    least = min((cost for found in costs.values() for cost in found if cost > 0), default=1.0)
    return {number: [cost / least for cost in found] for number, found in costs.items() if found}


def times_of(outcomes: Mapping[int, Outcome]) -> SittingTimes:
    """The samples of those that were timed."""
    return {number: outcome.samples_ms for number, outcome in outcomes.items() if isinstance(outcome, Timed)}
