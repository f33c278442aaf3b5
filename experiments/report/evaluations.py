"""All evaluations in a table that can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report.facts import Facts
from experiments.report.html import Cell, Section, note, nothing, shortened, sortable
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result, speedup
from experiments.words import describe_count, describe_ms, describe_plan, describe_ratio
from metrics.outcome import Timed, cost_ms

MOST_ROWS, LONGEST = 1000, 400
"""The most evaluations in the table, and the most characters of a plan or message."""
HEADER = ("evaluation", "iteration", "outcome", "time", "vs default", "decisions, or why it failed")


def section(facts: Facts) -> Section:
    """Return the section with the table, ordered by time or by the objective; failures come last."""
    title = "All evaluations"
    if not facts.results:
        return Section("evaluations", "Evaluations", title, nothing("No evaluation is finished yet."))
    ordered = sorted(zip(facts.judged, facts.results, strict=True), key=lambda pair: _order(pair[0]))
    own = () if facts.sought.objective.is_time else (facts.sought.axis,)
    rows = [(*_row(facts, result), *_own(facts, judged)) for judged, result in ordered[:MOST_ROWS]]
    body = sortable(rows, (*HEADER, *own), (0, 1, 3, 4, *range(6, 6 + len(own))), f"filter {title.lower()}")
    more = (
        f" These are the first {MOST_ROWS:,} of {describe_count(len(ordered), 'evaluation')} by {facts.sought.noun}; "
        if len(ordered) > MOST_ROWS
        else " "
    )
    return Section(
        "evaluations",
        "Evaluations",
        title,
        body
        + note(
            f"A click on a head sorts. Times, also that of the default plan, are those of the "
            f"search.{more}`results.csv` has all of them, "
            "`antune export DIR --to csv` every decision besides."
        ),
    )


def _order(result: Result) -> tuple[bool, float, int]:
    ms = cost_ms(result.outcome)
    return ms is None, ms or 0.0, result.evaluation.number


def _row(facts: Facts, result: Result) -> Sequence[Cell]:
    evaluation, ms = result.evaluation, cost_ms(result.outcome)
    ratio = speedup(None if facts.default is None else cost_ms(facts.default.outcome), ms)
    name = " (best plan)" if result is facts.best else " (default plan)" if result is facts.default else ""
    return (
        Cell(str(evaluation.number), evaluation.number),
        Cell(str(evaluation.iteration), evaluation.iteration),
        Cell(kind_of(result.outcome).replace("_", " ") + name),
        Cell(describe_ms(ms), ms),
        Cell(describe_ratio(ratio), ratio),
        Cell(_words(result)),
    )


def _own(facts: Facts, judged: Result) -> tuple[Cell, ...]:
    """Return the cost by an objective other than the time; empty for the time."""
    cost = cost_ms(judged.outcome)
    return () if facts.sought.objective.is_time else (Cell(facts.sought.describe(cost), cost),)


def _words(result: Result) -> str:
    outcome = result.outcome
    text = "; ".join(reversed(describe_plan(result.evaluation.plan))) if isinstance(outcome, Timed) else outcome.message
    return shortened(" ".join(text.split()), LONGEST)
