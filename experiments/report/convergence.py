"""The convergence chart: every evaluation, the best so far with its interval, and failures, over evaluations or time.

The page does not draw tens of thousands of points. Each stretch of evaluations shows its fastest, median and slowest
plan, and a note says so. The line of the best so far is always complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, log_scale, plain
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing
from experiments.report.plotly import LEGEND, Figure, Json, View, axis, log_axis
from experiments.search.summary import Summary
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result
from experiments.values.sought import BY_TIME, Sought
from metrics.outcome import Failed, Timed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Along: TypeAlias = Literal["evaluations", "time"]
ALONG: tuple[Along, ...] = ("evaluations", "time")
MOST_POINTS, MOST_FAILURES = 2400, 800


@dataclass(frozen=True, slots=True)
class Point:
    """An evaluation: its number, the active seconds of the run when it finished, its time in milliseconds."""

    number: int
    elapsed_s: float
    ms: float


@dataclass(frozen=True, slots=True)
class Step:
    """A new best plan, with the 95 % confidence interval of its median."""

    at: float
    ms: float
    low_ms: float
    high_ms: float
    number: int


@dataclass(frozen=True, slots=True)
class Convergence:
    """The data of the chart along one axis. Positions (`at`) are evaluation numbers or times in units of `unit_s`
    seconds.

    `cloud` and `failures` are subsets of the `timed` and `failed` evaluations; `levels` are reference times. If
    `sought` is another objective than the time, all times are costs.
    """

    along: Along
    unit_s: float
    steps: tuple[Step, ...]
    cloud: tuple[Point, ...]
    failures: tuple[tuple[float, str], ...]
    timed: int
    failed: int
    end: float
    levels: tuple[tuple[str, float], ...]
    sought: Sought = BY_TIME

    def at(self, point: Point) -> float:
        """Return the position of a point along the axis."""
        return float(point.number) if self.along == "evaluations" else point.elapsed_s / self.unit_s

    @property
    def title(self) -> str:
        """The axis label."""
        unit = {1.0: "s", 60.0: "min", 3600.0: "h"}[self.unit_s]
        return "evaluation (0: default plan)" if self.along == "evaluations" else f"active time of the run [{unit}]"


def convergence(results: Sequence[Result], summary: Summary, along: Along = "evaluations",
                sought: Sought = BY_TIME) -> Convergence:
    """Return the data of the chart. Without a timed result it has no steps."""
    last_s = max((result.elapsed_s for result in results), default=0.0)
    unit_s = 1.0 if along == "evaluations" or last_s < 180 else 60.0 if last_s < 10800 else 3600.0
    place: Callable[[Result], float] = (lambda r: float(r.evaluation.number)) if along == "evaluations" else (
        lambda r: r.elapsed_s / unit_s)
    ordered = sorted(sought.judged(results), key=lambda r: (place(r), r.evaluation.number))
    points = [
        Point(r.evaluation.number, r.elapsed_s, r.outcome.median_ms) for r in ordered if isinstance(r.outcome, Timed)
    ]
    failed = [(place(r), _failure_words(r.outcome)) for r in ordered if not isinstance(r.outcome, Timed)]
    levels = _levels(summary, sought)
    return Convergence(along, unit_s, tuple(_steps(ordered, place)), tuple(thinned(points, MOST_POINTS)),
                       tuple(failed[::1 + len(failed) // MOST_FAILURES]), len(points), len(failed),
                       place(ordered[-1]) if ordered else 0.0, levels, sought)


def _levels(summary: Summary, sought: Sought) -> tuple[tuple[str, float], ...]:
    """Return the reference levels: times of the sequential program and the default plan, or the default plan's cost."""
    value = summary.default_value
    if not sought.objective.is_time:
        return (("default plan", 1 / value if sought.objective.higher else value),) if value else ()
    levels = (("sequential C", summary.sequential_ms), ("default plan", summary.default_ms))
    return tuple((name, ms) for name, ms in levels if ms)


