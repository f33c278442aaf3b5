"""Read fields of JSON from outside: check their types, or raise an InputError that names the location."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from generator.errors import InputError
from generator.plan import Value


@dataclass(frozen=True, slots=True)
class RecordingEntry:
    """A file, and the entry in it that is being read."""

    path: Path
    entry: str = ""

    def fault(self, what: str, remedy: str = "record it again, or remove the entry") -> NoReturn:
        """Raise InputError: `what` is wrong in this entry."""
        where = f"{self.path}, entry {self.entry}" if self.entry else str(self.path)
        raise InputError(f"{where}: {what}; {remedy}")

    def table(self, value: object, name: str) -> Mapping[str, Any]:
        """Return `value` if it is a JSON object."""
        return value if isinstance(value, dict) else self.fault(f"`{name}` is {_shown(value)}, not an object")

    def items(self, value: object, name: str) -> list[Any]:
        """Return `value` if it is a JSON list."""
        return value if isinstance(value, list) else self.fault(f"`{name}` is {_shown(value)}, not a list")

    def text(self, value: object, name: str) -> str:
        """Return `value` if it is text."""
        return value if isinstance(value, str) else self.fault(f"`{name}` is {_shown(value)}, not text")

    def names(self, value: object, name: str) -> tuple[str, ...]:
        """Return `value` if it is a list of texts."""
        return tuple([self.text(part, name) for part in self.items(value, name)])

    def number(self, value: object, name: str) -> float:
        """Return `value` if it is a finite number."""
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
        return self.fault(f"`{name}` is {_shown(value)}, not a finite number")

    def duration(self, value: object, name: str) -> float:
        """Return `value` if it is a number of at least 0."""
        number = self.number(value, name)
        return number if number >= 0 else self.fault(f"`{name}` is {number:g}, below 0")

    def time(self, value: object, name: str) -> float:
        """Return `value` if it is a number above 0."""
        number = self.number(value, name)
        return number if number > 0 else self.fault(f"`{name}` is {number:g}, not above 0")

    def times(self, value: object, name: str) -> tuple[float, ...]:
        """Return `value` if it is a list of numbers above 0; fast, because files contain a million of them."""
        times = self.items(value, name)
        try:
            if not times or (min(times) > 0 and max(times) < math.inf and sum(times) < math.inf):
                return tuple(times)
        except TypeError:
            pass
        return tuple([self.time(one, name) for one in times])

    def value(self, value: object, name: str) -> Value:
        """Return `value` if it can be the value of a parameter: text, a truth value, or a finite number."""
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        return self.fault(f"the parameter `{name}` is {_shown(value)}, not text or a finite number")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
