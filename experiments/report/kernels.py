"""The times of the kernels before and after: default plan against best plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.records import speedup
from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, nothing, table
from experiments.report.palette import LIGHT
from experiments.report.plotly import LEGEND, Figure, Json, View, log_axis
from experiments.report.stills import Still, log_scale, plain
from experiments.words import describe_ms, describe_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WHOLE = "all kernels"


@dataclass(frozen=True, slots=True)
class Before:
    """A kernel, by its statements, with its time in both plans; None where a plan has no such kernel."""

    name: str
    default_ms: float | None
    best_ms: float | None


def compared(facts: Facts) -> tuple[Before, ...]:
    """The kernels of both plans in the default's order, those only the best plan has behind, and their sums last."""
    default = {" ".join(kernel.statements): kernel.median_ms for kernel in kernels_of(facts.default)}
    best = {" ".join(kernel.statements): kernel.median_ms for kernel in kernels_of(facts.best)}
    kernels = [Before(name, default.get(name), best.get(name)) for name in dict.fromkeys([*default, *best])]
    if not kernels:
        return ()
    whole = Before(WHOLE, sum(default.values()) if default else None, sum(best.values()) if best else None)
    return (*kernels, whole)


def section(facts: Facts) -> Section:
    """The figure and the table, or why there is none."""
    title, rows = "Kernels before and after", compared(facts)
    if not rows:
        return Section("kernels", "Kernels", title, nothing(
            "No time of a kernel is known: nothing valid was timed, or the device has no kernels."))
    lines = [(row.name, describe_ms(row.default_ms), describe_ms(row.best_ms),
              describe_ratio(speedup(row.default_ms, row.best_ms))) for row in rows]
    body = _figure(rows) + table(lines, ("kernel", "default plan", "best plan", "faster"), (1, 2, 3), strong=(len(lines) - 1,))
    body += note("Median time on the device of all launches of a kernel in one run of the program, when it was first measured. A "
                 "kernel is named by its statements; one that only one plan has was split or fused by the other.")
    return Section("kernels", "Kernels", title, body)


def _figure(rows: Sequence[Before]) -> str:
    shown = [row for row in rows if (row.default_ms or 0) > 0 or (row.best_ms or 0) > 0]
    times = [ms for row in shown for ms in (row.default_ms, row.best_ms) if ms]
    if not times:
        return ""
    traces: list[Json] = []
    if both := [row for row in shown if row.default_ms and row.best_ms]:
        traces.append({"mode": "lines", "x": [ms for row in both for ms in (row.default_ms, row.best_ms, None)],
                       "y": [name for row in both for name in (row.name, row.name, None)],
                       "line": {"color": "@line", "width": 4}, "hoverinfo": "skip", "showlegend": False})
    for plan, values, color in (("default plan", [row.default_ms or None for row in shown], "@base"),
                                ("best plan", [row.best_ms or None for row in shown], "@best")):
        if any(values):
            traces.append({"mode": "markers", "name": plan, "x": values, "y": [row.name for row in shown],
                           "marker": {"size": 12, "color": color}, "hovertemplate": f"{plan}: %{{x:.4g}} ms<extra></extra>"})
    layout = {"xaxis": log_axis("time [ms]", min(times), max(times)),
              "yaxis": {"type": "category", "automargin": True, "autorange": "reversed", "fixedrange": True},
              **LEGEND}
    return Figure("kernels", "times of the kernels in the default and the best plan", (View("", tuple(traces), layout),),
                  110 + 32 * len(shown)).html()


def still(facts: Facts) -> Still | None:
    """The figure as a picture; None where no kernel has a time."""
    rows = [row for row in compared(facts) if row.default_ms or row.best_ms]
    return Still("kernels", lambda axes: _draw(axes, rows), (8, 1.6 + 0.35 * len(rows)), legend=True) if rows else None


def _draw(axes: Axes, rows: Sequence[Before]) -> None:
    plain(axes, "time [ms]", title="Kernels before and after")
    for place, row in enumerate(rows):
        if row.default_ms and row.best_ms:
            axes.plot([row.default_ms, row.best_ms], [place, place], color=LIGHT.line, linewidth=3, zorder=1)
    for plan, values, color in (("default plan", [row.default_ms for row in rows], LIGHT.base),
                                ("best plan", [row.best_ms for row in rows], LIGHT.best)):
        places = [place for place, ms in enumerate(values) if ms]
        axes.plot([ms for ms in values if ms], places, "o", color=color, markersize=9, label=plan)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.invert_yaxis()
    log_scale(axes, "x")
