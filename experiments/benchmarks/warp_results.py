"""Store the times of `experiments.benchmarks.warps`: a file with one JSON object per line, written at once.

The file only grows. A line that an interrupted run left incomplete stays there and is skipped.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import typer

from generator.errors import InputError
from generator.forms import Form, check_fields, one_of

Kind: TypeAlias = Literal["block", "warp", "hybrid"]
KINDS: tuple[Kind, ...] = ("block", "warp", "hybrid")
Key: TypeAlias = tuple[str, str, Kind, str, str]
START = '{"program": '
"""The beginning of each line."""


def _is_time(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf)


TEXT = Form(lambda value: isinstance(value, str), "a text")
TIME = Form(_is_time, "a number of milliseconds, or null")


@dataclass(frozen=True, slots=True)
class Line:
    """A measured plan.

    It has the program with its size, the device, the kind of tile and the plan's digest; the median in milliseconds, or
    None and the reason; the time of the measurement (UTC); and the hash of the generated code, which changes when
    antune generates other code (empty and unknown in old lines).
    """

    program: str
    device: str
    kind: Kind
    plan: str
    ms: float | None
    words: str
    at: str
    code: str = ""

    @property
    def key(self) -> Key:
        """The identity of a plan and the measured code."""
        return self.program, self.device, self.kind, self.plan, self.code


@dataclass(slots=True)
class Results:
    """All results by key; new ones are written to `file` at once, if there is one."""

    file: Path | None
    known: dict[Key, Line] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path | None) -> Results:
        """Return the results in a file, empty if it is new. Incomplete lines are measured again.

        Raises:
            typer.BadParameter: the file cannot be read or has another format.
        """
        found = cls(file)
        try:
            text = file.read_text(encoding="utf-8") if file is not None and file.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(f"{file} cannot be read ({error}); name another file") from None
        for number, line in enumerate(text.split("\n"), 1):
            try:
                one = _line(line, f"line {number}")
            except InputError as error:
                raise typer.BadParameter(
                    f"{file} holds no times of this benchmark: {error}; name another file"
                ) from None
            if one is not None:
                found.known[one.key] = one
        return found

    def add(self, line: Line) -> None:
        """Add a result on its own line, even if the last line is incomplete.

        Raises:
            typer.BadParameter: the file cannot be written.
        """
        self.known[line.key] = line
        if self.file is None:
            return
        try:
            with self.file.open("ab+") as out:
                length = out.seek(0, os.SEEK_END)
                out.seek(max(length - 1, 0))
                cut = out.read(1) not in (b"", b"\n")
                out.write(b"\n" * cut + json.dumps(asdict(line)).encode() + b"\n")
        except OSError as error:
            raise typer.BadParameter(f"{self.file} cannot be written ({error}); name another file") from None


def _line(text: str, where: str) -> Line | None:
    """Return a line of the file; None if it is incomplete.

    Raises:
        InputError: the line has another format.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if START.startswith(text) or text.startswith(START):
            return None
        raise InputError(f"{where} is not a JSON object") from None
    check_fields(data, Line, where)
    TEXT.require(data, where, "program", "device", "plan", "words", "at", "code")
    one_of(KINDS).require(data, where, "kind")
    TIME.require(data, where, "ms")
    return Line(**data)
