"""The summary of a run, and the files that scripts read: summary.json, results.csv, best.json.

The files depend on the store only. They are written again after every session, even if no plan was valid.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Literal, TypeAlias

from experiments.files import write_atomically
from experiments.search.finals import Ranking, ranking, settled, winner
from experiments.store import Store
from experiments.values.objective import TIME
from experiments.values.options import Spent
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Ending, Result, speedup
from experiments.values.sought import BY_TIME, Sought, sought_for
from experiments.values.stopping import NO_GAINS, gained
from experiments.words import describe_percent
from generator.errors import InputError
from generator.problem import Baseline
from metrics.finals import Standing
from metrics.outcome import Timed, cost_ms, program_metrics

Verdict: TypeAlias = Literal["winner", "tie", "undecided", "slower", "failed"]
TOO_WIDE = 0.1
"""If tied plans differ by more than this fraction, the machine was too noisy to compare them."""
RESULTS_HEADER = ("evaluation", "iteration", "ant", "status", "median_ms", "best_so_far_ms", "plan", "reused_from")


@dataclass(frozen=True, slots=True)
class Shares:
    """Fractions of the worker time spent in each phase (all 0 when nothing was measured)."""

    generate: float
    compile: float
    check: float
    time: float


@dataclass(frozen=True, slots=True)
class Finalist:
    """A plan that was measured again in the final. `ratio` is its time, or other objective, divided by the winner's
    (see `metrics.finals`); None, as its interval, where one of both was 0.

    `verdict`: the winner, a tie with the winner, slower, undecided (it left early, before it was surely slower), or
    failed. The times of a failed plan are from the sittings before the failure.
    """

    evaluation: int
    plan: str
    median_ms: float
    low_ms: float
    high_ms: float
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class FinalSummary:
    """The outcome of the final, winner first. `ties` is the number of plans tied for first place, the winner included.

    The tied plans differ by at most the fraction `tied_within`, as far as the measurement can tell; None where one of
    them has no ratio. `failed` maps evaluation numbers to what went wrong.
    """

    sittings: int
    ties: int
    tied_within: float | None
    finalists: tuple[Finalist, ...]
    failed: dict[int, str]


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of a run. Times are in milliseconds; None means that there is no valid value.

    After a final, the best plan and the times of the best and the default plan are those of the final (`final`).
    `reason` says why the latest session ended; None if it was killed or is still running. `devices` counts the outcomes
    of each device. `evaluations` excludes the default plan, `outcomes` includes it. `best_plan` is the digest of a
    Plan. Metrics are those of the whole program: means over its kernels, weighted by their times (see
    `metrics.static_model`); empty if unknown.

    Times of plans are device times, except the `wall` times: how long the host waited for all kernels. `objective` is
    what was maximised (if `objective_higher`) or minimised; `default_value` and `best_value` are its values
    (milliseconds if it is the time). `compiler` built the sequential program of `sequential_ms`. `sequential_o3_ms` is
    the time with plain -O3, `openmp_ms` the time with the file's own OpenMP pragmas on `openmp_threads` threads; None
    if there is no such build or if an older version started the run. `products` is the precision that tensor cores were
    allowed to use, `best_products` the one that the best plan uses (`full`: the program's own).
    """

    name: str
    file: str
    device: str
    ending: Ending | None
    reason: str | None
    sequential_ms: float | None
    default_ms: float | None
    best_ms: float | None
    best_low_ms: float | None
    best_high_ms: float | None
    best_evaluation: int | None
    best_plan: str | None
    speedup_over_sequential: float | None
    speedup_over_default: float | None
    evaluations: int
    iterations: int
    outcomes: dict[str, int]
    elapsed_s: float
    shares: Shares
    explorer: str
    space: str
    seed: int
    default_metrics: dict[str, float]
    best_metrics: dict[str, float]
    final: FinalSummary | None
    devices: dict[str, int]
    compiler: str
    sequential_o3_ms: float | None
    openmp_ms: float | None
    openmp_threads: int | None
    openmp_compiler: str | None
    default_wall_ms: float | None
    best_wall_ms: float | None
    objective: str = TIME
    objective_higher: bool = False
    default_value: float | None = None
    best_value: float | None = None
    products: str = "full"
    best_products: str = "full"


