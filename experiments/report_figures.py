"""The figures of report.html, by plotly, as pieces of HTML that work without a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.effects import Effect
from experiments.outcome_rows import kind_of
from experiments.plots import best_so_far
from experiments.records import Result
from experiments.summary import Summary
from experiments.words import describe_plan
from metrics.outcome import Timed, cost_ms

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_EFFECTS = 24
_MARGIN = {"l": 60, "r": 20, "t": 40, "b": 50}
# On a page that may be dark or light: nothing behind the data, and a gray that can be read on both.
_INK, _GRID, _COLOR, _BEST, _FAILED = "#808080", "rgba(128, 128, 128, 0.25)", "#4c8bc0", "#e08214", "#d6604d"


def library() -> str:
    """The plotly script that all figures of a page need once."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def convergence(summary: Summary, results: Sequence[Result]) -> str:
    """Every timed evaluation and the best so far, over the evaluations; failures as crosses at the bottom."""
    from plotly.graph_objects import Figure, Scatter

    timed = [(r.evaluation, ms) for r in results if (ms := cost_ms(r.outcome)) is not None]
    failed = [r for r in results if not isinstance(r.outcome, Timed)]
    numbers, times = [e.number for e, _ in timed], [ms for _, ms in timed]
    figure = Figure(layout={"xaxis_title": "evaluation (0: default plan)", "yaxis_title": "time [ms]",
                            "yaxis_type": "log", "height": 420, "margin": _MARGIN, "showlegend": True,
                            "legend": {"orientation": "h", "y": 1, "yanchor": "bottom"}})
    figure.add_trace(Scatter(x=numbers, y=times, mode="markers", name="timed", marker_color=_COLOR,
                             text=["<br>".join(describe_plan(e.plan)) for e, _ in timed]))
    figure.add_trace(Scatter(x=numbers, y=best_so_far(times), mode="lines", line_shape="hv", name="best so far",
                             line_color=_BEST))
    if failed and times:
        figure.add_trace(Scatter(x=[r.evaluation.number for r in failed], y=[min(times) * 0.9] * len(failed),
                                 mode="markers", marker_symbol="x", marker_color=_FAILED, name="failed",
                                 text=[_why(r) for r in failed]))
    for name, ms, dash in (("sequential C", summary.sequential_ms, "dot"), ("default plan", summary.default_ms, "dash")):
        if ms and results:
            figure.add_trace(Scatter(x=[0, results[-1].evaluation.number], y=[ms, ms], mode="lines", name=name,
                                     line={"dash": dash, "color": _INK}))
    return _html(figure)


def failures(results: Sequence[Result]) -> str:
    """How many evaluations failed in which way."""
    from plotly.graph_objects import Bar, Figure

    counts = Counter(kind_of(r.outcome).replace("_", " ") for r in results)
    kinds = [kind for kind, _ in counts.most_common()]
    figure = Figure(Bar(x=[counts[kind] for kind in kinds], y=kinds, orientation="h", marker_color=_COLOR),
                    layout={"xaxis_title": "evaluations", "height": 120 + 30 * len(kinds), "margin": _MARGIN | {"l": 120}})
    return _html(figure)


def effect(shown: Effect) -> str:
    """The distribution of times per option of one decision."""
    from plotly.graph_objects import Box, Figure

    figure = Figure(layout={"title": f"{shown.title} ({shown.strength:.2g}x)", "yaxis_title": "time [ms]",
                            "yaxis_type": "log", "showlegend": False, "height": 300, "margin": _MARGIN})
    for option in shown.options:
        failed = f"<br>{option.failures} failed" if option.failures else ""
        figure.add_trace(Box(y=option.times_ms, name=f"{option.option}{failed}", boxpoints="all", jitter=0.4,
                             marker_color=_COLOR))
    return _html(figure)


def _why(result: Result) -> str:
    outcome = result.outcome
    return kind_of(outcome) if isinstance(outcome, Timed) else f"{kind_of(outcome)}: {outcome.message[:200]}"


def _html(figure: Figure) -> str:
    from plotly.io import to_html

    figure.update_layout(paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font_color=_INK)
    figure.update_xaxes(gridcolor=_GRID, zerolinecolor=_GRID)
    figure.update_yaxes(gridcolor=_GRID, zerolinecolor=_GRID)
    text: str = to_html(figure, include_plotlyjs=False, full_html=False,
                        config={"responsive": True, "displayModeBar": False})
    return text
