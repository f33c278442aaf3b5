"""Convert a run to a recording of its walks: `python -m experiments.benchmarks.record_walks RUN_DIR --out FILE.json.gz
[--max N]`.

The run should be one of `antune tune FILE.c --explorer random`, whose walks are a fair sample of the space. The
recording contains what an explorer would be told about each walk: its choices, its outcome, the times of its kernels
and the static model's metrics. If an older version stored no metrics, they are computed from the stored plans. The
default plan (evaluation 0) is not a walk and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, assert_never

import typer

from experiments.script import run
from experiments.store import read_store
from experiments.values.records import Result, RunInfo
from generator.errors import IllegalPlan, InputError
from graph.walk import choices_from_json
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Illegal,
    KernelTime,
    LaunchFailed,
    Outcome,
    Timed,
    TimedOut,
    WrongResult,
)
from runners.rating import static_ratings
from runners.replay.recording import Origin, Recording, Row
from runners.replay.walks_file import write_walks

TIME_DIGITS, METRIC_DECIMALS, LONGEST_MESSAGE = 5, 4, 120


def main(directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", show_default=False)],
         out: Annotated[Path, typer.Option(metavar="FILE.json.gz", show_default=False)],
         most: Annotated[int | None, typer.Option("--max", min=1, show_default=False,
                                                  help="Only the first so many walks.")] = None) -> None:
    """Write the walks of a run to a file that `antune suite recorded` can search."""
    with read_store(directory) as store:
        info, results, texts = store.info(), store.results(), store.walks()
    walks = [r for r in results if r.evaluation.number > 0][:most]
    if not walks:
        raise InputError(
            f"{directory} has no finished evaluation but the default plan; give it time, or start a new run"
        )
    outcomes = [with_metrics(info, result) for result in walks]
    try:
        write_walks(
            out, recording_of(out.name.partition(".")[0], info, [texts[r.evaluation.number] for r in walks], outcomes)
        )
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}; choose another with --out") from None
    timed = [outcome for outcome in outcomes if isinstance(outcome, Timed)]
    unrated = sum(not all(kernel.metrics for kernel in outcome.kernels) for outcome in timed)
    print(
        f"{len(walks)} walks, {len(timed)} timed ({unrated} of these without metrics), "
        f"{out.stat().st_size / 1000:.0f} kB"
    )


def with_metrics(info: RunInfo, result: Result) -> Outcome:
    """Return the outcome of `result`, with the static model's metrics if it was stored without any.

    They remain absent for a plan that is illegal in this version.
    """
    outcome = result.outcome
    if not isinstance(outcome, Timed) or any(kernel.metrics for kernel in outcome.kernels):
        return outcome
    try:
        ratings = dict(static_ratings(info.program, result.evaluation.plan, info.device.target))
    except IllegalPlan:
        return outcome
    kernels = tuple(replace(kernel, metrics=ratings.get(kernel.statements, ())) for kernel in outcome.kernels)
    return replace(outcome, kernels=kernels)


def recording_of(name: str, info: RunInfo, walks: Sequence[str], outcomes: Sequence[Outcome]) -> Recording:
    """Return the recording of `walks` (texts of their choices) with their `outcomes`, rounded to meaningful digits."""
    rows = tuple(_row(walk, outcome) for walk, outcome in zip(walks, outcomes, strict=True))
    options, device = info.options, info.device
    origin = Origin(info.program.name, " ".join(options.compilation.defines), f"{device.platform} {device.driver}",
                    info.created_at[:10])
    return Recording(name, device.name, rows, False, origin)


def _row(walk: str, outcome: Outcome) -> Row:
    choices = choices_from_json(walk)
    return Row(tuple((c.decision.name, c.decision.subject, c.option) for c in choices), _short(outcome))


def _short(outcome: Outcome) -> Outcome:
    match outcome:
        case Timed():
            return replace(outcome, median_ms=_significant(outcome.median_ms),
                           kernels=tuple(_kernel(kernel) for kernel in outcome.kernels))
        case TimedOut():
            return outcome
        case Illegal() | CompileFailed() | LaunchFailed() | Crashed() | WrongResult():
            return replace(outcome, message=outcome.message.partition("\n")[0][:LONGEST_MESSAGE])
        case _:
            assert_never(outcome)


def _kernel(kernel: KernelTime) -> KernelTime:
    metrics = tuple((name, round(value, METRIC_DECIMALS)) for name, value in kernel.metrics)
    return KernelTime(kernel.statements, _significant(kernel.median_ms), metrics)


def _significant(ms: float) -> float:
    return float(f"{ms:.{TIME_DIGITS}g}")


if __name__ == "__main__":
    run(main)