def summarize(store: Store) -> Summary:
    """Return the summary of the current contents of the store."""
    info, results = store.info(), store.results()
    final = store.finals.latest()
    sought = sought_for(info.options.objective, info.subject)
    ranked = ranking(results, final, sought)
    best, default = winner(results, ranked, sought), next((r for r in results if r.evaluation.number == 0), None)
    outcomes = settled(results, final, ranked)
    default_time, best_time = _time(default, outcomes), _time(best, outcomes)
    default_ms, best_ms = (time.median_ms if time else None for time in (default_time, best_time))
    sequential_ms = median(info.sequential_ms) if info.sequential_ms else None
    options, others = info.options, {baseline.name: baseline for baseline in info.baselines}
    openmp = others.get("openmp")
    return Summary(
        info.subject.name, options.file, info.device.name, store.ending(), _reason(store, results), sequential_ms,
        default_ms, best_ms, best_time.low_ms if best_time else None, best_time.high_ms if best_time else None,
        best.evaluation.number if best else None, best.evaluation.plan.digest if best else None,
        speedup(sequential_ms, best_ms), speedup(default_ms, best_ms),
        sum(r.evaluation.number > 0 for r in results), _iterations(results),
        dict(sorted(Counter(kind_of(r.outcome) for r in results).items())), store.elapsed_s(),
        shares_of(results), options.explorer, options.space, options.seed, _metrics(default), _metrics(best),
        _final(results, ranked), dict(sorted(Counter(r.outcome.device for r in results if r.outcome.device).items())),
        info.compiler, _baseline_ms(others.get("o3")), _baseline_ms(openmp), openmp.threads if openmp else None,
        openmp.compiler if openmp else None, default_time.host_ms if default_time else None, best_time.host_ms
        if best_time else None, sought.objective.text, sought.objective.higher, _value(sought, default, default_time),
        _value(sought, best, best_time), options.products, _products(best))


def _value(sought: Sought, result: Result | None, timed: Timed | None) -> float | None:
    """Return the objective of a result with the times `timed`; None if it has no value."""
    with suppress(InputError):
        return None if result is None or timed is None else sought.value(result.evaluation.plan, timed)
    return None


def _products(best: Result | None) -> str:
    """Return the precision of the products in the best plan, such as `fp16`; `full` if no kernel lowers it."""
    kernels = best.evaluation.plan.kernels if best else ()
    return next((kernel.products for kernel in kernels if kernel.products != "full"), "full")


def _baseline_ms(baseline: Baseline | None) -> float | None:
    return median(baseline.samples_ms) if baseline and baseline.samples_ms else None


def _reason(store: Store, results: Sequence[Result]) -> str | None:
    """Return why the latest session ended, computed again from the results."""
    match store.ending():
        case "finished":
            info = store.info()
            judged = sought_for(info.options.objective, info.subject).judged(results)
            gains = gained(NO_GAINS, ((r.evaluation.number, r.outcome) for r in judged))
            spent = Spent(sum(r.evaluation.number > 0 for r in results), _iterations(results), store.elapsed_s(), gains)
            budget = store.budget()
            reached = budget.reached(spent)
            # time passes even if no result arrives
            return reached or (budget.time_is_up if budget.minutes else None)
        case "exhausted":
            return "every plan was tried"
        case "interrupted":
            return "it was asked to stop" if results else "nothing was measured"
        case None:
            return None


def _iterations(results: Sequence[Result]) -> int:
    """Return the number of iterations with results: one that was asked ahead has none if the run ends before it."""
    return len({result.evaluation.iteration for result in results} - {0})


def best_result(results: Sequence[Result], summary: Summary) -> Result | None:
    """Return the result that the summary names as the best."""
    return next((r for r in results if r.evaluation.number == summary.best_evaluation), None)


def _time(result: Result | None, final: Mapping[int, Timed]) -> Timed | None:
    """Return the times of a result: those of the final if it took part, else those of its own evaluation."""
    if result is None or not isinstance(result.outcome, Timed):
        return None
    return final.get(result.evaluation.number, result.outcome)


def _final(results: Sequence[Result], ranked: Ranking | None) -> FinalSummary | None:
    if ranked is None:
        return None
    plans = {r.evaluation.number: r.evaluation.plan.digest for r in results}
    finalists = tuple(Finalist(s.number, plans[s.number], s.median_ms, s.low_ms, s.high_ms, *_ratios(s),
                               _verdict(s, ranked)) for s in ranked.standings)
    tied = ranked.tied
    within = max(s.ratio_high for s in tied) - 1 if all(s.has_ratio for s in tied) else None
    failed = {number: f"{kind_of(outcome).replace('_', ' ')}: {outcome.message}"
              for number, outcome in ranked.failed.items() if not isinstance(outcome, Timed)}
    return FinalSummary(ranked.sittings, len(tied), within, finalists, failed)


