"""Wisdom as JSON, to exchange with other machines and users: plans and times, no code.

An imported plan is checked like any untrusted plan: its JSON when it is read, its names and legality when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.files import write_atomically
from experiments.wisdom.entry import Entry
from experiments.wisdom.rows import COLUMNS, from_row, to_row
from generator.errors import InputError
from generator.json_text import parse_json

FORMAT = "antune wisdom 1"
NESTED = ("sizes", "extents", "plan")
"""Columns that contain JSON."""
MOST_BYTES = 2**28
_REMEDY = "give a file that `antune wisdom export` wrote"


def export_wisdom(entries: Sequence[Entry], path: Path) -> None:
    """Write `entries` to the file `path`. Raises InputError if it cannot be written."""
    rows = [_object(to_row(entry)) for entry in entries]
    try:
        write_atomically(path, json.dumps({"format": FORMAT, "plans": rows}, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; choose another file") from None


def _object(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row as a JSON object without `own`, which the importing side sets."""
    return {name: json.loads(str(value)) if name in NESTED else value for name, value in row.items() if name != "own"}


def import_wisdom(path: Path) -> tuple[Entry, ...]:
    """Return the entries in the file `path`, marked as imported. All are read or none.

    Raises:
        InputError: the file cannot be read, is not wisdom, or an entry is invalid; the message names it.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} has more than {MOST_BYTES >> 20} MiB, too much for wisdom")
        data = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; {_REMEDY}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}; {_REMEDY}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("plans"), list):
        raise InputError(f"{path} is not {FORMAT!r}; {_REMEDY}")
    found = []
    for number, row in enumerate(data["plans"], 1):
        if not isinstance(row, dict) or row.keys() - set(COLUMNS):
            raise InputError(f"{path}, plan {number}: it has other fields than wisdom has; export it again")
        try:
            found.append(from_row({**row, "plan": json.dumps(row.get("plan")), "own": 0}))
        except InputError as error:
            raise InputError(f"{path}, plan {number}: {error}") from None
    return tuple(found)
