"""The number of evaluations with each kind of outcome, and the most frequent messages of failures."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, plain
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing, table
from experiments.report.plotly import LAYOUT, Figure, View, axis
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result
from metrics.outcome import Timed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MESSAGES = 5
LONGEST = 400
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a failure, from its first evaluation. `times` counts the messages that differ in numbers only."""

    kind: str
    times: int
    text: str
    first: int


def counts(results: Sequence[Result]) -> list[tuple[str, int]]:
    """Return the number of evaluations with each kind of outcome: timed first, then the most frequent failure."""
    found = Counter(kind_of(result.outcome).replace("_", " ") for result in results)
    return sorted(found.items(), key=lambda item: (item[0] != "timed", -item[1], item[0]))


def messages(results: Sequence[Result]) -> list[Message]:
    """Return the most frequent messages of each kind of failure, most frequent kind first."""
    alike: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for result in results:
        if not isinstance(result.outcome, Timed):
            text = result.outcome.message[:LONGEST]
            key = (kind_of(result.outcome).replace("_", " "), _NUMBER.sub("#", text))
            alike[key].append((result.evaluation.number, text))
    found = [Message(kind, len(all_), all_[0][1], all_[0][0]) for (kind, _), all_ in alike.items()]
    order = [kind for kind, _ in counts(results)]
    return [message for kind in order
            for message in sorted((m for m in found if m.kind == kind), key=lambda m: -m.times)[:MESSAGES]]


def section(facts: Facts) -> Section:
    """Return the section with the chart of all outcomes and the table of messages."""
    found, said = counts(facts.results), messages(facts.results)
    if not found:
        return Section("failures", "Failures", "Outcomes", nothing("No evaluation is finished yet."))
    kinds = [kind for kind, _ in found]
    trace = {"type": "bar", "orientation": "h", "x": [count for _, count in found], "y": kinds,
             "marker": {"color": [_color(kind) for kind in kinds]}, "text": [f"{count:,}" for _, count in found],
             "textposition": "outside", "cliponaxis": False, "hovertemplate": "%{y}: %{x}<extra></extra>", "width": 0.6}
    layout = {"xaxis": axis("evaluations", rangemode="tozero", tickformat=",d", nticks=6),
              "yaxis": {"automargin": True, "autorange": "reversed", "type": "category", "showgrid": False},
              "margin": LAYOUT["margin"] | {"t": 0, "r": 48}}
    body = Figure(
        "failures", "evaluations by kind of outcome", (View("", (trace,), layout),), 66 + 28 * len(kinds)
    ).html()
    if not said:
        return Section("failures", "Failures", "Outcomes", body + note("Nothing failed."))
    rows = [(m.kind, f"{m.times:,}", str(m.first), m.text) for m in said]
    body += table(rows, ("failure", "times", "first at", "message"), (1, 2))
    body += note(
        f"Messages that differ in numbers only count together; of each kind the {MESSAGES} most frequent are shown."
    )
    return Section("failures", "Failures", "Outcomes", body)


def still(facts: Facts) -> Still | None:
    """Return the chart as a picture; None if no evaluation is finished."""
    found = counts(facts.results)
    return Still("failures", lambda axes: _draw(axes, found), (8, 1.2 + 0.4 * len(found))) if found else None


def _draw(axes: Axes, found: Sequence[tuple[str, int]]) -> None:
    plain(axes, "evaluations", title="Outcomes")
    kinds = [kind for kind, _ in found]
    bars = axes.barh(kinds, [count for _, count in found], color=[getattr(LIGHT, _color(kind)[1:]) for kind in kinds])
    axes.bar_label(bars, padding=3)
    axes.invert_yaxis()


def _color(kind: str) -> str:
    return "@timed" if kind == "timed" else "@failed"
