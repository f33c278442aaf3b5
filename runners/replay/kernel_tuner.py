"""Kernel Tuner's cache files: all configurations of a kernel's parameters that were tried, with their times.

The objective is the file's own `time`, in milliseconds. Kernel Tuner marks a failed configuration by the name of one of
its error classes: before version 1.4 in place of the objective's number, since then under `__error__`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generator.json_fields import RecordingEntry
from generator.plan import Value
from metrics.outcome import CompileFailed, Durations, Illegal, LaunchFailed, Outcome, Timed
from metrics.statistics import median_interval
from runners.replay.recording import Origin, Recording, Row, make_recording

_MS = 1e-3
ERROR = "__error__"
"""The field of entries for the name of a failure."""
ERRORS = ("CompilationFailedConfig", "RuntimeFailedConfig", "InvalidConfig", "ErrorConfig")


def recording_from_cache(
    data: Mapping[str, Any], place: RecordingEntry, name: str, notes: tuple[str, ...]
) -> Recording:
    """Return the recording in the contents of a cache file. Raises InputError, naming the entry."""
    keys = place.names(data.get("tune_params_keys"), "tune_params_keys")
    entries = place.table(data.get("cache"), "cache")
    rows = [_row(key, entry, keys, RecordingEntry(place.path, key)) for key, entry in entries.items()]
    origin = Origin(str(data.get("kernel_name", "")), _size(data.get("problem_size", "")))
    return make_recording(place.path, name, str(data.get("device_name", "unknown device")), rows, True, origin, notes)


def _row(key: str, entry: object, keys: tuple[str, ...], place: RecordingEntry) -> Row:
    fields = place.table(entry, "the entry")
    if missing := [name for name in keys if name not in fields]:
        place.fault(f"it lacks the parameter `{missing[0]}` of tune_params_keys")
    values = [(name, place.value(fields[name], name)) for name in keys]
    if key != ",".join([str(value) for _, value in values]):
        place.fault("its key is not made of the values of tune_params_keys", "use a file that Kernel Tuner wrote")
    return Row(parameter_choices(values), _outcome(key, fields, place))


def parameter_choices(values: list[tuple[str, Value]]) -> tuple[tuple[str, tuple[str, ...], Value], ...]:
    """Return values of named parameters as the choices of a row."""
    return tuple([(name, (), value) for name, value in values])


def _outcome(key: str, fields: Mapping[str, Any], place: RecordingEntry) -> Outcome:
    times = place.times(fields.get("times") or [], "times")
    spent = Durations(
        (_ms(fields, "framework_time", place) + _ms(fields, "strategy_time", place)) * _MS,
        _ms(fields, "compile_time", place) * _MS,
        _ms(fields, "verification_time", place) * _MS,
        (sum(times) or _ms(fields, "benchmark_time", place)) * _MS,
    )
    if (error := error_in(fields)) is not None:
        return failure(error, spent, place, ERROR if ERROR in fields else "time")
    if "time" not in fields:
        place.fault("it has no `time`")
    return timed(place.time(fields["time"], "time"), times, key, spent)


def error_in(fields: Mapping[str, Any]) -> str | None:
    """Return the name of an entry's failure, written by any version of Kernel Tuner; None if it did not fail."""
    named = fields.get(ERROR, fields.get("time"))
    if isinstance(named, str):
        return named
    return next((value for value in fields.values() if isinstance(value, str) and value in ERRORS), None)


def failure(error: str, spent: Durations, place: RecordingEntry, field: str) -> Outcome:
    """Return the outcome for Kernel Tuner's name of an error, which is in `field`.

    Raises:
        InputError: an unknown name.
    """
    match error:
        case "CompilationFailedConfig":
            return CompileFailed("the compiler refused this configuration when it was recorded", spent)
        case "RuntimeFailedConfig" | "ErrorConfig":
            return LaunchFailed("this configuration failed on the device when it was recorded", spent)
        case "InvalidConfig":
            return Illegal("this configuration broke a restriction when it was recorded", spent)
        case _:
            neither = "neither a number nor" if field == "time" else "not"
            return place.fault(f"`{field}` is {error!r:.60}, {neither} one of {', '.join(ERRORS)}")


def timed(mean_ms: float, times_ms: tuple[float, ...], key: str, spent: Durations) -> Timed:
    """Return a measured configuration, with the recorded mean as the median; the interval contains it."""
    interval = median_interval(times_ms) if times_ms else None
    low, high = (interval.low, interval.high) if interval else (mean_ms, mean_ms)
    return Timed(mean_ms, min(low, mean_ms), max(high, mean_ms), times_ms or (mean_ms,), mean_ms, (), key, False, spent)


def _ms(fields: Mapping[str, Any], name: str, place: RecordingEntry) -> float:
    """Return a duration, which older files lack."""
    value = fields.get(name)
    return 0.0 if value is None else place.duration(value, name)


def _size(value: object) -> str:
    return " x ".join(str(part) for part in value) if isinstance(value, list) else str(value)
