"""All evaluations as a cache file of Kernel Tuner: times in milliseconds, failures by the names of its error classes.

Of equal plans the last counts. A plan that computed a wrong result is an invalid one there, too: the format has no word
of its own for that. `entry_of` makes the entries of `antune.kernel_tuner`'s caches, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import fmean
from typing import Any, assert_never

from experiments.exports.chosen import Chosen
from experiments.exports.flat import rows_of
from experiments.values.records import Result
from generator.plan import Value
from metrics.outcome import CompileFailed, Crashed, Illegal, LaunchFailed, Outcome, Timed, TimedOut, WrongResult
from runners.replay.kernel_tuner import ERROR


def cache_files(chosen: Chosen) -> dict[str, str | bytes]:
    """The cache file."""
    info = chosen.info
    rows = rows_of([result.evaluation.plan for result in chosen.results])
    names = list(rows[0])
    entries = {_key(row): _entry(result, row) for result, row in zip(chosen.results, rows, strict=True)}
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}
    data = {"device_name": info.device.name, "kernel_name": info.subject.name,
            "problem_size": [value for _, value in info.subject.sizes], "tune_params_keys": names,
            "tune_params": values, "objective": "time", "cache": entries}
    return {f"{chosen.name}_cache.json": json.dumps(data, indent=1) + "\n"}


def _key(row: dict[str, Value]) -> str:
    return ",".join(str(value) for value in row.values())


def _entry(result: Result, row: dict[str, Value]) -> dict[str, Any]:
    outcome = result.outcome
    entry = entry_of(row, outcome, 0.0, 0.0, result.finished_at)
    return {**entry, "time": outcome.median_ms} if isinstance(outcome, Timed) else entry


def entry_of(configuration: Mapping[str, Any], outcome: Outcome, strategy_ms: float, framework_ms: float,
             timestamp: str) -> dict[str, Any]:
    """The entry of a configuration: `time` is the mean of all runs, as Kernel Tuner has it; all times in milliseconds.

    A failure has its name under `__error__`, where versions from 1.4 on look for it, and as `time`, where those before
    do, and a `message`, which they skip.
    """
    spent = outcome.durations
    entry = {**configuration, "compile_time": spent.compile_s * 1e3, "verification_time": spent.check_s * 1e3,
             "benchmark_time": spent.time_s * 1e3, "strategy_time": strategy_ms,
             "framework_time": framework_ms + spent.generate_s * 1e3, "timestamp": timestamp}
    if isinstance(outcome, Timed):
        return {**entry, "time": fmean(outcome.samples_ms), "times": list(outcome.samples_ms)}
    failure = _failure(outcome)
    return {**entry, "time": failure, ERROR: failure, "message": outcome.message}


def _failure(outcome: Outcome) -> str:
    """The name of Kernel Tuner's error; empty for a plan that was timed."""
    match outcome:
        case Timed():
            return ""
        case CompileFailed():
            return "CompilationFailedConfig"
        case LaunchFailed() | TimedOut() | Crashed():
            return "RuntimeFailedConfig"
        case Illegal() | WrongResult():
            return "InvalidConfig"
        case _:
            assert_never(outcome)
