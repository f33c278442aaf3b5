"""Convert entries to rows of the database and JSON objects, and back; all input is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from experiments.wisdom.entry import Entry, Subjected
from generator.errors import InputError
from generator.json_text import parse_json
from generator.plain_text import printable
from generator.plan import plan_from_json
from generator.target import Dialect

COLUMNS = ("identity", "device", "platform", "family", "name", "sizes", "extents", "dialect", "host", "driver", "plan",
           "ms", "default_ms", "made_at", "own")
MOST_SIZE = 2**40


def to_row(entry: Entry) -> dict[str, object]:
    """Return the columns of an entry."""
    known = entry.subject
    return {"identity": known.identity, "device": entry.device, "platform": entry.platform, "family": known.family,
            "name": _storable(known.name), "sizes": json.dumps(known.sizes), "extents": json.dumps(known.extents),
            "dialect": entry.dialect, "host": int(entry.host), "driver": entry.driver, "plan": entry.plan.to_json(),
            "ms": entry.ms, "default_ms": entry.default_ms, "made_at": entry.made_at, "own": int(entry.own)}


def from_row(row: Mapping[str, Any]) -> Entry:
    """Return the entry with these columns.

    Raises:
        InputError: a column is missing or has an invalid value.
    """
    try:
        subject = Subjected(_text(row["identity"]), _text(row["family"]), _text(row["name"]), _sizes(row["sizes"]),
                            tuple(_size(value) for value in _parsed(row["extents"])))
        if row["dialect"] not in get_args(Dialect):
            raise ValueError(f"there is no language {row['dialect']!r}")
        return Entry(subject, _text(row["device"]), _text(row["platform"]), row["dialect"], row["host"] in (1, True),
                     _text(row["driver"]), plan_from_json(row["plan"]), _time(row["ms"]),
                     None if row["default_ms"] is None else _time(row["default_ms"]), _text(row["made_at"]),
                     row["own"] in (1, True))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"it cannot be read: {type(error).__name__}: {printable(str(error))[:200]}") from None


def _parsed(text: object) -> list[Any]:
    found = parse_json(text) if isinstance(text, str) else text
    if not isinstance(found, list):
        raise TypeError("a list is expected")
    return found


def _sizes(text: object) -> tuple[tuple[str, int], ...]:
    return tuple((_text(name), _whole(value)) for name, value in _parsed(text))


def _size(value: object) -> int:
    if not 0 < _whole(value) < MOST_SIZE:
        raise ValueError(f"{value!r} is not a size")
    return _whole(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= MOST_SIZE:
        raise ValueError(f"{value!r} is not a size")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError("a short text is expected")
    return printable(_storable(value))


def _storable(text: str) -> str:
    """Return `text` with escapes for what UTF-8 cannot encode: bytes of file names that the locale could not decode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _time(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{value!r} is not a time")
    return float(value)
