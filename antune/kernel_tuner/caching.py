"""Kernel Tuner's cache file: read, and added to configuration by configuration.

A file stays open at its end (without the last two braces) while a search goes on: what was killed can be read again.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from generator.errors import InputError
from generator.json_text import parse_json

END = "}\n}"
ERROR = "__error__"
Entry = dict[str, Any]


@dataclass(slots=True)
class Cache:
    """What is known, by the configuration's values joined by commas; `path` None: nothing is written."""

    path: Path | None
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, key: str, entry: Entry) -> None:
        """Know `entry` from now on, and write it. Raises InputError when that fails."""
        self.entries[key] = entry
        if self.path is not None:
            _write(self.path, "\n" + json.dumps({key: entry}, default=_plain)[1:-1] + ",", "a")

    def close(self) -> None:
        """Make the file whole JSON. Raises InputError when that fails."""
        if self.path is not None:
            text = self.path.read_text().rstrip().rstrip(",")
            _write(self.path, text + END, "w")


def open_cache(name: str | Path | None, header: Mapping[str, Any], reads_only: bool) -> Cache:
    """The cache called `name` (`.json` is added where it is missing), made with `header` if there is none.

    Raises:
        InputError: it is damaged, or of another kernel, device, problem size or other parameters.
    """
    if name is None:
        return Cache(None)
    path = Path(name) if str(name).endswith(".json") else Path(f"{name}.json")
    if not path.exists():
        if reads_only:
            raise InputError(f"cache {path} is not there; simulation_mode answers from a cache that exists")
        _write(path, json.dumps({**header, "cache": {}}, indent="", default=_plain)[:-3], "w")
        return Cache(path)
    text = path.read_text().rstrip()
    data = _parsed(path, text)
    _check(path, data, json.loads(json.dumps(header, default=_plain)))
    if reads_only:
        return Cache(None, dict(data["cache"]))
    if text.endswith("}"):  # open it again
        _write(path, text.removesuffix("}").rstrip().removesuffix("}").rstrip() + ("," if data["cache"] else ""), "w")
    return Cache(path, dict(data["cache"]))


def _parsed(path: Path, text: str) -> dict[str, Any]:
    for whole in (text, text.rstrip(",") + END):
        try:
            data = parse_json(whole)
        except ValueError:
            continue
        if isinstance(data, dict) and isinstance(data.get("cache"), dict):
            return data
    raise InputError(f"cache {path} is damaged, or no cache of Kernel Tuner; remove it, or give another name")


def _check(path: Path, data: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    for name in ("device_name", "kernel_name", "problem_size", "tune_params_keys", "tune_params"):
        same = _same if name == "problem_size" else operator.eq
        if name in data and not same(data[name], header[name]):
            raise InputError(f"cache {path} has other results: its {name} is {data[name]!r}, not {header[name]!r}; "
                             "give another name")


def _same(one: Any, other: Any) -> bool:
    """`1000`, `[1000]` and `[1000, 1, 1]` are one size."""
    sizes = [[*(value if isinstance(value, list) else [value])] for value in (one, other)]
    return all(str(a) == str(b) for a, b in zip(*([*size, 1, 1, 1][:3] for size in sizes), strict=True))


def _write(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cache {path} cannot be written: {error.strerror}") from None


def _plain(value: Any) -> Any:
    """NumPy's values as JSON has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else str(value)