def _steps(ordered: Iterable[Result], place: Callable[[Result], float]) -> Iterable[Step]:
    best_ms: float | None = None
    for result in ordered:
        timed = result.outcome
        if isinstance(timed, Timed) and (best_ms is None or timed.median_ms < best_ms):
            best_ms = timed.median_ms
            yield Step(place(result), best_ms, timed.low_ms, timed.high_ms, result.evaluation.number)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most about `most` points: the fastest, the median and the slowest of each of `most` / 3 equal
    stretches.
    """
    if len(points) <= most:
        return list(points)
    stretches = most // 3
    bounds = [len(points) * n // stretches for n in range(stretches + 1)]
    kept: list[Point] = []
    for first, end in pairwise(bounds):
        by_time = sorted(points[first:end], key=lambda point: point.ms)
        chosen = {point.number: point for point in (by_time[0], by_time[len(by_time) // 2], by_time[-1])}
        kept += chosen.values()
    return kept


def _failure_words(outcome: Failed) -> str:
    """Return kind and first line of a failure, cut at 160 characters: `compile failed: out of registers`."""
    message = outcome.message.strip().splitlines()[0][:160] if outcome.message.strip() else ""
    return f"{kind_of(outcome).replace('_', ' ')}: {message}"


def section(facts: Facts) -> Section:
    """Return the section with the chart and a choice of axes, or with the reason why there is no chart."""
    shown = [convergence(facts.results, facts.summary, along, facts.sought) for along in ALONG]
    if not shown[0].steps:
        body = nothing("No evaluation gave a valid time, so there is nothing to draw: "
                       + (f"all {shown[0].failed} failed, see below." if shown[0].failed else "none is finished yet."))
    else:
        body = Figure("convergence", "times of all evaluations and the best so far",
                      tuple(View(one.along, tuple(_traces(one)), _layout(one)) for one in shown), 440).html()
        body += note(_reading(shown[0]))
    return Section("convergence", "Convergence", f"How the best {facts.sought.noun} fell", body)


def _reading(shown: Convergence) -> str:
    text = ("A dot is an evaluation; the line is the best so far, its band the 95 % interval of that plan's median. "
            "Crosses at the bottom failed.")
    if len(shown.cloud) < shown.timed:
        text += (
            f" {len(shown.cloud):,} of {shown.timed:,} timed evaluations are drawn: the fastest, the median and the "
            f"slowest "
            "of each stretch. The line misses none."
        )
    if len(shown.failures) < shown.failed:
        text += f" One failure in {1 + shown.failed // MOST_FAILURES} is marked."
    return text


def _traces(shown: Convergence) -> Iterable[Json]:
    xs, steps = [step.at for step in shown.steps] + [shown.end], [*shown.steps, shown.steps[-1]]
    edge = {"mode": "lines", "line": {"shape": "hv", "width": 0}, "hoverinfo": "skip", "showlegend": False, "x": xs}
    yield edge | {"y": [step.low_ms for step in steps]}
    yield edge | {"y": [step.high_ms for step in steps], "fill": "tonexty", "fillcolor": "@best_faint",
                  "name": "95 % interval", "showlegend": True, "legendrank": 3}
    yield {
        "x": [shown.at(point) for point in shown.cloud],
        "y": [point.ms for point in shown.cloud],
        "mode": "markers",
        "name": "timed",
        "legendrank": 1,
        "marker": {"color": "@timed", "size": 5 if len(shown.cloud) > 400 else 7, "opacity": 0.55},
        "customdata": [point.number for point in shown.cloud],
        "hovertemplate": f"evaluation %{{customdata}}: %{{y:.4g}}{shown.sought.unit}<extra></extra>",
    }
    yield {"x": xs, "y": [step.ms for step in steps], "mode": "lines", "name": "best so far", "legendrank": 2,
           "line": {"shape": "hv", "color": "@best", "width": 2.5}, "customdata": [step.number for step in steps],
           "hovertemplate": f"best so far: evaluation %{{customdata}}, %{{y:.4g}}{shown.sought.unit}<extra></extra>"}
    for (name, ms), dash in zip(shown.levels, ("dot", "dash"), strict=False):
        yield {
            "x": [0, shown.end],
            "y": [ms, ms],
            "mode": "lines",
            "name": name,
            "line": {"dash": dash, "color": "@base", "width": 1.5},
            "hovertemplate": f"{name}: {shown.sought.describe(ms)}<extra></extra>",
        }
    if shown.failures:
        yield {"x": [at for at, _ in shown.failures], "y": [0] * len(shown.failures), "yaxis": "y2", "mode": "markers",
               "name": "failed", "marker": {"symbol": "x-thin", "size": 7, "line": {"width": 1.5, "color": "@failed"},
                                            "color": "@failed"},
               "text": [words for _, words in shown.failures], "hovertemplate": "%{text}<extra></extra>"}


def _layout(shown: Convergence) -> Json:
    times = [point.ms for point in shown.cloud] + [ms for _, ms in shown.levels]
    layout: Json = {"xaxis": axis(shown.title, zeroline=False, rangemode="tozero"),
              "yaxis": log_axis(shown.sought.axis, min(times), max(times)),
              **LEGEND}
    if shown.failures:  # failures have their own strip below all times
        layout["xaxis"] |= {"anchor": "y2"}
        layout["yaxis"] |= {"domain": [0.1, 1]}
        layout["yaxis2"] = {"domain": [0, 0.08], "visible": False, "fixedrange": True, "range": [-1, 1]}
    return layout


def still(results: Sequence[Result], summary: Summary, along: Along = "evaluations", name: str = "",
          sought: Sought = BY_TIME) -> Still:
    """Return the chart as a picture. Without a valid result, the picture says so."""
    shown = convergence(results, summary, along, sought)
    return Still(name or f"convergence-{along}", lambda axes: _draw(axes, shown, f"{summary.name} on {summary.device}"),
                 legend=True)


def _draw(axes: Axes, shown: Convergence, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    plain(axes, shown.title, shown.sought.axis, title)
    if not shown.steps:
        axes.text(0.5, 0.5, "no valid variant was found", transform=axes.transAxes, ha="center", va="center")
        return
    if shown.along == "evaluations":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    xs, steps = [step.at for step in shown.steps] + [shown.end], [*shown.steps, shown.steps[-1]]
    axes.plot(
        [shown.at(point) for point in shown.cloud],
        [point.ms for point in shown.cloud],
        "o",
        markersize=4,
        alpha=0.5,
        color=LIGHT.timed,
        markeredgewidth=0,
        label="timed",
    )
    axes.fill_between(
        xs, [s.low_ms for s in steps], [s.high_ms for s in steps], step="post", color=LIGHT.best, alpha=0.2, linewidth=0
    )
    axes.step(xs, [step.ms for step in steps], where="post", linewidth=2, color=LIGHT.best, label="best so far")
    for (name, ms), style in zip(shown.levels, (":", "--"), strict=False):
        axes.axhline(ms, linestyle=style, color=LIGHT.base, label=name)
    log_scale(axes, "y")
    if shown.failures:
        axes.plot(
            [at for at, _ in shown.failures],
            [0.02] * len(shown.failures),
            "x",
            color=LIGHT.failed,
            label="failed",
            transform=axes.get_xaxis_transform(),
        )
