"""All evaluations as a cache file of Kernel Tuner: times in milliseconds, failures by the names of its error classes.

Of equal plans the last counts. A plan with a wrong result is entered as invalid, because the format has no error class
for that. `entry_of` also makes the entries of `antune.kernel_tuner`'s caches.
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
    """Return the cache file, by its name."""
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
    entry = entry_of(row, outcome, 0.0, result.finished_at)
    return {**entry, "time": outcome.median_ms} if isinstance(outcome, Timed) else entry


def entry_of(configuration: Mapping[str, Any], outcome: Outcome, strategy_ms: float,
             timestamp: str) -> dict[str, Any]:
    """Return the entry of a configuration. All times are in milliseconds; `time` is the mean of all runs, as in Kernel
    Tuner.

    The name of a failure is under `__error__`, where Kernel Tuner from version 1.4 on looks for it, and in `time`,
    where older versions do. Both ignore `message`.
    """
    spent = outcome.durations
    entry = {**configuration, "compile_time": spent.compile_s * 1e3, "verification_time": spent.check_s * 1e3,
             "benchmark_time": spent.time_s * 1e3, "strategy_time": strategy_ms,
             "framework_time": spent.generate_s * 1e3, "timestamp": timestamp}
    if isinstance(outcome, Timed):
        return {**entry, "time": fmean(outcome.samples_ms), "times": list(outcome.samples_ms)}
    failure = _failure(outcome)
    return {**entry, "time": failure, ERROR: failure, "message": outcome.message}


def _failure(outcome: Outcome) -> str:
    """Return the name of Kernel Tuner's error class; empty for a timed plan."""
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
