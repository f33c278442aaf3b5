"""What `tune_kernel` returns: a dictionary per configuration, and what the search went after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, assert_never

from antune.kernel_tuner.caching import ERROR, Entry
from generator.errors import InputError
from generator.templates.expressions import parse_restriction
from metrics.outcome import CompileFailed, Crashed, Illegal, LaunchFailed, Outcome, Timed, TimedOut, WrongResult

HIGHER = ("GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "GFLOPS/W", "TFLOPS/W", "GFLOP/J", "TFLOP/J")
"""Objectives of which more is better where the user does not say."""
LOWER = ("time", "energy", "fitness", "cost", "loss")
Metric = str | Callable[[dict[str, Any]], float]


def error_of(outcome: Outcome) -> str | None:
    """The name that Kernel Tuner gives to a failure; None for what was timed."""
    match outcome:
        case Timed():
            return None
        case CompileFailed():
            return "CompilationFailedConfig"
        case LaunchFailed() | TimedOut() | Crashed():
            return "RuntimeFailedConfig"
        case Illegal() | WrongResult():
            return "InvalidConfig"
        case _:
            assert_never(outcome)


def entry_of(configuration: Mapping[str, Any], outcome: Outcome, strategy_ms: float, framework_ms: float) -> Entry:
    """A configuration with its times in milliseconds: `time` is the mean of all runs, as there."""
    spent = outcome.durations
    entry = {**configuration, "compile_time": spent.compile_s * 1e3, "verification_time": spent.check_s * 1e3,
             "benchmark_time": spent.time_s * 1e3, "strategy_time": strategy_ms,
             "framework_time": framework_ms + spent.generate_s * 1e3, "timestamp": str(datetime.now(UTC))}
    if isinstance(outcome, Timed):
        return {**entry, "time": fmean(outcome.samples_ms), "times": list(outcome.samples_ms)}
    return {**entry, "time": error_of(outcome), ERROR: error_of(outcome), "message": outcome.message}


@dataclass(frozen=True)
class Objective:
    """What is sought: the value of `text` over a configuration, its times and metrics; most or least of it."""

    text: str
    higher: bool
    metrics: Mapping[str, Metric]

    def measured(self, entry: Entry) -> Entry:
        """The entry with its metrics. Raises InputError where one cannot be computed."""
        found = dict(entry)
        if ERROR not in entry:
            for name, metric in self.metrics.items():
                found[name] = metric(dict(found)) if callable(metric) else _value(metric, "metric", found)
        return found

    def value(self, entry: Entry) -> float | None:
        """None for a configuration that failed. Raises InputError where it is no number above 0."""
        if ERROR in entry:
            return None
        found = entry[self.text] if self.text in entry else _value(self.text, "objective", entry)
        if not isinstance(found, int | float) or not found > 0:
            raise InputError(f"the objective `{self.text}` is {found!r}; a search compares ratios and needs numbers "
                             "above 0")
        return float(found)

    def told(self, outcome: Outcome, entry: Entry) -> Outcome:
        """What an explorer is told, which seeks short times: the objective, or its reciprocal, in their place."""
        value = self.value(entry)
        if value is None or not isinstance(outcome, Timed) or self.text == "time":
            return outcome
        cost = 1 / value if self.higher else value
        return replace(outcome, median_ms=cost, low_ms=cost, high_ms=cost, samples_ms=(cost,))

    def best(self, entries: Sequence[Entry]) -> Entry | None:
        """The best entry, the first of equals."""
        valued = [(value, entry) for entry in entries if (value := self.value(entry)) is not None]
        choose = max if self.higher else min
        return choose(valued, key=lambda pair: pair[0])[1] if valued else None


def make_objective(objective: Any, higher: bool | None, metrics: Mapping[str, Metric] | None) -> Objective:
    """The objective of a call. Raises InputError: several objectives, or it is not clear what is better."""
    if objective is not None and not isinstance(objective, str):
        raise InputError(f"objective is {objective!r}; antune seeks one, named or written as an expression")
    text = objective or "time"
    if higher is None and text not in HIGHER + LOWER:
        raise InputError(f"whether more or less of `{text}` is better is not clear; give "
                         "objective_higher_is_better=True or False")
    for name, metric in (metrics or {}).items():
        if not callable(metric):
            parse_restriction(metric, f"metric {name}")
    return Objective(text, text in HIGHER if higher is None else higher, metrics or {})


def _value(text: str, kind: str, entry: Entry) -> float:
    parsed = parse_restriction(text, kind)
    if missing := [name for name in parsed.names if name not in entry]:
        raise InputError(f"the {kind} `{text}` uses `{missing[0]}`; there are "
                         f"{', '.join(name for name in entry if name.isidentifier() and name != 'times')}")
    return parsed.number(entry)
