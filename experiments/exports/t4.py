"""All evaluations in the T4 format, the auto-tuning community's common format for results; times in milliseconds.

`t4_schema.json` describes the output and is stricter than the format itself. A configuration is a row of
`experiments.exports.flat`. The time of a plan is its median, as everywhere in antune.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias, assert_never

from experiments.exports.chosen import Chosen
from experiments.exports.flat import rows_of
from experiments.values.records import Result
from experiments.values.sought import Sought, own_values, sought_for
from generator.plan import Value
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Illegal,
    LaunchFailed,
    Outcome,
    Timed,
    TimedOut,
    WrongResult,
    program_metrics,
)

VERSION = "1.0.0"
Invalidity: TypeAlias = Literal["correct", "compile", "runtime", "timeout", "correctness", "constraints"]


def t4_files(chosen: Chosen) -> dict[str, str | bytes]:
    """Return the file of results, by its name."""
    info = chosen.info
    configurations = rows_of([result.evaluation.plan for result in chosen.results])
    sought = sought_for(info.options.objective, info.subject)
    results = [_result(result, row, sought) for result, row in zip(chosen.results, configurations, strict=True)]
    metadata = {"timeunit": "milliseconds", "device_name": info.device.name, "platform": info.device.platform,
                "driver": info.device.driver, "kernel_name": info.subject.name,
                "problem_size": dict(info.subject.sizes), "tuner": "antune",
                "explorer": info.options.explorer, "seed": info.options.seed}
    data = {"schema_version": VERSION, "metadata": metadata, "results": results}
    return {f"{chosen.name}_T4.json": json.dumps(data, indent=1) + "\n"}


def invalidity(outcome: Outcome) -> Invalidity:
    """Return the format's word for an outcome."""
    match outcome:
        case Timed():
            return "correct"
        case CompileFailed():
            return "compile"
        case LaunchFailed() | Crashed():
            return "runtime"
        case TimedOut():
            return "timeout"
        case WrongResult():
            return "correctness"
        case Illegal():
            return "constraints"
        case _:
            assert_never(outcome)


def _result(result: Result, configuration: dict[str, Value], sought: Sought) -> dict[str, Any]:
    outcome, found = result.outcome, invalidity(result.outcome)
    spent = outcome.durations
    times: dict[str, Any] = {"compilation": spent.compile_s * 1e3, "framework": spent.generate_s * 1e3,
                             "search_algorithm": 0, "validation": spent.check_s * 1e3}
    measurements: list[dict[str, Any]] = [{"name": "time", "value": found, "unit": "milliseconds"}]
    if isinstance(outcome, Timed):
        times["runtimes"] = list(outcome.samples_ms)
        measurements[0]["value"] = outcome.median_ms
        measurements += [{"name": name, "value": value, "unit": ""} for name, value in program_metrics(outcome.kernels)]
        measurements += [{"name": sought.objective.text, "value": value, "unit": ""}
                         for value in own_values(sought, result)]
    return {"timestamp": result.finished_at, "configuration": configuration, "objectives": [sought.objective.text],
            "times": times,
            "invalidity": found, "correctness": int(found == "correct"), "measurements": measurements}
