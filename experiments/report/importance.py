"""The importance of each decision, as a chart (`permutation.py` computes it)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, plain
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing
from experiments.report.permutation import Importance, Importances
from experiments.report.plotly import Figure, Json, View, axis
from experiments.words import describe_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def section(facts: Facts) -> Section:
    """Return the chart, or why there is none."""
    title, found = "How important each decision is", facts.importances
    if isinstance(found, str):
        return Section("importance", "Importance", title, nothing(found))
    if not found.decisions:
        return Section("importance", "Importance", title, nothing("No decision tells anything about the time."))
    names = [one.title for one in found.decisions]
    layout = {"xaxis": axis("share of the variance that is lost", tickformat=".0%", rangemode="tozero"),
              "yaxis": {"type": "category", "automargin": True, "autorange": "reversed", "fixedrange": True}}
    body = Figure(
        "importance",
        "importance of the decisions",
        (View("", tuple(_traces(names, found.decisions)), layout),),
        90 + 28 * len(names),
    ).html()
    return Section(
        "importance",
        "Importance",
        title,
        body
        + note(
            f"A random forest that learned from two thirds of the walks predicts {describe_percent(found.explained)} "
            f"of the variance of the logarithm of "
            f"the time of the others ({found.walks:,} walks, each third in turn). A bar says how much of that is lost "
            f"when a "
            "decision's options are shuffled among those walks (permutation importance); the line is the standard "
            "deviation. Of "
            "two decisions that always go together, each may look unimportant."
        ),
    )


def _traces(names: Sequence[str], decisions: Sequence[Importance]) -> Iterator[Json]:
    yield {
        "type": "bar",
        "orientation": "h",
        "x": [one.mean for one in decisions],
        "y": names,
        "marker": {"color": "@timed"},
        "error_x": {"type": "data", "array": [one.deviation for one in decisions], "color": "@base", "thickness": 1.5},
        "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
    }


def still(facts: Facts) -> Still | None:
    """Return the chart as a picture; None if there is none."""
    found = facts.importances
    if isinstance(found, str) or not found.decisions:
        return None
    return Still("importance", lambda axes: _draw(axes, found), (8, 1.4 + 0.3 * len(found.decisions)))


def _draw(axes: Axes, found: Importances) -> None:
    plain(axes, "share of the variance that is lost", title="How important each decision is")
    axes.barh(range(len(found.decisions)), [one.mean for one in found.decisions], color=LIGHT.timed,
              xerr=[one.deviation for one in found.decisions], ecolor=LIGHT.base)
    axes.set_yticks(range(len(found.decisions)), [one.title for one in found.decisions])
    axes.xaxis.set_major_formatter(lambda share, _: describe_percent(share))
    axes.invert_yaxis()
