"""The times of `experiments.benchmarks.warps` in a file: one JSON object per line, written as soon as it is known."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import typer

Kind: TypeAlias = Literal["block", "warp", "hybrid"]
KINDS: tuple[Kind, ...] = ("block", "warp", "hybrid")
Key: TypeAlias = tuple[str, str, Kind, str]


@dataclass(frozen=True, slots=True)
class Line:
    """A plan: its program with its size, the device, the kind of tile, its digest; the median in milliseconds, or None
    and in words why there is none; when that was measured (UTC).
    """

    program: str
    device: str
    kind: Kind
    plan: str
    ms: float | None
    words: str
    at: str

    @property
    def key(self) -> Key:
        """What tells plans apart."""
        return self.program, self.device, self.kind, self.plan


@dataclass(slots=True)
class Results:
    """All that was measured, by key; new lines go to `file` at once, if there is one."""

    file: Path | None
    known: dict[Key, Line] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path | None) -> Results:
        """What a file holds, nothing if it is new. A last line that was cut off is measured again.

        Raises:
            typer.BadParameter: the file cannot be read, or is none of these.
        """
        found = cls(file)
        try:
            text = file.read_text() if file is not None and file.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(f"{file} cannot be read ({error}); name another file") from None
        whole = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
        for number, line in enumerate(whole, 1):
            try:
                one = Line(**json.loads(line))
            except (ValueError, TypeError):
                raise typer.BadParameter(f"line {number} of {file} is no time of this benchmark") from None
            found.known[one.key] = one
        if file is not None and len(whole) < len(text.splitlines()):
            file.write_text("".join(f"{line}\n" for line in whole))
        return found

    def add(self, line: Line) -> None:
        """One more."""
        self.known[line.key] = line
        if self.file is not None:
            with self.file.open("a") as out:
                out.write(json.dumps(asdict(line)) + "\n")
