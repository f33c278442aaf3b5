"""All walks in parallel coordinates (A. Inselberg, The plane with parallel coordinates, The Visual Computer 1, 1985).

Each decision has an axis, ordered by how much of the time it explains; the last axis is the time. Each walk is a line.
Lines are drawn as SVG, not WebGL, so that they can be printed and need no graphics driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from experiments.graphs.collapse import option_order
from experiments.graphs.words import option_words, wrap
from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still
from experiments.report.effects import Effect, decision_effects, jittered
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing
from experiments.report.plotly import LEGEND, Figure, Json, View
from experiments.report.timed import title_of
from experiments.values.records import Result
from experiments.values.sought import BY_TIME, Sought
from graph.space import Option
from graph.walk import Choice
from metrics.outcome import cost_ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_AXES, MOST_LINES, MOST_LABELS = 6, 600, 12
"""The most decisions, walks, and labelled options per axis that the chart shows."""
CLASSES = (("fastest tenth", "best tenth", 0.1), ("to a quarter", "to a quarter", 0.25),
           ("to the half", "to the half", 0.5), ("slower half", "worse half", 1.0))
"""Names of the classes by time, names by another objective, and the fraction of the sorted walks at which each ends."""
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Line:
    """A walk: its evaluation, its time, and its position on each axis, from 0 to 1; the last axis is the time."""

    number: int
    ms: float
    places: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The data of the chart: `axes` are titles, `labels` are (position, word) for each axis.

    `classes` are (name, lines), best first; `best` is the best walk's line.
    """

    axes: tuple[str, ...]
    labels: tuple[tuple[tuple[float, str], ...], ...]
    classes: tuple[tuple[str, tuple[Line, ...]], ...]
    best: Line | None
    left_out: int
    sought: Sought = BY_TIME


def coordinates(results: Sequence[Result], walks: Sequence[Sequence[Choice]], best: Result | None,
                sought: Sought = BY_TIME) -> Coordinates | None:
    """Return the data of the chart: all timed walks, or a subset if they are too many. None if there is nothing to
    compare.

    `walks` are the choices of each result.
    """
    timed = sorted(((ms, result.evaluation.number, walk) for result, walk in zip(results, walks, strict=True)
                    if walk and (ms := cost_ms(result.outcome)) is not None and ms > 0), key=lambda one: one[:2])
    effects = [
        effect for effect in decision_effects(results, walks) if sum(bool(o.times_ms) for o in effect.options) > 1
    ]
    if len(timed) < 2 or not effects:
        return None
    axes = [_Axis.of(effect, len(timed)) for effect in effects[:MOST_AXES]]
    low, high = timed[0][0], timed[-1][0]
    shown = _spread(range(len(timed)), MOST_LINES)
    lines = {rank: Line(timed[rank][1], timed[rank][0], (*(axis.place(timed[rank][2], rank) for axis in axes),
                                                         _height(timed[rank][0], low, high))) for rank in shown}
    times = tuple((_height(ms, low, high), sought.describe(ms)) for ms in (low, (low * high) ** 0.5, high))
    chosen = best.evaluation.number if best is not None else -1
    return Coordinates(
        (*(axis.title for axis in axes), sought.noun),
        (*(axis.labels() for axis in axes), times),
        tuple(_classes(lines, len(timed), sought)),
        next((one for one in lines.values() if one.number == chosen), None),
        len(timed) - len(lines),
        sought,
    )


def _height(ms: float, low: float, high: float) -> float:
    return log(ms / low) / log(high / low) if high > low else 0.5


def _spread(ranks: range, most: int) -> list[int]:
    """Return at most `most` of the ranks, evenly spaced, with the first and the last."""
    return (
        list(ranks) if len(ranks) <= most else sorted({round(n * (len(ranks) - 1) / (most - 1)) for n in range(most)})
    )


def _classes(lines: dict[int, Line], count: int, sought: Sought) -> Iterator[tuple[str, tuple[Line, ...]]]:
    begin = 0.0
    for by_time, by_cost, end in CLASSES:
        name = by_time if sought.objective.is_time else by_cost
        yield name, tuple(line for rank, line in lines.items() if begin * count <= rank < end * count)
        begin = end


@dataclass(frozen=True, slots=True)
class _Axis:
    """The axis of a decision. `options` are ordered from the bottom; None stands for walks without the decision."""

    effect: Effect
    options: tuple[Option | None, ...]

    @classmethod
    def of(cls, effect: Effect, walks: int) -> _Axis:
        options = sorted((one.option for one in effect.options if one.times_ms), key=option_order)
        return cls(effect, (*((None,) if effect.met < walks else ()), *options))

    @property
    def title(self) -> str:
        return title_of((self.effect.decision, self.effect.subject))

    def place(self, walk: Sequence[Choice], rank: int) -> float:
        """Return where the walk crosses the axis, slightly offset from its option so that lines stay distinct."""
        key = (self.effect.decision, self.effect.subject)
        taken = next((c.option for c in reversed(walk) if (c.decision.name, c.decision.subject) == key), None)
        shift = 0.6 * jittered(0, rank % 97 + 1)[-1] / max(3, len(self.options))
        return self._at(self.options.index(taken)) + shift

    def labels(self) -> tuple[tuple[float, str], ...]:
        kept = _spread(range(len(self.options)), MOST_LABELS)
        return tuple(
            (self._at(n), NOT_ASKED if (option := self.options[n]) is None else option_words(option)) for n in kept
        )

    def _at(self, number: int) -> float:
        return number / (len(self.options) - 1) if len(self.options) > 1 else 0.5


