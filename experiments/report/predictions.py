"""Costs by models against measured times: how reliable are the models here?

Only for programs that consist of stages (docs/models.md describes the models). Plans that a model cannot judge are not
in its chart; they are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, log_scale, plain
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing, table
from experiments.report.pipeline import is_about_stages
from experiments.report.plotly import Figure, Json, View, log_axis
from experiments.values.records import Result
from experiments.words import describe_count, describe_ms, describe_ratio
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from metrics.costs.agreement import rank_correlation, regret
from metrics.costs.constants import Calibration
from metrics.outcome import Timed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANCHOR, SHORT, TITLE = "predictions", "Predictions", "What cost models predicted"
NAMES = ("sioutas", "polymage")
"""Models that need no generated code; generating it for hundreds of plans would take minutes."""
MOST, FEWEST = 200, 5
"""The most plans that are judged, evenly spaced over the run, and the fewest for a chart."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """The plans that a model judges: evaluations, costs, times in milliseconds. `refused`: reasons with numbers of
    plans.
    """

    model: str
    numbers: tuple[int, ...]
    costs: tuple[float, ...]
    times_ms: tuple[float, ...]
    refused: tuple[tuple[str, int], ...]

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation of costs and times."""
        return rank_correlation(self.costs, self.times_ms)

    @property
    def chosen(self) -> int:
        """The index of the plan with the least cost."""
        return self.costs.index(min(self.costs))


def predictions(facts: Facts) -> tuple[Predictions, ...]:
    """Return the predictions of each model for the timed plans; empty for programs without stages."""
    if not is_about_stages(facts):
        return ()
    timed = [result for result in facts.results if isinstance(result.outcome, Timed)]
    step = max(1, -(-len(timed) // MOST))
    kept = [result for place, result in enumerate(timed) if place % step == 0 or result in (facts.best, facts.default)]
    return tuple(_predictions(facts, name, kept) for name in NAMES)


def _predictions(facts: Facts, name: str, results: Sequence[Result]) -> Predictions:
    judged, reasons = [], Counter[str]()
    for result in results:
        found = _cost(facts.info.program, result.evaluation.plan, facts.info.device.target, name,
                      facts.info.options.calibration)
        if isinstance(found, str):
            reasons[found] += 1
        elif isinstance(result.outcome, Timed):
            judged.append((result.evaluation.number, found, result.outcome.median_ms))
    numbers, costs, times = zip(*judged, strict=True) if judged else ((), (), ())
    return Predictions(name, numbers, costs, times, tuple(reasons.most_common()))


@lru_cache(maxsize=4096)
def _cost(program: Program, plan: Plan, target: Target, name: str, constants: Calibration | None) -> float | str:
    """Return the cost of a plan by a model with these constants (None: the defaults), or the reason why there is none.
    """
    from experiments.search.costs import find_model, predicted  # here, because it loads isl
    from metrics.costs.base import Refused

    try:
        found = predicted(program, plan, target, find_model(name, target, constants))
    except IllegalPlan as error:
        return str(error)
    return found.reason if isinstance(found, Refused) else found.number


def section(facts: Facts) -> tuple[Section, ...]:
    """Return the section with a chart per model and a table; empty for programs without stages."""
    found = predictions(facts)
    if not found:
        return ()
    shown = [one for one in found if len(one.costs) >= FEWEST]
    if not shown:
        reasons = [reason for one in found for reason, _ in one.refused[:1]]
        why = f" The first reason: {reasons[0]}" if reasons else ""
        return (Section(ANCHOR, SHORT, TITLE, nothing(f"Models judged fewer than {FEWEST} timed plans.{why}")),)
    views = tuple(View(one.model, tuple(_traces(one)), _layout(one)) for one in shown)
    body = (
        Figure(ANCHOR, "predicted costs and measured times", views, 420).html()
        + _table(shown)
        + note(
            "Each dot is a plan; if the models knew all, the dots would lie on a rising line. Rank correlation: 1 "
            "where a model has all plans in the right order, 0 for a guess. Regret: how many times as long as the "
            "fastest of these plans the one takes that the model thinks best (the larger dot). Costs are numbers "
            "without a unit."
        )
    )
    return (Section(ANCHOR, SHORT, TITLE, body),)


def _table(shown: Sequence[Predictions]) -> str:
    rows = []
    for one in shown:
        others = sum(count for _, count in one.refused)
        why = f": {one.refused[0][0]}" if one.refused else ""
        best = one.chosen
        rows.append(
            (
                one.model,
                f"{len(one.costs)}",
                f"{one.correlation:.2f}",
                describe_ratio(regret(one.costs, one.times_ms)),
                f"{one.numbers[best]}: {describe_ms(one.times_ms[best])}",
                f"{describe_count(others, 'plan')}{why}" if others else "none",
            )
        )
    header = ("model", "plans", "rank correlation", "regret", "its best plan", "not judged")
    return table(rows, header, (1, 2, 3))


def _traces(one: Predictions) -> Iterator[Json]:
    text = [f"evaluation {number}: {describe_ms(ms)}" for number, ms in zip(one.numbers, one.times_ms, strict=True)]
    sizes = [13 if place == one.chosen else 7 for place in range(len(one.costs))]
    colors = ["@best" if place == one.chosen else "@timed" for place in range(len(one.costs))]
    yield {
        "mode": "markers",
        "x": one.costs,
        "y": one.times_ms,
        "text": text,
        "marker": {"size": sizes, "color": colors},
        "hovertemplate": "%{text}, cost %{x:.4g}<extra></extra>",
    }


def _layout(one: Predictions) -> Json:
    return {
        "xaxis": log_axis(f"cost by {one.model}", min(one.costs), max(one.costs), zeroline=False),
        "yaxis": log_axis("measured, ms", min(one.times_ms), max(one.times_ms), zeroline=False),
    }


def stills(facts: Facts) -> list[Still]:
    """Return a picture for each model that judges enough plans."""
    return [
        Still(f"predictions-{one.model}", _Drawing(one), (6, 4.5))
        for one in predictions(facts)
        if len(one.costs) >= FEWEST
    ]


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws the chart of a model."""

    found: Predictions

    def __call__(self, axes: Axes) -> None:
        one = self.found
        title = f"{one.model}: rank correlation {one.correlation:.2f}, regret {regret(one.costs, one.times_ms):.2f}"
        plain(axes, "predicted cost", "measured, ms", title)
        axes.plot(one.costs, one.times_ms, "o", color=LIGHT.timed, markersize=4)
        axes.plot(one.costs[one.chosen], one.times_ms[one.chosen], "o", color=LIGHT.best, markersize=9)
        log_scale(axes, "x")
        log_scale(axes, "y")
