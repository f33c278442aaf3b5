"""A schedule of any kind: the union of the kinds, and their common operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from generator.schedules.choice import ScheduleChoice, choice_from_json, choice_words
from generator.schedules.hyperplanes import Hyperplanes, hyperplanes_from_json, hyperplanes_words
from generator.schedules.partition import Partition, partition_from_json, partition_words
from generator.schedules.stages import Stages, stages_from_json, stages_words
from generator.schedules.time_tiles import TimeTiles, time_tiles_from_json, time_tiles_words

ONE_THREAD = "loops in one thread"

Scheduled: TypeAlias = ScheduleChoice | Partition | Hyperplanes
"""A schedule of the whole program by loops."""

Schedule: TypeAlias = Scheduled | Stages | TimeTiles


def serial_of(schedule: Schedule) -> tuple[str, ...]:
    """Return the statements whose loops run in one thread; none for kinds of schedules without this option."""
    return () if isinstance(schedule, TimeTiles) else schedule.serial


def with_serial(schedule: Schedule, serial: tuple[str, ...]) -> Schedule:
    """Return `schedule` with the loops of these statements (sorted) in one thread; unchanged for kinds without this
    option.
    """
    return schedule if isinstance(schedule, TimeTiles) else replace(schedule, serial=serial)


_OTHERS: Mapping[str, Callable[[Any, str], Schedule]] = {
    "groups": partition_from_json,
    "nests": hyperplanes_from_json,
    "computed": stages_from_json,
    "steps": time_tiles_from_json,
}
"""The kinds except ScheduleChoice, by the field that no other kind has."""


def schedule_from_json(data: Any, where: str) -> Schedule:
    """Read the schedule at `where`; the kind follows from the field that no other kind has.

    Raises:
        InputError: a field is unknown, missing or has a bad value.
    """
    for name, read in _OTHERS.items():
        if isinstance(data, dict) and name in data:
            return read(data, where)
    return choice_from_json(data, where)


def schedule_words(schedule: Schedule) -> str:
    """Return `algorithm pluto, serialize SCCs no, ...` or `S0 S1 | S2; parallel reductions: S1`: a line for users."""
    reduced = f"; parallel reductions: {' '.join(schedule.reductions)}" if schedule.reductions else ""
    serial = serial_of(schedule)
    return _own_words(schedule) + reduced + (f"; {ONE_THREAD}: {' '.join(serial)}" if serial else "")


def _own_words(schedule: Schedule) -> str:
    match schedule:
        case ScheduleChoice():
            return choice_words(schedule)
        case Partition():
            return partition_words(schedule)
        case Hyperplanes():
            return hyperplanes_words(schedule)
        case Stages():
            return stages_words(schedule)
        case TimeTiles():
            return time_tiles_words(schedule)
        case _:
            assert_never(schedule)
