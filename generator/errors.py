"""All errors that a user can meet. Any other exception that escapes is a bug and shows a traceback.

  AntuneError
  ├── InputError        the user's program, option or file is at fault (exit code 2)
  └── IllegalPlan       a Plan that this Program or Target does not allow
"""

from __future__ import annotations

from dataclasses import dataclass


class AntuneError(Exception):
    """Root of the errors that are shown without a traceback."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file (line counted from 1)."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class InputError(AntuneError):
    """Bad input. The message says what is wrong and what to do; `location` says where."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(f"{location}: {message}" if location else message)
        self.location = location


class IllegalPlan(AntuneError):
    """A Plan that breaks a dependence, a device limit or a rule of the target language; the message says which.

    `dependence`: an example of a broken dependence as isl text (`{ S0[1] -> S1[2] }`), if there is one.
    """

    def __init__(self, message: str, dependence: str | None = None) -> None:
        super().__init__(message)
        self.dependence = dependence

    def __reduce__(self) -> tuple[type[IllegalPlan], tuple[str, str | None]]:
        """Keep the dependence when the error crosses processes."""
        return type(self), (str(self), self.dependence)
