"""The objective of a call of `tune_kernel`: its metrics, and the number to minimize or maximize."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from antune.kernel_tuner.checking import shown
from experiments.values.objective import HIGHER, LOWER
from generator.errors import InputError
from generator.templates.expressions import Restriction, parse_restriction
from metrics.outcome import Outcome, Timed
from runners.replay.kernel_tuner import ERROR

TIMES = ("framework_time", "strategy_time", "compile_time", "verification_time", "benchmark_time")
MEASURED = ("time", *TIMES)
"""The numbers that every entry of a configuration has, besides its parameters: milliseconds."""
Metric = str | Callable[[dict[str, Any]], float]
Entry = dict[str, Any]


@dataclass(frozen=True)
class Objective:
    """The objective: the value of `text`, an expression over a configuration, its times and metrics; the most or least
    of it.
    """

    text: str
    higher: bool
    metrics: Mapping[str, Metric]

    def measured(self, entry: Entry) -> Entry:
        """Return the entry with its metrics. Raises InputError if one cannot be computed."""
        found = dict(entry)
        if ERROR not in entry:
            for name, metric in self.metrics.items():
                found[name] = _called(name, metric, found) if callable(metric) else _value(metric, "metric", found)
        return found

    def kept(self, entry: Entry) -> Entry:
        """Return the entry for the cache: before version 1.4, Kernel Tuner expects the kind of a failure in the
        objective.
        """
        return {**entry, self.text: entry[ERROR]} if ERROR in entry and self.text in self.metrics else entry

    def value(self, entry: Entry) -> float | None:
        """Return the value; None for a configuration that failed. Raises InputError unless it is a number above 0."""
        if ERROR in entry:
            return None
        found = entry[self.text] if self.text in entry else _value(self.text, "objective", entry)
        if not isinstance(found, int | float) or not found > 0:
            raise InputError(f"the objective `{self.text}` is {found!r}; a search compares ratios and needs numbers "
                             "above 0")
        return float(found)

    def told(self, outcome: Outcome, entry: Entry) -> Outcome:
        """Return an outcome for an explorer, which minimizes times: with the objective, or its reciprocal, in place of
        the time.
        """
        value = self.value(entry)
        if value is None or not isinstance(outcome, Timed) or self.text == "time":
            return outcome
        cost = 1 / value if self.higher else value
        return replace(outcome, median_ms=cost, low_ms=cost, high_ms=cost, samples_ms=(cost,))

    def best(self, entries: Sequence[Entry]) -> Entry | None:
        """Return the best entry; of equal ones the first."""
        valued = [(value, entry) for entry in entries if (value := self.value(entry)) is not None]
        choose = max if self.higher else min
        return choose(valued, key=lambda pair: pair[0])[1] if valued else None


def make_objective(objective: Any, higher: bool | None, metrics: Mapping[str, Metric] | None,
                   parameters: Sequence[str], observed: bool = False) -> Objective:
    """Return the objective of a call with these `parameters`. `observed`: observers add further names to results.

    Raises:
        InputError: several objectives, a name that no entry will have, or an unknown direction.
    """
    if objective is not None and not isinstance(objective, str):
        raise InputError(f"objective is {shown(objective)}; antune seeks one, named or written as an expression")
    text, known = objective or "time", [*parameters, *MEASURED]
    for name, metric in _listed(metrics):
        if not callable(metric):
            parsed = _parsed(name, metric)
            if not observed:
                _check_names(parsed, f"the metric {name}", known)
        known.append(name)
    if text not in known and not observed:
        _check_objective(text, known)
    if higher is None and text not in HIGHER + LOWER:
        raise InputError(f"whether more or less of `{text}` is better is not clear; give "
                         "objective_higher_is_better=True or False")
    if higher is not None and not isinstance(higher, bool):
        raise InputError(f"objective_higher_is_better is {higher!r}; give True or False")
    return Objective(text, text in HIGHER if higher is None else higher, dict(_listed(metrics)))


def _listed(metrics: object) -> list[tuple[str, Metric]]:
    if metrics is None:
        return []
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is a {type(metrics).__name__}; give a dictionary of names, each with an expression "
                         "or a function of the results")
    return list(metrics.items())


def _parsed(name: str, metric: object) -> Restriction:
    if not isinstance(metric, str):
        raise InputError(f"the metric {name} is {shown(metric)}; give an expression as text, or a function of the "
                         "results")
    return parse_restriction(metric, f"metric {name}")


def _check_objective(text: str, known: Sequence[str]) -> None:
    try:
        parsed = parse_restriction(text, "objective")
    except InputError:
        raise InputError(f"the objective `{text}` is neither one of {_shown(known)} nor an expression over them; "
                         "define it in metrics") from None
    _check_names(parsed, "the objective", known)


def _check_names(parsed: Restriction, what: str, known: Collection[str]) -> None:
    if missing := [name for name in parsed.names if name not in known]:
        raise InputError(f"{what} `{parsed.text}` uses `{missing[0]}`, which no result has; there are {_shown(known)}: "
                         "use one of these, or define it in metrics, before what uses it")


def _shown(known: Collection[str]) -> str:
    return ", ".join(known)


def _called(name: str, metric: Callable[[dict[str, Any]], float], entry: Entry) -> float:
    """Call the user's function. Raises InputError if it raises an exception, or does not return a number."""
    try:
        return float(metric(dict(entry)))
    except Exception as error:  # any exception, as this is the user's code
        raise InputError(f"the metric {name} cannot be computed: {type(error).__name__}: {error}") from error


def _value(text: str, kind: str, entry: Entry) -> float:
    parsed = parse_restriction(text, kind)
    _check_names(parsed, f"the {kind}", entry)
    return parsed.number(entry)
