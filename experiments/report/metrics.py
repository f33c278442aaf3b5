"""Metrics of the kernels from the static model and a profiler: best plan against default plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from experiments.pictures.stills import Still
from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, nothing, table
from experiments.report.pairs import Pair, draw, figure
from experiments.report.plotly import axis
from experiments.values.records import Result
from experiments.words import command, describe_ms
from metrics.outcome import NoProfile, Profile, program_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values = Mapping[str, float]


def section(facts: Facts) -> Section:
    """Return the section with the program's metrics as a chart, each kernel's in a table, and the profiler's counters,
    if any.
    """
    title, (default, best) = "Metrics of the kernels", _programs(facts)
    if not default and not best:
        body = nothing("No metric is known: nothing valid was timed, or the device computes its times without a model.")
    else:
        body = _figure(default, best) + _kernels(facts)
        body += note(
            "Every metric is between 0 and 1, 1 being the device's peak or the ideal; they come from the text of the "
            "kernels, without running them. In the figure the mean over the kernels, weighted by their times."
        )
    return Section("metrics", "Metrics", title, body + _counted(facts))


def _programs(facts: Facts) -> tuple[Values, Values]:
    return dict(program_metrics(kernels_of(facts, facts.default))), dict(program_metrics(kernels_of(facts, facts.best)))


def _names(*given: Values) -> list[str]:
    return list(dict.fromkeys(name for values in given for name in values))


def _pairs(default: Values, best: Values) -> list[Pair]:
    return [Pair(name.replace("_", " "), default.get(name), best.get(name)) for name in _names(default, best)]


def _figure(default: Values, best: Values) -> str:
    return figure("metrics", "metrics of the default and the best plan", _pairs(default, best),
                  axis("", range=[-0.02, 1.04], fixedrange=True, zeroline=False), "%{x:.2f}")


def _kernels(facts: Facts) -> str:
    """Return a table with a row for each kernel of either plan."""
    plans = [(plan, kernel) for plan, result in (("default", facts.default), ("best", facts.best))
             if result is not None for kernel in kernels_of(facts, result)]
    if facts.default is facts.best:
        plans = [(plan, kernel) for plan, kernel in plans if plan == "best"]
    names = _names(*(dict(kernel.metrics) for _, kernel in plans))
    rows = [
        (
            plan,
            " ".join(kernel.statements),
            describe_ms(kernel.median_ms),
            *(_value(dict(kernel.metrics), n) for n in names),
        )
        for plan, kernel in plans
    ]
    header = ("plan", "kernel", "time", *(name.replace("_", " ") for name in names))
    return table(rows, header, range(2, len(header)))


def _value(values: Values, name: str) -> str:
    return f"{values[name]:.2f}" if name in values else "-"


def _counted(facts: Facts) -> str:
    """Return the profiler's counters for both plans, or a note on how to get them."""
    pairs = [
        (plan, result) for plan, result in (("default", facts.default), ("best", facts.best)) if result is not None
    ]
    rows, names, source, trouble = _counted_rows(facts, pairs)
    if rows:
        return f"<h3>Counted by {escape(source)}</h3>" + table(
            rows, ("plan", "kernel", *(name.replace("_", " ") for name in names)), range(2, 2 + len(names))
        )
    directory = command("profile", facts.directory)
    return note(
        f"Nothing was counted by a profiler{f' ({trouble})' if trouble else ''}; `{directory}` does that where the "
        f"device "
        "has counters."
    )


def _counted_rows(facts: Facts, pairs: Sequence[tuple[str, Result]]) -> tuple[list[list[str]], list[str], str, str]:
    found, source, trouble = [], "", ""
    for plan, result in pairs:
        match facts.counted.get(result.evaluation.number):
            case Profile(who, kernels):
                source = who
                found += [(plan, statements, dict(values)) for statements, values in kernels]
            case NoProfile(message):
                trouble = message
            case None:
                pass
    names = _names(*(values for _, _, values in found))
    return (
        [[plan, " ".join(statements), *(_value(values, name) for name in names)] for plan, statements, values in found],
        names,
        source,
        trouble,
    )


def still(facts: Facts) -> Still | None:
    """Return the chart as a picture; None without metrics."""
    pairs = _pairs(*_programs(facts))
    return (
        Still("metrics", lambda axes: _draw(axes, pairs), (8, 1.5 + 0.35 * len(pairs)), legend=True) if pairs else None
    )


def _draw(axes: Axes, pairs: Sequence[Pair]) -> None:
    draw(axes, pairs, "", "Metrics (1: the device's peak, or the ideal)")
    axes.set_xlim(-0.02, 1.04)
