"""The results of a run at a glance: the times, and how the work time was spent."""

from __future__ import annotations

from html import escape
from pathlib import Path

from experiments.report.facts import Facts
from experiments.report.html import Section, note, paragraph, table
from experiments.search.result_table import HEADER, Cells, result_notes, result_rows
from experiments.search.summary import Summary
from experiments.values.objective import TIME
from experiments.values.sought import describe_value
from experiments.words import (
    describe_bytes,
    describe_count,
    describe_ms,
    describe_percent,
    describe_plan,
    describe_seconds,
)

MOST_ARRAYS, MOST_LINES = 8, 12
"""The most arrays, and lines of a plan, that the overview shows."""


def section(facts: Facts) -> Section:
    """Return the section with the main numbers, the table with the baselines, and notes."""
    summary = facts.summary
    rows = result_rows(summary)
    body = (
        _tiles(summary, rows[-1])
        + table(rows, HEADER, (1, 2, 3), strong=(len(rows) - 1,))
        + note(" ".join(result_notes(summary)))
    )
    body += paragraph(size(facts)) + _decisions(facts) + paragraph(spent(summary) + reused(facts))
    return Section("overview", "Overview", "Overview", body)


def size(facts: Facts) -> str:
    """Return the problem size in words: named sizes, if any, arrays with their extents, types and total bytes."""
    subject = facts.info.subject
    sizes = ", ".join(f"{name} = {value}" for name, value in subject.sizes)
    arrays = [array for array in subject.contract.arrays if array.extents and array.role != "temp"]
    types = " and ".join(sorted({array.type for array in arrays}))
    listed = ", ".join(f"{array.name}[{']['.join(map(str, array.extents))}]" for array in arrays[:MOST_ARRAYS])
    more = f" and {len(arrays) - MOST_ARRAYS} more" if len(arrays) > MOST_ARRAYS else ""
    return (f"Problem size: {f'{sizes}; ' if sizes else ''}{listed}{more} ({types}), "
            f"{describe_bytes(sum(array.bytes for array in arrays))} in all.")


def _decisions(facts: Facts) -> str:
    """Return the decisions of the best plan, one line per kernel."""
    if facts.best is None:
        return ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in describe_plan(facts.best.evaluation.plan)[:MOST_LINES])
    return f"<h3>The winning decisions (evaluation {facts.best.evaluation.number})</h3><ul class=\"plan\">{lines}</ul>"


def reused(facts: Facts) -> str:
    """Return how many outcomes come from other runs; empty if none does."""
    sources = [result.reused_from for result in facts.results if result.reused_from]
    if not sources:
        return ""
    names = ", ".join(sorted({Path(source).name for source in sources}))
    return f" {len(sources):,} outcomes were not measured but taken from {names}."


def _tiles(summary: Summary, best: Cells) -> str:
    failed = sum(count for kind, count in summary.outcomes.items() if kind != "timed")
    total = sum(summary.outcomes.values())
    _, time, over_sequential, over_default = best
    tiles = (
        *_objective_tile(summary),
        (f"{'best' if summary.objective == TIME else 'its'} time, on the device", time, _interval(summary)),
        ("over the default plan", over_default, f"default {describe_ms(summary.default_ms)}"),
        ("over sequential C", over_sequential, f"sequential {describe_ms(summary.sequential_ms)}"),
        (
            "evaluations",
            f"{summary.evaluations:,}",
            f"{failed:,} of {total:,} plans failed" if failed else "none failed",
        ),
    )
    return '<div class="tiles">' + "".join(
        f'<div class="tile"><div class="what">{escape(what)}</div><div class="value">{escape(value)}</div>'
        f'<div class="what">{escape(more)}</div></div>' for what, value, more in tiles) + "</div>"


def _objective_tile(summary: Summary) -> tuple[tuple[str, str, str], ...]:
    """Return the value of the objective; empty if it is the time."""
    if summary.objective == TIME:
        return ()
    value, default = (describe_value(v) for v in (summary.best_value, summary.default_value))
    return ((f"{'most' if summary.objective_higher else 'least'} {summary.objective}", value, f"default {default}"),)


def _interval(summary: Summary) -> str:
    if summary.best_low_ms is None:
        return "nothing valid was found"
    return f"95 % interval {describe_ms(summary.best_low_ms)} to {describe_ms(summary.best_high_ms)}"


def spent(summary: Summary) -> str:
    """Return how the search ended, its extent, and the fractions of the work time."""
    shares = summary.shares
    how = {None: "still at work, or killed", "finished": "finished", "exhausted": "finished: the space is used up",
           "interrupted": "interrupted"}[summary.ending]
    why = f": {summary.reason}" if summary.ending == "finished" and summary.reason else ""
    counts = f"{describe_count(summary.evaluations, 'evaluation')} in {describe_count(summary.iterations, 'iteration')}"
    what = (
        f"The run is {how}{why}. {counts} by the explorer {summary.explorer} (space {summary.space}, seed "
        f"{summary.seed}) took {describe_seconds(summary.elapsed_s)}."
    )
    if not any((shares.generate, shares.compile, shares.check, shares.time)):
        return what
    return what + (
        f" Work: generate {describe_percent(shares.generate)}, compile {describe_percent(shares.compile)}, check "
        f"{describe_percent(shares.check)}, "
        f"time {describe_percent(shares.time)}."
    )
