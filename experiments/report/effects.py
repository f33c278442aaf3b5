"""The effects of decisions: the times of all walks, grouped by the option that they chose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import log, log10
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from experiments.graphs.collapse import option_order
from experiments.graphs.words import BEST, option_words
from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, log_scale, plain
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing
from experiments.report.plotly import LAYOUT, Figure, Json, View, log_axis
from experiments.report.timed import title_of
from experiments.values.records import Result
from experiments.values.sought import Sought
from experiments.words import describe_percent
from graph.space import Option
from graph.walk import Choice
from metrics.outcome import cost_ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_EFFECTS, FEW_EFFECTS, WORTH = 12, 4, 0.01
"""At most `MAX_EFFECTS` decisions are shown; after the first `FEW_EFFECTS`, only those with at least the strength
`WORTH`.
"""
MOST_OPTIONS = 16
MOST_DOTS = 150
"""With more walks than this, a figure shows only the boxes, not a dot per walk."""


@dataclass(frozen=True, slots=True)
class OptionTimes:
    """The times in milliseconds of all timed walks that chose `option`, and the number of failed walks."""

    option: Option
    times_ms: tuple[float, ...]
    failures: int


@dataclass(frozen=True, slots=True)
class Effect:
    """A decision with the times by option.

    `strength`, in [0, 1], is the fraction of the variance of the logarithm of the time that the option explains,
    adjusted for the number of options (epsilon squared of a one-way analysis of variance, T. L. Kelley, An unbiased
    correlation ratio measure, PNAS 21(9), 1935): an option chosen at random explains 0 on average. `ratio` is the
    largest median of an option divided by the smallest. Walks make all decisions together and choose good options more
    often, so this shows correlation, not cause.
    """

    decision: str
    subject: tuple[str, ...]
    options: tuple[OptionTimes, ...]
    strength: float
    ratio: float

    @property
    def met(self) -> int:
        """The number of timed walks that made the decision."""
        return sum(len(option.times_ms) for option in self.options)

    @property
    def title(self) -> str:
        """The decision and its subject: `outer tile size of S0 S1`."""
        return title_of((self.decision, self.subject))


def decision_effects(results: Sequence[Result], walks: Sequence[Sequence[Choice]]) -> tuple[Effect, ...]:
    """Return the effects of all decisions that a walk made, strongest first. `walks` are the choices of each result.

    For the order, the strength is weighted by the number of walks that made the decision.
    """
    times: defaultdict[tuple[str, tuple[str, ...]], defaultdict[Option, list[float | None]]] = defaultdict(
        lambda: defaultdict(list))
    for result, walk in zip(results, walks, strict=True):
        ms = cost_ms(result.outcome)
        for choice in walk:
            times[choice.decision.name, choice.decision.subject][choice.option].append(ms)
    effects = (_effect(name, subject, by_option) for (name, subject), by_option in times.items())
    return tuple(sorted(effects, key=lambda effect: (-effect.strength * effect.met, -effect.ratio, effect.title)))


def _effect(name: str, subject: tuple[str, ...], by_option: dict[Option, list[float | None]]) -> Effect:
    options = tuple(
        OptionTimes(option, tuple(ms for ms in costs if ms is not None), sum(ms is None for ms in costs))
        for option, costs in sorted(by_option.items(), key=lambda item: option_order(item[0])))
    medians = [median(option.times_ms) for option in options if option.times_ms]
    ratio = max(medians) / min(medians) if medians and min(medians) > 0 else 1.0
    return Effect(name, subject, options, explained([option.times_ms for option in options]), ratio)


def explained(groups: Iterable[Sequence[float]]) -> float:
    """Return epsilon squared of the logarithms, at least 0; 0 if there is nothing to compare."""
    logs = [[log(ms) for ms in group if ms > 0] for group in groups]
    logs = [group for group in logs if group]
    count, values = sum(map(len, logs)), [value for group in logs for value in group]
    if len(logs) < 2 or count <= len(logs):
        return 0.0
    mean = fmean(values)
    total = sum((value - mean) ** 2 for value in values)
    between = sum(len(group) * (fmean(group) - mean) ** 2 for group in logs)
    noise = (total - between) / (count - len(logs))
    return min(1.0, max(0.0, (between - (len(logs) - 1) * noise) / total)) if total else 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """An effect as drawn: `rows` are (label, times, whether to draw dots). The label of the best walk's option is
    marked.
    """

    effect: Effect
    rows: tuple[tuple[str, OptionTimes, bool], ...]
    left_out: int


def shown_effects(facts: Facts) -> tuple[Shown, ...]:
    """Return the strongest effects among those with times for at least two options."""
    best = next((walk for result, walk in zip(facts.results, facts.walks, strict=True) if result is facts.best), ())
    chosen = {(choice.decision.name, choice.decision.subject): choice.option for choice in best}
    worth = [effect for effect in decision_effects(facts.judged, facts.walks)
             if sum(bool(option.times_ms) for option in effect.options) > 1]
    count = max(FEW_EFFECTS, sum(effect.strength >= WORTH for effect in worth[:MAX_EFFECTS]))
    return tuple(_shown(effect, chosen.get((effect.decision, effect.subject))) for effect in worth[:count])


def _shown(effect: Effect, best: Option | None) -> Shown:
    most = sorted(effect.options, key=lambda o: (o.option != best, -len(o.times_ms)))[:MOST_OPTIONS]
    kept = [option for option in effect.options if option in most]
    dots = sum(len(option.times_ms) for option in kept) <= MOST_DOTS
    labels = [f"{f'{BEST} ' if option.option == best else ''}{option_words(option.option)}" for option in kept]
    return Shown(effect, tuple(zip(labels, kept, [dots] * len(kept), strict=True)), len(effect.options) - len(kept))


def section(facts: Facts) -> Section:
    """Return the section with a figure for each decision, in columns if they fit."""
    title, shown = "What each decision did", shown_effects(facts)
    if not shown:
        return Section("effects", "Decisions", title, nothing(
            "There is nothing to compare yet: no decision has timed evaluations for two of its options."))
    times = [ms for one in shown for _, option, _ in one.rows for ms in option.times_ms if ms > 0]
    span = min(times), max(times)
    figures = "".join(
        f"<div><h3>{_caption(one)}</h3>{_figure(number, one, span, facts.sought)}</div>"
        for number, one in enumerate(shown, 1)
    )
    every = len({(choice.decision.name, choice.decision.subject) for walk in facts.walks for choice in walk})
    text = (
        f"The {len(shown)} of {every} decisions that explain most of the spread of the "
        f"{'times' if facts.sought.objective.is_time else f'objective, {escape(facts.sought.axis)}'}; all have the "
        f"same axis. "
        "A box spans the middle half of an option's times, its line is the median, the whiskers reach from the 2nd to "
        "the 98th percentile; "
        f"{BEST}: the best plan's option; in brackets: timed, failed. Walks take good options together more and more "
        "often, so a decision may only go along with another that matters."
    )
    return Section("effects", "Decisions", title, note(text) + f'<div class="columns">{figures}</div>')


def _caption(shown: Shown) -> str:
    effect = shown.effect
    more = f", {shown.left_out} seldom taken options left out" if shown.left_out else ""
    return (
        f'{escape(effect.title)} <span class="soft">explains {describe_percent(effect.strength)} in {effect.met:,} '
        f'walks; medians differ '
        f"{effect.ratio:.3g}x{more}</span>"
    )


def _figure(number: int, shown: Shown, span: tuple[float, float], sought: Sought) -> str:
    traces: list[Json] = []
    for place, (label, option, dots) in enumerate(shown.rows):
        if option.times_ms:
            traces += _box(place, label, option, dots, sought.unit)
    places = list(range(len(shown.rows)))
    labels = [f"{label}  ({len(o.times_ms)}{f', {o.failures}' if o.failures else ''})" for label, o, _ in shown.rows]
    layout = {"xaxis": log_axis(sought.axis, *span, range=[log10(0.93 * span[0]), log10(1.07 * span[1])]),
              "yaxis": {"tickvals": places, "ticktext": labels, "range": [len(places) - 0.4, -0.6], "automargin": True,
                        "showgrid": False, "zeroline": False, "fixedrange": True},
              "margin": LAYOUT["margin"] | {"t": 0}}
    return Figure(f"effect-{number}", f"times by option of {shown.effect.title}", (View("", tuple(traces), layout),),
                  70 + 26 * len(places)).html()


def _box(place: int, label: str, option: OptionTimes, dots: bool, unit: str) -> Iterable[Json]:
    low, first, middle, third, high = quantiles(option.times_ms)
    color = "@best" if label.startswith(BEST) else "@timed"
    yield {"type": "box", "orientation": "h", "y": [place], "q1": [first], "median": [middle], "q3": [third],
           "lowerfence": [low], "upperfence": [high], "width": 0.62, "line": {"color": color, "width": 1.5},
           "fillcolor": f"{color}_faint", "hoverinfo": "x", "boxpoints": False}
    if dots:
        yield {
            "type": "scatter",
            "mode": "markers",
            "x": list(option.times_ms),
            "y": jittered(place, len(option.times_ms)),
            "marker": {"color": color, "size": 5, "opacity": 0.6},
            "hovertemplate": f"%{{x:.4g}}{unit}<extra></extra>",
        }


def quantiles(times_ms: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Return the 2nd, 25th, 50th, 75th and 98th percentile."""
    low, first, middle, third, high = (float(value) for value in np.percentile(times_ms, (2, 25, 50, 75, 98)))
    return low, first, middle, third, high