def section(facts: Facts) -> Section:
    """Return the section with the chart, or with the reason why there is none."""
    title, found = "All walks, decision by decision", coordinates(facts.judged, facts.walks, facts.best, facts.sought)
    if found is None:
        return Section("coordinates", "Walks", title, nothing(
            "There is nothing to compare yet: no decision has timed evaluations for two of its options."))
    figure = Figure(
        "coordinates", "all walks in parallel coordinates", (View("", tuple(_traces(found)), _layout(found)),), 460
    )
    more = f" {found.left_out:,} of the walks are left out, equally many of each class." if found.left_out else ""
    return Section(
        "coordinates",
        "Walks",
        title,
        f'<div class="scroll" tabindex="0"><div class="broad">{figure.html()}</div></div>'
        + note(
            "A line is a timed walk: it crosses each axis at the option that it took, and ends at its "
            f"{facts.sought.noun}. The axes are the decisions that explain most. A click on a class above hides it; a "
            f"double click leaves it alone. The thick line is the best plan.{more}"
        ),
    )


LOOKS = (("timed", 1.0), ("timed", 0.45), ("flow", 0.7), ("line", 0.9))
"""Colour (of the palette) and opacity of the lines of each class."""


def _traces(found: Coordinates) -> Iterator[Json]:
    for place in range(len(found.axes)):
        yield {
            "mode": "lines",
            "x": [place, place],
            "y": [0, 1],
            "line": {"color": "@base", "width": 1},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    for rank, ((name, lines), (color, opacity)) in reversed(list(enumerate(zip(found.classes, LOOKS, strict=True), 2))):
        if lines:
            drawn = _lines(name, lines, {"color": f"@{color}", "width": 1.2}, found.sought)
            yield drawn | {"opacity": opacity, "legendrank": rank}
    if found.best is not None:
        yield _lines("best plan", (found.best,), {"color": "@best", "width": 3.5}, found.sought) | {"legendrank": 1}


def _lines(name: str, lines: Sequence[Line], line: Json, sought: Sought) -> Json:
    axes = list(range(len(lines[0].places)))
    return {
        "mode": "lines",
        "name": name,
        "line": line,
        "x": [x for _ in lines for x in (*axes, None)],
        "y": [y for one in lines for y in (*one.places, None)],
        "text": [words for one in lines
                 for words in [f"evaluation {one.number}: {sought.describe(one.ms)}"] * (len(axes) + 1)],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _layout(found: Coordinates) -> Json:
    titles = ["<br>".join(wrap(title, 110, 4)) for title in found.axes]
    names = [
        {
            "x": place,
            "y": at,
            "text": word,
            "xanchor": "left",
            "xshift": 4,
            "showarrow": False,
            "bgcolor": "@paper",
            "borderpad": 1,
            "opacity": 0.9,
        }
        for place, labels in enumerate(found.labels)
        for at, word in labels
    ]
    return {"xaxis": {"tickvals": list(range(len(titles))), "ticktext": titles, "tickangle": 0, "showgrid": False,
                      "showline": False, "zeroline": False, "fixedrange": True, "range": [-0.5, len(titles) - 0.35],
                      "automargin": True},
            "yaxis": {"visible": False, "fixedrange": True, "range": [-0.1, 1.1]}, "annotations": names, **LEGEND}


def still(facts: Facts) -> Still | None:
    """Return the chart as a picture; None if there is nothing to compare."""
    found = coordinates(facts.judged, facts.walks, facts.best, facts.sought)
    return None if found is None else Still("coordinates", lambda axes: _draw(axes, found), (11, 5.5), legend=True)


def _draw(axes: Axes, found: Coordinates) -> None:
    across = range(len(found.axes))
    axes.vlines(across, 0, 1, colors=LIGHT.base, linewidth=1)
    for (name, lines), (color, opacity) in reversed(list(zip(found.classes, LOOKS, strict=True))):
        for number, line in enumerate(lines):
            axes.plot(across, line.places, color=getattr(LIGHT, color), linewidth=0.9, alpha=opacity,
                      label=None if number else name)
    if found.best is not None:
        axes.plot(across, found.best.places, color=LIGHT.best, linewidth=3, label="best plan")
    for place, labels in enumerate(found.labels):
        for at, word in labels:
            axes.text(place + 0.03, at, word, va="center", fontsize=8,
                      bbox={"facecolor": LIGHT.paper, "alpha": 0.9, "linewidth": 0, "pad": 1})
    axes.set_xticks(across, ["\n".join(wrap(title, 110, 4)) for title in found.axes], fontsize=8)
    axes.set_yticks([])
    axes.set_xlim(-0.4, len(found.axes) - 0.4)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.set_title("All walks, decision by decision")