def _ratios(standing: Standing) -> tuple[float | None, float | None, float | None]:
    return (standing.ratio, standing.ratio_low, standing.ratio_high) if standing.has_ratio else (None, None, None)


def describe_final(final: FinalSummary, objective: str = TIME) -> str:
    """`Measured again in turns, 6 sittings: 2 plans within 0.8 %, a tie (evaluations 12, 7); evaluation 3 is ...`"""
    tied = [str(f.evaluation) for number, f in enumerate(final.finalists) if number == 0 or f.verdict == "tie"]
    head = f"Measured again in turns, {final.sittings} sitting{'s' * (final.sittings > 1)}: "
    if len(tied) == 1:
        words = [f"evaluation {tied[0]} is the {'fastest' if objective == TIME else 'best'}"]
    elif (within := final.tied_within) is None:
        words = [f"{len(tied)} plans could not be told apart (evaluations {', '.join(tied)})"]
    elif within > TOO_WIDE:
        words = [f"{len(tied)} plans could not be told apart in the time (evaluations {', '.join(tied)})"]
    else:
        words = [f"{len(tied)} plans within {describe_percent(within)}, a tie (evaluations {', '.join(tied)})"]
    slower = [f"{f.evaluation} by {describe_percent(f.ratio - 1)}" if f.ratio is not None else str(f.evaluation)
              for f in final.finalists if f.verdict == "slower" and f.evaluation]
    words += [f"{'slower' if objective == TIME else 'worse'}: " + ", ".join(slower)] if slower else []
    failed = [f"evaluation {number} failed now ({message.split(':')[0]})" for number, message in final.failed.items()]
    return head + "; ".join(words + failed)


def _verdict(standing: Standing, ranked: Ranking) -> Verdict:
    if standing.number in ranked.failed:
        return "failed"
    if standing is ranked.standings[0]:
        return "winner"
    if standing.undecided:
        return "undecided"
    return "tie" if standing.tied else "slower"


def _metrics(result: Result | None) -> dict[str, float]:
    if result is None or not isinstance(result.outcome, Timed):
        return {}
    return dict(program_metrics(result.outcome.kernels))


def shares_of(results: Sequence[Result]) -> Shares:
    """Return how the worker time of all evaluations was divided between the phases."""
    spent = [r.outcome.durations for r in results]
    sums = (sum(d.generate_s for d in spent), sum(d.compile_s for d in spent), sum(d.check_s for d in spent),
            sum(d.time_s for d in spent))
    total = sum(sums)
    return Shares(*(part / total if total else 0.0 for part in sums))


def results_csv(results: Sequence[Result], sought: Sought = BY_TIME) -> str:
    """Return one line per evaluation in ask order. Times are in milliseconds, empty if there is none.

    If the objective is not the time, the last column holds its value, and the best so far is the best by the objective.
    """
    text, own = io.StringIO(), not sought.objective.is_time
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*RESULTS_HEADER, *(["objective"] if own else [])])
    best: tuple[float, float] | None = None
    for result, judged in zip(results, sought.judged(results), strict=True):
        asked, ms, cost = result.evaluation, cost_ms(result.outcome), cost_ms(judged.outcome)
        if ms is not None and cost is not None and (best is None or cost < best[0]):
            best = cost, ms
        value = _value(sought, result, result.outcome if own and isinstance(result.outcome, Timed) else None)
        rows.writerow([asked.number, asked.iteration, asked.ant, kind_of(result.outcome), "" if ms is None else ms,
                       "" if best is None else best[1], asked.plan.to_json(), result.reused_from or "",
                       *(["" if value is None else value] if own else [])])
    return text.getvalue()


def write_summary(store: Store, directory: Path) -> Summary:
    """Write summary.json and results.csv, and best.json if a valid plan was found."""
    summary, results = summarize(store), store.results()
    write_atomically(directory / "summary.json", json.dumps(asdict(summary), indent=2) + "\n")
    info = store.info()
    write_atomically(directory / "results.csv",
                     results_csv(results, sought_for(info.options.objective, info.subject)))
    if best := best_result(results, summary):
        write_atomically(directory / "best.json", best.evaluation.plan.to_json() + "\n")
    return summary