def jittered(place: float, count: int) -> list[float]:
    """Return `count` positions around `place` that keep dots apart; deterministic (multiples of the golden ratio modulo
    1).
    """
    return [round(place + 0.36 * (2 * ((0.5 + n * 0.6180339887) % 1) - 1), 3) for n in range(count)]


def stills(facts: Facts) -> list[Still]:
    """Return a picture for each figure."""
    return [Still(f"effect-{number}", lambda axes, one=one: _draw(axes, one, facts.sought),  # type: ignore[misc]  # binds `one` now
                  (8, 1.4 + 0.3 * len(one.rows))) for number, one in enumerate(shown_effects(facts), 1)]


def _draw(axes: Axes, shown: Shown, sought: Sought) -> None:
    effect = shown.effect
    plain(axes, sought.axis, title=f"{effect.title} (explains {describe_percent(effect.strength)})")
    for place, (label, option, dots) in enumerate(shown.rows):
        if not option.times_ms:
            continue
        low, first, middle, third, high = quantiles(option.times_ms)
        color = LIGHT.best if label.startswith(BEST) else LIGHT.timed
        axes.bxp(
            [{"whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high}],
            positions=[place],
            widths=0.6,
            orientation="horizontal",
            showfliers=False,
            boxprops={"color": color},
            medianprops={"color": color},
            whiskerprops={"color": color},
            capprops={"color": color},
        )
        if dots:
            axes.plot(option.times_ms, jittered(place, len(option.times_ms)), "o", color=color, markersize=3, alpha=0.6,
                      markeredgewidth=0)
    axes.set_yticks(range(len(shown.rows)), [f"{label.replace(BEST, '*')} ({len(option.times_ms)})"
                                             for label, option, _ in shown.rows])
    axes.set_ylim(len(shown.rows) - 0.4, -0.6)
    log_scale(axes, "x")
