"""The times of `experiments.benchmarks.warps` in a file: one JSON object per line, written as soon as it is known.

The file only grows. What a stopped run left of a line stays there and is skipped.
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
"""What each line begins with."""


def _is_time(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf)


TEXT = Form(lambda value: isinstance(value, str), "a text")
TIME = Form(_is_time, "a number of milliseconds, or null")


@dataclass(frozen=True, slots=True)
class Line:
    """A plan: its program with its size, the device, the kind of tile, its digest; the median in milliseconds, or None
    and in words why there is none; when that was measured (UTC); the hash of the generated code, which changes when
    antune generates another one (empty: an old line, nobody knows).
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
        """What tells plans apart, and what was measured of them."""
        return self.program, self.device, self.kind, self.plan, self.code


@dataclass(slots=True)
class Results:
    """All that was measured, by key; new lines go to `file` at once, if there is one."""

    file: Path | None
    known: dict[Key, Line] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path | None) -> Results:
        """What a file holds, nothing if it is new. A line that was cut off is measured again.

        Raises:
            typer.BadParameter: the file cannot be read, or is none of these.
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
        """One more, on a line of its own also where the last one was cut off.

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
    """A line of the file; None where it was cut off.

    Raises:
        InputError: it is none of these.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if START.startswith(text) or text.startswith(START):
            return None
        raise InputError(f"{where} is no JSON object") from None
    check_fields(data, Line, where)
    TEXT.require(data, where, "program", "device", "plan", "words", "at", "code")
    one_of(KINDS).require(data, where, "kind")
    TIME.require(data, where, "ms")
    return Line(**data)
