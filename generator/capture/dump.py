"""Read the output of an instrumented run: its log and the raw data files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError, Location
from generator.frontend_c.source import ScopSource
from generator.program import NUMPY_TYPES

_LARGE_BYTES = 2**24  # a mapped file stays open, and a process may have a thousand open files


@dataclass
class Log:
    """The log of a run, which may have ended early.

    `parameters`, `defaults` (values that the harness chose) and `rooms` (the number of elements or rows behind a
    pointer, 0 if unknown): by name. `addresses`, `elements` (bytes) and `extents`: by the variable's number; for
    members of structures also the distance of their `pieces` and their size, in bytes. `wrong_size`: the number of a
    variable and the size of its elements in bytes, if the front end understood another one; then no data were read.
    `open`: the variable whose data was being read when the log ends. `done`: the results and times are complete.
    `rounded`: the number of following pairs of runs, with all arithmetic rounded up and rounded down. `complete`:
    no run failed. `threads`: the number of threads of the process. `error`: a message of the runtime.
    """

    parameters: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, int] = field(default_factory=dict)
    rooms: dict[str, int] = field(default_factory=dict)
    addresses: dict[int, int] = field(default_factory=dict)
    elements: dict[int, int] = field(default_factory=dict)
    extents: dict[int, list[int]] = field(default_factory=dict)
    pieces: dict[int, tuple[int, int]] = field(default_factory=dict)
    wrong_size: tuple[int, int] | None = None
    times_ms: list[float] = field(default_factory=list)
    open: int | None = None
    error: str = ""
    done: bool = False
    rounded: int = 0
    threads: int = 1
    complete: bool = False


def read_log(directory: Path) -> Log | None:
    """Return the log in `directory`; None if the run never reached the SCoP."""
    file = directory / "capture.log"
    if not file.is_file():
        return None
    log = Log()
    for line in file.read_text(encoding="utf-8").splitlines():
        _read_line(log, line)
    return log


def _read_line(log: Log, line: str) -> None:
    match line.split():
        case ["parameter", name, value]:
            log.parameters[name] = int(value)
        case ["default", name, value]:
            log.defaults[name] = int(value)
        case ["room", name, value]:
            log.rooms[name] = int(value)
        case ["size", k, found]:
            log.wrong_size = int(k), int(found)
        case ["variable", k, element, address, _]:
            log.elements[int(k)], log.addresses[int(k)], log.extents[int(k)] = int(element), int(address), []
            log.open = int(k)
        case ["extent", k, value]:
            log.extents[int(k)].append(int(value))
        case ["pieces", k, stride, piece]:
            log.pieces[int(k)] = int(stride), int(piece)
        case ["saved", _]:
            log.open = None
        case ["time", value]:
            log.times_ms.append(float(value))
        case ["error", k, *words]:
            log.error, log.open = " ".join(words), int(k) if int(k) >= 0 else None
        case ["done"]:
            log.done = True
        case ["down", pair]:
            log.rounded = int(pair) + 1
        case ["threads", count]:
            log.threads = int(count)
        case ["complete"]:
            log.complete = True
        case _:  # a progress mark, or a truncated line
            pass


def read_data(source: ScopSource, log: Log, directory: Path, direction: str,
              mapped: bool = False) -> dict[str, NDArray[Any]]:
    """Return the captured values: `direction` is "in" (all variables) or "out" (those written).

    "up0", "down0", "up1" ... are the outputs of a run with another rounding. With `mapped`, large arrays are
    read-only and stay in their files: for a single use, allocating memory would take longer than the use itself.
    """
    values = {}
    for k, variable in enumerate(source.variables):
        if direction == "in" or variable.written:
            file, kind = directory / f"{direction}_{k}.bin", np.dtype(NUMPY_TYPES[variable.type])
            raw = (np.asarray(np.memmap(file, kind, "r")) if mapped and file.stat().st_size >= _LARGE_BYTES
                   else np.fromfile(file, dtype=kind))
            values[variable.name] = raw.reshape(tuple(log.extents[k]))
    return values


def check_sizes(source: ScopSource, log: Log) -> None:
    """Refuse elements of another size than that of the type that the front end understood.

    Raises:
        InputError: the run found such a variable, and ended at the SCoP's entry.
    """
    if log.wrong_size is None:
        return
    variable, found = source.variables[log.wrong_size[0]], log.wrong_size[1]
    if variable.components:
        raise InputError(
            f"a structure of `{variable.name}` has {found} bytes, more or fewer than its {variable.components} "
            "numbers: declare it without alignment attributes",
            Location(source.file, source.first_line),
        )
    raise InputError(f"`{variable.name}` has elements of {found} bytes but its type was understood as "
                     f"`{variable.type}`; declare it with a standard arithmetic type",
                     Location(source.file, source.first_line))


def check_aliasing(source: ScopSource, log: Log) -> None:
    """Refuse two names for the same memory, whose dependences would be missed.

    Raises:
        InputError: two arrays overlap and at least one is written; names both.
    """
    ranges = [(log.addresses[k], log.addresses[k] + _reach(log, k), v)
              for k, v in enumerate(source.variables) if log.addresses.get(k)]
    for i, (low, high, one) in enumerate(ranges):
        for other_low, other_high, other in ranges[i + 1:]:
            beside = (one.field is not None and other.field is not None and one.field.base == other.field.base
                      and not (one.field.pointer or other.field.pointer))
            if low < other_high and other_low < high and (one.written or other.written) and not beside:
                raise InputError(f"the arrays `{one.name}` and `{other.name}` overlap in memory at the SCoP's entry "
                                 "and are written; give each its own memory", Location(source.file, source.first_line))


def _reach(log: Log, k: int) -> int:
    """Return the bytes from the first element of an array to the end of its last one."""
    size = log.elements[k] * int(np.prod(log.extents[k], dtype=np.int64))
    if k not in log.pieces or not size:
        return size
    stride, piece = log.pieces[k]
    return (size // piece - 1) * stride + piece
