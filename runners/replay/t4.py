"""T4 result files, the common format of the auto-tuning community: configurations with their measurements.

The objective is the measurement `time`, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generator.json_fields import RecordingEntry
from metrics.outcome import CompileFailed, Durations, Illegal, LaunchFailed, Outcome, WrongResult
from runners.replay.kernel_tuner import parameter_choices, timed
from runners.replay.recording import Recording, Row, make_recording

_MS = 1e-3
_UNITS = ("", "ms", "milisecond", "miliseconds", "millisecond", "milliseconds")


def recording_from_t4(data: Mapping[str, Any], place: RecordingEntry, name: str) -> Recording:
    """Return the recording in the contents of a T4 file. Raises InputError, naming the entry."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    unit = str(metadata.get("timeunit", ""))
    if unit not in _UNITS:
        place.fault(f"its times are in {unit!r}", "convert them to milliseconds")
    results = place.items(data.get("results"), "results")
    names: list[str] = []
    rows = []
    for number, result in enumerate(results):
        here = RecordingEntry(place.path, f"results[{number}]")
        fields = here.table(result, "the result")
        configuration = here.table(fields.get("configuration"), "configuration")
        names = names or list(configuration)
        if set(configuration) != set(names):
            here.fault(f"its parameters are {sorted(configuration)}, those of the first result {sorted(names)}")
        values = [(key, here.value(configuration[key], key)) for key in names]
        rows.append(Row(parameter_choices(values), _outcome(fields, ",".join(str(v) for _, v in values), here)))
    device = str(metadata.get("device_name") or name)
    return make_recording(place.path, name, device, rows, True)


def _outcome(fields: Mapping[str, Any], key: str, place: RecordingEntry) -> Outcome:
    spent = place.table(fields.get("times") or {}, "times")
    times = place.times(spent.get("runtimes") or [], "runtimes")
    durations = Durations((_ms(spent, "framework", place) + _ms(spent, "search_algorithm", place)) * _MS,
                          _ms(spent, "compilation", place) * _MS, _ms(spent, "validation", place) * _MS,
                          sum(times) * _MS)
    match fields.get("invalidity"):
        case "correct":
            return timed(place.time(_measured(fields, place), "time"), times, key, durations)
        case "compile":
            return CompileFailed("the compiler refused this configuration when it was recorded", durations)
        case "runtime" | "timeout":
            return LaunchFailed("this configuration failed on the device when it was recorded", durations)
        case "constraints":
            return Illegal("this configuration broke a restriction when it was recorded", durations)
        case "correctness":
            return WrongResult("this configuration computed a wrong result when it was recorded", durations)
        case other:
            return place.fault(f"`invalidity` is {other!r}, none of correct, compile, runtime, timeout, constraints, "
                               "correctness")


def _measured(fields: Mapping[str, Any], place: RecordingEntry) -> object:
    for entry in place.items(fields.get("measurements"), "measurements"):
        measurement = place.table(entry, "measurement")
        if measurement.get("name") == "time":
            if str(measurement.get("unit", "")) not in _UNITS:
                place.fault(f"its time is in {measurement['unit']!r}", "convert it to milliseconds")
            return measurement.get("value")
    return place.fault("none of its measurements is called `time`", "use a file that recorded times")


def _ms(fields: Mapping[str, Any], name: str, place: RecordingEntry) -> float:
    value = fields.get(name)
    return 0.0 if value is None else place.duration(value, name)
