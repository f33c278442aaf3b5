"""Values of the default plan beside those of the best plan: a dot each and a line between them, on the page and as a
picture.
"""

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
    """What is compared, with its value in both plans; None where a plan has none."""

    name: str
    default: float | None
    best: float | None


def figure(name: str, label: str, pairs: Sequence[Pair], along: Json, value: str) -> str:
    """The figure as HTML; `along` is its horizontal axis, `value` what a dot says when it is pointed at
    (`%{x:.2f}`).
    """
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
    """The same on the axes of a picture."""
    plain(axes, xlabel, title=title)
    for place, values in _both(pairs).items():
        axes.plot(values, [place, place], color=LIGHT.line, linewidth=3, zorder=1)
    for plan, color, known in _plans(pairs):
        axes.plot(list(known.values()), list(known), "o", color=getattr(LIGHT, color), markersize=9, label=plan)
    axes.set_yticks(range(len(pairs)), [one.name for one in pairs])
    axes.invert_yaxis()


def _both(pairs: Sequence[Pair]) -> dict[int, tuple[float, float]]:
    """Both values by place, where both are known."""
    return {place: (one.default, one.best) for place, one in enumerate(pairs)
            if one.default is not None and one.best is not None}


def _plans(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, dict[int, float]]]:
    """Name, colour and values by place of both plans; not one that has no value."""
    for plan, color, values in (("default plan", "base", [one.default for one in pairs]),
                                ("best plan", "best", [one.best for one in pairs])):
        if known := {place: value for place, value in enumerate(values) if value is not None}:
            yield plan, color, known
