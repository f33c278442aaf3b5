"""The times of the kernels: default plan against best plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.pictures.stills import Still, log_scale
from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, nothing, table
from experiments.report.pairs import Pair, draw, figure
from experiments.report.plotly import log_axis
from experiments.values.records import speedup
from experiments.words import describe_ms, describe_percent, describe_ratio
from generator.errors import IllegalPlan
from generator.polyhedral.kit.limited import ChildError, limited
from generator.schedules.hyperplanes import Hyperplanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from generator.lowering.analysis.parallelism import Parallelism

WHOLE = "all kernels"
MOST_NAMED = 8
"""A kernel with more statements than this has a shortened name; kernels of pipelines can have a hundred statements."""


def compared(facts: Facts) -> tuple[Pair, ...]:
    """Return the kernels with their times in ms in both plans, the default plan's kernels first, the totals last."""
    default = {kernel.statements: kernel.median_ms for kernel in kernels_of(facts, facts.default)}
    best = {kernel.statements: kernel.median_ms for kernel in kernels_of(facts, facts.best)}
    names = named(list(dict.fromkeys([*default, *best])))
    kernels = [Pair(name, default.get(statements), best.get(statements)) for statements, name in names.items()]
    if not kernels:
        return ()
    whole = Pair(WHOLE, facts.summary.default_ms, facts.summary.best_ms)
    return (*kernels, whole)


def named(kernels: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return names by statements. Long names are shortened to the first three statements, the last and their number,
    unless two kernels would have the same name.
    """
    whole = {statements: " ".join(statements) for statements in kernels}
    short = {statements: name if len(statements) <= MOST_NAMED else
             f"{' '.join(statements[:3])} \N{HORIZONTAL ELLIPSIS} {statements[-1]} ({len(statements)} statements)"
             for statements, name in whole.items()}
    return short if len(set(short.values())) == len(short) else whole


def section(facts: Facts) -> Section:
    """Return the section with the chart and the table, or with the reason why there is none."""
    title, rows = "Kernels before and after", compared(facts)
    if not rows:
        return Section("kernels", "Kernels", title, nothing(
            "No time of a kernel is known: nothing valid was timed, or the device has no kernels."))
    lines = [(row.name, describe_ms(row.default), describe_ms(row.best), describe_ratio(
        facts.summary.speedup_over_default if row.name == WHOLE else speedup(row.default, row.best))) for row in rows]
    body = _figure(rows) + table(
        lines, ("kernel", "default plan", "best plan", "faster"), (1, 2, 3), strong=(len(lines) - 1,)
    )
    body += note(
        "Median time on the device of all launches of a kernel in one run of the program, and of all of them "
        "together. A "
        "kernel is named by its statements; one that only one plan has was split or fused by the other."
    )
    return Section("kernels", "Kernels", title, body + _launches(facts))


def _launches(facts: Facts) -> str:
    """Return a table of how much of a GPU the launches of the best plan fill, if it has explicit rows: launches of
    skewed loops differ. Nothing for other plans.
    """
    plan = facts.best.evaluation.plan if facts.best is not None else None
    if plan is None or not isinstance(plan.schedule, Hyperplanes):
        return ""
    from generator.lowering.analysis.parallelism import parallelism  # takes a while to import

    program = facts.info.program
    try:
        text = limited(lambda: json.dumps(_rows(parallelism(program, plan))), "counting blocks and threads")
    except (IllegalPlan, ChildError) as error:  # a stored plan may be of another version
        return note(f"How many blocks and threads of the best plan's launches have work is unknown: {error}.")
    head = ("kernel", "launches", "blocks: min", "median", "max", "in launches", "busy threads", "active in a diagonal")
    return table(json.loads(text), head, range(1, len(head))) + note(
        "Work of the best plan's launches: blocks with work in a launch that has any, and in how many launches "
        "they were counted; threads with work at the same time, on average over all launches; the share of a block's "
        "threads that have a point in a diagonal of its tile."
    )


def _rows(found: Sequence[Parallelism]) -> list[tuple[str, ...]]:
    """Return the cells of the table of launches."""
    rows = list[tuple[str, ...]]()
    names = named([one.statements for one in found])
    for one in found:
        counts = one.counts
        blocks = ("-",) * 4 if counts is None else (
            str(counts.least), f"{counts.median:g}", str(counts.most), str(counts.launches))
        rows.append((names[one.statements], str(one.launches), *blocks, f"{one.total:.0f}",
                     describe_percent(one.active)))
    return rows


def _shown(rows: Sequence[Pair]) -> list[Pair]:
    """Return the rows with values that a logarithmic axis can show."""
    return [Pair(row.name, row.default or None, row.best or None) for row in rows if row.default or row.best]


def _figure(rows: Sequence[Pair]) -> str:
    shown = _shown(rows)
    times = [ms for row in shown for ms in (row.default, row.best) if ms]
    if not times:
        return ""
    return figure("kernels", "times of the kernels in the default and the best plan", shown,
                  log_axis("time [ms]", min(times), max(times)), "%{x:.4g} ms")


def still(facts: Facts) -> Still | None:
    """Return the chart as a picture; None if no kernel has a time."""
    rows = _shown(compared(facts))
    return Still("kernels", lambda axes: _draw(axes, rows), (8, 1.6 + 0.35 * len(rows)), legend=True) if rows else None


def _draw(axes: Axes, rows: Sequence[Pair]) -> None:
    draw(axes, rows, "time [ms]", "Kernels before and after")
    log_scale(axes, "x")
