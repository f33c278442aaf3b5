"""antune's own recordings: walks of a space, as gzipped JSON whose bytes depend only on its contents.

    {"antune_recording": 1, "name", "program", "size", "device", "driver", "made",
     "decisions": [[name, [subject, ...]], ...],
     "rows": [{"c": [[number of the decision, option], ...], "status": kind, "ms": median, "message": short text,
               "kernels": [[[statement, ...], ms, {metric: value}], ...], "s": total seconds}, ...]}

`ms` and `kernels` belong to the status "timed", `message` to all others. Only a walk's total seconds are kept, which
count as timing after reading; the details of an interval, of samples and of a crash are not kept.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never, get_args

from generator.json_fields import RecordingEntry
from graph.recorded import Answer
from graph.space import Option
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Durations,
    Illegal,
    KernelTime,
    LaunchFailed,
    Outcome,
    Phase,
    Timed,
    TimedOut,
    WrongResult,
)
from runners.replay.recording import Origin, Recording, Row, make_recording

VERSION = 1
_Numbers = dict[tuple[str, tuple[str, ...]], int]


def write_walks(path: Path, recording: Recording) -> None:
    """Write `recording` to `path`, completely or not at all. Raises OSError."""
    numbers: _Numbers = {}
    rows = [_row_to_data(row, numbers) for row in recording.rows]
    origin = recording.origin
    data = {"antune_recording": VERSION, "name": recording.name, "program": origin.program, "size": origin.size,
            "device": recording.device, "driver": origin.driver, "made": origin.made,
            "decisions": [[name, list(subject)] for name, subject in numbers], "rows": rows}
    packed = gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 9, mtime=0)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(packed)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _row_to_data(row: Row, numbers: _Numbers) -> dict[str, Any]:
    choices = [[numbers.setdefault((name, subject), len(numbers)), option] for name, subject, option in row.choices]
    return {"c": choices, **_outcome_to_data(row.outcome), "s": round(row.seconds, 3)}


def _outcome_to_data(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Timed():
            kernels = [[list(kernel.statements), kernel.median_ms, dict(kernel.metrics)] for kernel in outcome.kernels]
            return {"status": "timed", "ms": outcome.median_ms, "kernels": kernels}
        case Illegal(message, _):
            return {"status": "illegal", "message": message}
        case CompileFailed(message, _):
            return {"status": "compile_failed", "message": message}
        case LaunchFailed(message, _):
            return {"status": "launch_failed", "message": message}
        case TimedOut():
            return {"status": "timed_out", "message": outcome.message}
        case Crashed(_, message, _):
            return {"status": "crashed", "message": message}
        case WrongResult(message, _):
            return {"status": "wrong_result", "message": message}
        case _:
            assert_never(outcome)


def recording_from_walks(data: Mapping[str, Any], place: RecordingEntry) -> Recording:
    """Return the recording in the contents of a file of walks. Raises InputError, naming the entry."""
    if data["antune_recording"] != VERSION:
        place.fault(f"it has version {data['antune_recording']!r} of the format; this antune reads version {VERSION}",
                    "update antune")
    decisions = [_decision(entry, place) for entry in place.items(data.get("decisions"), "decisions")]
    rows = [_row(row, decisions, RecordingEntry(place.path, f"rows[{number}]"))
            for number, row in enumerate(place.items(data.get("rows"), "rows"))]
    program, size, driver, made = (str(data.get(name, "")) for name in ("program", "size", "driver", "made"))
    name, device = (place.text(data.get(name), name) for name in ("name", "device"))
    return make_recording(place.path, name, device, rows, False, Origin(program, size, driver, made))


def _decision(entry: object, place: RecordingEntry) -> tuple[str, tuple[str, ...]]:
    parts = place.items(entry, "decisions")
    if len(parts) != 2:
        place.fault("a decision is not a name and a subject")
    return place.text(parts[0], "decisions"), place.names(parts[1], "decisions")


def _row(row: object, decisions: list[tuple[str, tuple[str, ...]]], place: RecordingEntry) -> Row:
    fields = place.table(row, "the row")
    choices = tuple([_answer(choice, decisions, place) for choice in place.items(fields.get("c"), "c")])
    return Row(choices, _outcome(fields, place))


def _answer(choice: object, decisions: list[tuple[str, tuple[str, ...]]], place: RecordingEntry) -> Answer:
    match choice:
        case [int(number), option] if 0 <= number < len(decisions):
            return (*decisions[number], _option(option, place))
        case _:
            return place.fault(f"the choice {choice!r} is not a number of a decision and an option")


def _option(option: object, place: RecordingEntry) -> Option:
    if isinstance(option, list) and all(isinstance(part, int) for part in option):
        return tuple(option)
    return place.value(option, "c")


def _outcome(fields: Mapping[str, Any], place: RecordingEntry) -> Outcome:
    spent = Durations(time_s=place.duration(fields.get("s"), "s"))
    if fields.get("status") == "timed":
        ms = place.time(fields.get("ms"), "ms")
        kernels = tuple([_kernel(kernel, place) for kernel in place.items(fields.get("kernels"), "kernels")])
        return Timed(ms, ms, ms, (ms,), ms, kernels, place.entry, False, spent)
    return _failure(fields.get("status"), place.text(fields.get("message", ""), "message"), spent, place)


def _failure(status: object, message: str, spent: Durations, place: RecordingEntry) -> Outcome:
    match status:
        case "illegal":
            return Illegal(message, spent)
        case "compile_failed":
            return CompileFailed(message, spent)
        case "launch_failed":
            return LaunchFailed(message, spent)
        case "timed_out":
            return _timed_out(message, spent)
        case "crashed":
            return Crashed("time", message, spent)
        case "wrong_result":
            return WrongResult(message, spent)
        case other:
            return place.fault(f"`status` is {other!r}, no outcome that this antune knows")


def _timed_out(message: str, spent: Durations) -> TimedOut:
    """Return the outcome with this message."""
    phases: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}
    found = re.fullmatch(r"(\w+) took longer than ([0-9.e+-]+) s", message)
    if found and found[1] in phases:
        return TimedOut(phases[found[1]], float(found[2]), spent)
    return TimedOut("time", spent.time_s, spent)


def _kernel(entry: object, place: RecordingEntry) -> KernelTime:
    match entry:
        case [list(statements), int() | float() as ms, dict(metrics)]:
            values = tuple([(name, place.number(value, name)) for name, value in metrics.items()])
            return KernelTime(place.names(statements, "kernels"), place.duration(ms, "kernels"), values)
        case _:
            return place.fault(f"the kernel {entry!r} is not statements, milliseconds and metrics")
