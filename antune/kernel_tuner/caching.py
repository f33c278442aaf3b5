"""Kernel Tuner's cache file: read, and added to configuration by configuration.

A file stays open at its end (without the last two braces) while a search goes on: what was killed can be read again. A
line per entry is appended as soon as it is known; whatever rewrites the file replaces it as a whole. Only one search
writes a file at a time, because it writes what it knows in place of what is there. Readers need not wait.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from antune.kernel_tuner.locking import Lock, lock_cache
from antune.kernel_tuner.objective import TIMES, Entry
from experiments.files import write_atomically
from generator.errors import InputError
from generator.json_fields import RecordingEntry
from generator.json_text import parse_json
from runners.replay.kernel_tuner import ERROR, error_in

END = "}\n}"
MOST_THREADS = "max_threads"
"""Where antune's headers have the device's most threads per block; Kernel Tuner's have no such number."""
USUAL_THREADS = 1024
"""What Kernel Tuner takes in simulations."""


@dataclass(slots=True)
class Cache:
    """What is known, by the configuration's values joined by commas; `path` None: there is no file.

    `header` is what the file says beside. Without `lock`, nothing is written.
    """

    path: Path | None
    header: Mapping[str, Any] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    lock: Lock | None = None

    def add(self, key: str, entry: Entry) -> None:
        """Know `entry` from now on, and write it. Raises InputError when that fails."""
        self.entries[key] = entry
        if self.path is not None and self.lock is not None:
            try:
                with self.path.open("a") as file:
                    file.write(_line(key, entry))
            except OSError as error:
                raise _unwritable(self.path, error) from None

    def close(self) -> None:
        """Make the file whole JSON, and let others write it. Raises InputError when that fails."""
        try:
            self._rewrite(END)
        finally:
            self.release()

    def reopen(self) -> None:
        """Write the file anew, open at its end. Raises InputError when that fails."""
        self._rewrite("," if self.entries else "")

    def release(self) -> None:
        """Write no more, and let others do that; the file stays as it is."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def most_threads(self, block_names: Sequence[str]) -> int:
        """The most threads per block on the device of the file; `block_names` are the parameters that say how many.

        Where the header does not say it: 1024, or the largest block of an entry. Raises InputError where it is no
        whole number above 0.
        """
        said = self.header.get(MOST_THREADS)
        if said is None:
            return max([USUAL_THREADS, *(_threads(entry, block_names) for entry in self.entries.values())])
        if isinstance(said, bool) or not isinstance(said, int) or said < 1:
            raise InputError(f"cache {self.path} is damaged: its {MOST_THREADS} is {said!r}; write the device's most "
                             "threads per block, or remove it")
        return said

    def _rewrite(self, end: str) -> None:
        if self.path is None or self.lock is None:
            return
        head = json.dumps({**self.header, "cache": {}}, indent="", default=_plain)[:-3]
        lines = "".join(_line(key, entry) for key, entry in self.entries.items()).removesuffix(",")
        try:
            write_atomically(self.path, head + lines + end)
        except OSError as error:
            raise _unwritable(self.path, error) from None


def open_cache(name: str | Path | None, header: Mapping[str, Any], reads_only: bool) -> Cache:
    """The cache called `name` (`.json` is added where it is missing), made with `header` if there is none.

    What `header` lacks is not compared with the file's.

    Raises:
        InputError: it is damaged, of another kernel, device, problem size or other parameters, or another search
            writes it.
    """
    if name is None:
        if reads_only:
            raise InputError("simulation_mode answers from a cache; give one with cache=")
        return Cache(None)
    path = Path(name) if str(name).endswith(".json") else Path(f"{name}.json")
    own = json.loads(json.dumps(header, default=_plain))
    if reads_only:
        if not path.exists():
            raise InputError(f"cache {path} is not there; simulation_mode answers from a cache that exists")
        return _read(path, own)
    lock = lock_cache(path)
    with ExitStack() as undone:
        undone.callback(lock.release)
        made = _read(path, own) if path.exists() else Cache(path, header)
        limit = {name: own[name] for name in (MOST_THREADS,) if name in own}
        params = _merged(path, made.header.get("tune_params"), own["tune_params"])
        made.header = {**made.header, **limit, "tune_params": params}
        made.lock = lock
        made.reopen()
        undone.pop_all()
    return made


def _read(path: Path, own: Mapping[str, Any]) -> Cache:
    """What the file has, which has to fit a call with the header `own`."""
    data = _parsed(path)
    _check(path, data, own)
    names = own.get("tune_params_keys", ())
    entries = {key: _marked(path, key, entry, names) for key, entry in data.pop("cache").items()}
    return Cache(path, data, entries)


def _parsed(path: Path) -> dict[str, Any]:
    """The file's contents; an entry at its end that was cut off is left out."""
    try:
        text = path.read_text().rstrip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cache {path} cannot be read: {error}; give another name") from None
    for whole in (text, text.removesuffix(",") + END, text.rpartition("\n")[0].rstrip().removesuffix(",") + END):
        try:
            data = parse_json(whole)
        except ValueError:
            continue
        if isinstance(data, dict) and isinstance(data.get("cache"), dict):
            return data
    raise InputError(f"cache {path} is damaged, or no cache of Kernel Tuner; remove it, or give another name")


def _marked(path: Path, key: str, entry: object, names: Sequence[str]) -> Entry:
    """An entry that says by `__error__` whether it failed, as those of all versions do not.

    Raises InputError where it lacks one of the parameters `names`, or what it took is no number.
    """
    place = RecordingEntry(path, key)
    if not isinstance(entry, dict):
        place.fault("it is no object", "remove the entry")
    if missing := [name for name in names if name not in entry]:
        place.fault(f"it lacks the parameter `{missing[0]}`")
    for name in TIMES:
        place.number(entry.get(name, 0.0), name)
    error = error_in(entry)
    return entry if error is None else {**entry, ERROR: error}


def _threads(entry: Entry, block_names: Sequence[str]) -> int:
    sizes = [entry.get(name, 1) for name in block_names]
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else 0


def _merged(path: Path, old: Any, new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of both: a later call may try more of them. Raises InputError where the file has no lists of them."""
    place = RecordingEntry(path)
    known = {name: place.items(values, f"tune_params: {name}")
             for name, values in place.table({} if old is None else old, "tune_params").items()}
    return {name: [*known.get(name, []), *(value for value in values if value not in known.get(name, []))]
            for name, values in new.items()}


def _check(path: Path, data: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    for name in ("device_name", "kernel_name", "problem_size", "tune_params_keys"):
        if name not in data or name not in header or header[name] == "callable":
            continue
        same = _same(data[name], header[name]) if name == "problem_size" else data[name] == header[name]
        if not same:
            raise InputError(f"cache {path} has other results: its {name} is {data[name]!r}, not {header[name]!r}; "
                             "give another name")


def _same(one: Any, other: Any) -> bool:
    """`1000`, `[1000]` and `[1000, 1, 1]` are one size."""
    sizes = [[*(value if isinstance(value, list) else [value])] for value in (one, other)]
    return all(str(a) == str(b) for a, b in zip(*([*size, 1, 1, 1][:3] for size in sizes), strict=True))


def _line(key: str, entry: Entry) -> str:
    return "\n" + json.dumps({key: entry}, default=_plain)[1:-1] + ","


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cache {path} cannot be written: {error.strerror}")


def _plain(value: Any) -> Any:
    """NumPy's values as JSON has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else str(value)
