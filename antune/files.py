"""Files that the user names on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.errors import InputError

if TYPE_CHECKING:
    from generator.plan import Plan
    from metrics.costs.constants import Calibration


def write_json(path: Path, rows: Sequence[Any] | Mapping[str, Any]) -> None:
    """Write dataclasses as a JSON list of objects, or an object as it is.

    Raises:
        InputError: the file cannot be written.
    """
    from experiments.files import write_atomically

    data = rows if isinstance(rows, Mapping) else [
        asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in rows]
    try:
        write_atomically(path, json.dumps(data, indent=2, default=str) + "\n")
    except OSError as error:
        raise InputError(f"--json {path} cannot be written: {error.strerror}; choose another file") from None


def check_place(path: Path | None) -> None:
    """Raise InputError now, rather than after the work, if a file cannot be written there."""
    if path is None:
        return
    if not path.name:
        raise InputError("an empty name is not a file; name the file to write")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a directory; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no directory {path.parent}; make it first")


def read_text(path: Path, what: str) -> str:
    """Return the text of a file that the user named. Raises InputError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{what} {path} cannot be read: {error}; give an existing text file") from None


def read_plan(path: Path | None, option: str) -> Plan | None:
    """Return the Plan in the file that `option` names; None without one. Raises InputError that names the file."""
    from generator.plan import plan_from_json

    if path is None:
        return None
    text = read_text(path, option)
    try:
        return plan_from_json(text)
    except InputError as error:
        raise InputError(f"{option} {path}: {error}") from None


def read_constants(file: Path | None) -> Calibration | None:
    """Return the constants of cost models in the file of --calibration; None without one. Raises InputError."""
    if file is None:
        return None
    from experiments.studies.calibrated.results import read_calibration

    return read_calibration(file)
