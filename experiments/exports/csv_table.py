"""All evaluations as one CSV table: results.csv with intervals, durations, messages, metrics and decisions."""

from __future__ import annotations

import csv
import io

from experiments.exports.chosen import Chosen
from experiments.exports.flat import rows_of
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result
from experiments.values.sought import own_values, sought_for
from generator.plan import Value
from metrics.outcome import Timed, program_metrics

FACTS = ("evaluation", "iteration", "ant", "status", "median_ms", "low_ms", "high_ms", "host_ms", "samples",
         "generate_s", "compile_s", "check_s", "time_s", "elapsed_s", "finished_at", "device", "plan", "message")
"""The first columns of every table. The columns `metric_...`, `objective` (if it is not the time) and the decisions
(`experiments.exports.flat`) follow.
"""


def csv_files(chosen: Chosen) -> dict[str, str | bytes]:
    """Return the table, by its file name."""
    decisions = rows_of([result.evaluation.plan for result in chosen.results])
    sought = sought_for(chosen.info.options.objective, chosen.info.subject)
    metrics = [{f"metric_{name}": value for name, value in _metrics(result)}
               | dict(zip(("objective",), own_values(sought, result), strict=False)) for result in chosen.results]
    names = dict.fromkeys(name for row in metrics for name in row)
    rows = [_facts(result) | one | two for result, one, two in zip(chosen.results, metrics, decisions, strict=True)]
    text = io.StringIO()
    table = csv.DictWriter(text, (*FACTS, *names, *decisions[0]), restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return {f"{chosen.name}.csv": text.getvalue()}


def _metrics(result: Result) -> tuple[tuple[str, float], ...]:
    return tuple(program_metrics(result.outcome.kernels)) if isinstance(result.outcome, Timed) else ()


def _facts(result: Result) -> dict[str, Value]:
    asked, outcome = result.evaluation, result.outcome
    spent = outcome.durations
    facts: dict[str, Value] = {
        "evaluation": asked.number, "iteration": asked.iteration, "ant": asked.ant, "status": kind_of(outcome),
        "generate_s": spent.generate_s, "compile_s": spent.compile_s, "check_s": spent.check_s, "time_s": spent.time_s,
        "elapsed_s": result.elapsed_s, "finished_at": result.finished_at, "device": outcome.device,
        "plan": asked.plan.digest}
    if isinstance(outcome, Timed):
        return facts | {"median_ms": outcome.median_ms, "low_ms": outcome.low_ms, "high_ms": outcome.high_ms,
                        "host_ms": outcome.host_ms, "samples": len(outcome.samples_ms)}
    return facts | {"message": outcome.message}
