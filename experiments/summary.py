"""What a run came to, and the files that scripts rely on: summary.json, results.csv, best.json.

They are functions of the store, written again after every session, also when nothing valid was found.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from experiments.files import write_atomically
from experiments.outcome_rows import kind_of
from experiments.records import Ending, Result, RunInfo, best_of, speedup
from experiments.store import Store
from metrics.outcome import Timed, cost_ms, program_metrics

RESULTS_HEADER = ("evaluation", "iteration", "ant", "status", "median_ms", "best_so_far_ms", "plan")


@dataclass(frozen=True, slots=True)
class Shares:
    """How the worker time was spent, as fractions of its total (all 0 when nothing was measured)."""

    generate: float
    compile: float
    check: float
    time: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The run in numbers: times in milliseconds, None when there is no valid value.

    `evaluations` does not count the default plan, `outcomes` counts it. `best_plan` is a Plan's digest. The metrics are
    the program's: means over its kernels, weighted by their times (see `metrics.static_model`); empty where unknown.
    """

    name: str
    file: str
    device: str
    ending: Ending | None
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


def summarize(store: Store) -> Summary:
    """The summary of what is in the store now."""
    info, results = store.info(), store.results()
    best = best_of(results)
    sequential_ms = median(info.sequential_ms) if info.sequential_ms else None
    default = next((r for r in results if r.evaluation.number == 0), None)
    default_ms = cost_ms(default.outcome) if default else None
    low_ms, high_ms = _interval(best)
    best_ms = cost_ms(best.outcome) if best else None
    options = info.options
    return Summary(
        info.program.name, options.file, info.device.name, store.ending(), sequential_ms, default_ms, best_ms,
        low_ms, high_ms, best.evaluation.number if best else None, best.evaluation.plan.digest if best else None,
        speedup(sequential_ms, best_ms), speedup(default_ms, best_ms),
        sum(r.evaluation.number > 0 for r in results), store.iterations(),
        dict(sorted(Counter(kind_of(r.outcome) for r in results).items())), store.elapsed_s(),
        shares_of(results), options.explorer, options.space, options.seed, _metrics(default), _metrics(best))


def _interval(best: Result | None) -> tuple[float | None, float | None]:
    if best is None:
        return None, None
    return getattr(best.outcome, "low_ms", None), getattr(best.outcome, "high_ms", None)


def _metrics(result: Result | None) -> dict[str, float]:
    if result is None or not isinstance(result.outcome, Timed):
        return {}
    return dict(program_metrics(result.outcome.kernels))


def shares_of(results: Sequence[Result]) -> Shares:
    """How the time of all evaluations was spent."""
    spent = [r.outcome.durations for r in results]
    sums = (sum(d.generate_s for d in spent), sum(d.compile_s for d in spent), sum(d.check_s for d in spent),
            sum(d.time_s for d in spent))
    total = sum(sums)
    return Shares(*(part / total if total else 0.0 for part in sums))


def results_csv(results: Sequence[Result]) -> str:
    """One line per evaluation in ask order; times in milliseconds, empty where there is none."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(RESULTS_HEADER)
    best_ms: float | None = None
    for result in results:
        asked, ms = result.evaluation, cost_ms(result.outcome)
        best_ms = ms if best_ms is None or (ms is not None and ms < best_ms) else best_ms
        rows.writerow([asked.number, asked.iteration, asked.ant, kind_of(result.outcome), "" if ms is None else ms,
                       "" if best_ms is None else best_ms, asked.plan.to_json()])
    return text.getvalue()


def write_summary(store: Store, directory: Path) -> Summary:
    """Write summary.json and results.csv, and best.json when something valid was found."""
    summary, results = summarize(store), store.results()
    write_atomically(directory / "summary.json", json.dumps(asdict(summary), indent=2) + "\n")
    write_atomically(directory / "results.csv", results_csv(results))
    if best := best_of(results):
        write_atomically(directory / "best.json", best.evaluation.plan.to_json() + "\n")
    return summary


def reproduce_command(info: RunInfo) -> str:
    """The shell command that makes this run again."""
    options, compilation = info.options, info.options.compilation
    words = ["antune", "tune", options.file]
    for flag, values in (("-I", compilation.include_dirs), ("-D", compilation.defines),
                         ("--source", compilation.sources),
                         ("--param", tuple(f"{name}={value}" for name, value in options.parameters))):
        for value in values:
            words += [flag, value]
    if compilation.cflags:
        words.append("--cflags=" + shlex.join(compilation.cflags))
    single = (("--function", options.function), ("--scop", options.scop), ("--explorer", options.explorer),
              ("--ants", options.ants), ("--iterations", options.budget.iterations),
              ("--evaluations", options.budget.evaluations), ("--minutes", options.budget.minutes),
              ("--seed", options.seed), ("--device", options.device), ("--space", options.space),
              ("--level", options.level))
    for flag, single_value in single:
        if single_value is not None:
            words += [flag, str(single_value)]
    if options.strict_float:
        words.append("--strict-float")
    return shlex.join(words)
