"""Charts that compare the default and the best plan: two dots joined by a line, on the page and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import plain
from experiments.report.plotly import LEGEND, Figure, Json, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Pair:
    """A quantity with its value in both plans; None if a plan has no value."""

    name: str
    default: float | None
    best: float | None


def figure(name: str, label: str, pairs: Sequence[Pair], along: Json, value: str) -> str:
    """Return the chart as HTML. `along` is the horizontal axis, `value` the format of the hover text (`%{x:.2f}`)."""
    layout = {
        "xaxis": along,
        "yaxis": {"type": "category", "automargin": True, "autorange": "reversed", "fixedrange": True},
        **LEGEND,
    }
    return Figure(name, label, (View("", tuple(_traces(pairs, value)), layout),), 110 + 32 * len(pairs)).html()


def _traces(pairs: Sequence[Pair], value: str) -> Iterator[Json]:
    if both := _both(pairs):
        yield {"mode": "lines", "x": [x for values in both.values() for x in (*values, None)],
               "y": [name for place in both for name in (pairs[place].name, pairs[place].name, None)],
               "line": {"color": "@line", "width": 4}, "hoverinfo": "skip", "showlegend": False}
    for plan, color, known in _plans(pairs):
        yield {"mode": "markers", "name": plan, "x": list(known.values()), "y": [pairs[place].name for place in known],
               "marker": {"size": 12, "color": f"@{color}"}, "hovertemplate": f"{plan}: {value}<extra></extra>"}


def draw(axes: Axes, pairs: Sequence[Pair], xlabel: str, title: str) -> None:
    """Draw the same chart on the axes of a picture."""
    plain(axes, xlabel, title=title)
    for place, values in _both(pairs).items():
        axes.plot(values, [place, place], color=LIGHT.line, linewidth=3, zorder=1)
    for plan, color, known in _plans(pairs):
        axes.plot(list(known.values()), list(known), "o", color=getattr(LIGHT, color), markersize=9, label=plan)
    axes.set_yticks(range(len(pairs)), [one.name for one in pairs])
    axes.invert_yaxis()


def _both(pairs: Sequence[Pair]) -> dict[int, tuple[float, float]]:
    """Return both values by position, where both are known."""
    return {place: (one.default, one.best) for place, one in enumerate(pairs)
            if one.default is not None and one.best is not None}


def _plans(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, dict[int, float]]]:
    """Yield name, colour and values by position of each plan that has a value."""
    for plan, color, values in (("default plan", "base", [one.default for one in pairs]),
                                ("best plan", "best", [one.best for one in pairs])):
        if known := {place: value for place, value in enumerate(values) if value is not None}:
            yield plan, color, known
