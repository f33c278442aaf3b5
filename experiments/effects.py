"""Which decisions mattered: the times of all walks, grouped by the option they took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from experiments.records import Result
from graph.space import Option
from graph.walk import choices_from_json
from metrics.outcome import cost_ms


@dataclass(frozen=True, slots=True)
class OptionTimes:
    """The times in milliseconds of all timed walks that took `option`, and how many walks failed."""

    option: Option
    times_ms: tuple[float, ...]
    failures: int


@dataclass(frozen=True, slots=True)
class Effect:
    """A decision with the times by option.

    `strength` is the largest median of an option over the smallest: 1 when the decision made no difference.
    Walks choose all decisions at once and good options are taken more often together, so this shows what went
    along with what, not what caused it.
    """

    decision: str
    subject: tuple[str, ...]
    options: tuple[OptionTimes, ...]
    strength: float

    @property
    def title(self) -> str:
        """`outer tile size of S0 S1`."""
        return f"{self.decision} of {' '.join(self.subject)}" if self.subject else self.decision


def decision_effects(results: Sequence[Result]) -> tuple[Effect, ...]:
    """The effect of every decision that some walk made, the strongest first."""
    times: dict[tuple[str, tuple[str, ...]], dict[Option, list[float | None]]] = defaultdict(
        lambda: defaultdict(list))
    for result in results:
        for choice in choices_from_json(result.evaluation.walk):
            key = (choice.decision.name, choice.decision.subject)
            times[key][choice.option].append(cost_ms(result.outcome))
    effects = (_effect(name, subject, by_option) for (name, subject), by_option in times.items())
    return tuple(sorted(effects, key=lambda effect: (-effect.strength, effect.title)))


def _effect(name: str, subject: tuple[str, ...], by_option: dict[Option, list[float | None]]) -> Effect:
    options = tuple(
        OptionTimes(option, tuple(ms for ms in costs if ms is not None), sum(ms is None for ms in costs))
        for option, costs in sorted(by_option.items(), key=lambda item: _order(item[0])))
    medians = [median(option.times_ms) for option in options if option.times_ms]
    strength = max(medians) / min(medians) if medians and min(medians) > 0 else 1.0
    return Effect(name, subject, options, strength)


def _order(option: Option) -> tuple[int, tuple[float, ...], str]:
    """Numbers by value, then everything else by text."""
    if isinstance(option, tuple):
        return 0, tuple(float(part) for part in option), ""
    return (1, (), option) if isinstance(option, str) else (0, (float(option),), "")
