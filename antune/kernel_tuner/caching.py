"""Kernel Tuner's cache file: read it, and add configurations one by one.

During a search the file lacks its last two braces, so that entries can be appended as soon as they are known; the file
of a killed search can still be read. Other changes replace the whole file. Only one search writes a file at a time,
because it overwrites the contents with its own entries. Readers need not wait.
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
"""The key of the device's maximum number of threads per block in antune's headers; Kernel Tuner's lack this number."""
USUAL_THREADS = 1024
"""The number that Kernel Tuner assumes in simulations."""


@dataclass(slots=True)
class Cache:
    """The known entries, by the configuration's values joined by commas; `path` None: there is no file.

    `header`: the rest of the file. Without `lock`, nothing is written.
    """

    path: Path | None
    header: Mapping[str, Any] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    lock: Lock | None = None

    def add(self, key: str, entry: Entry) -> None:
        """Add `entry`, and write it. Raises InputError if that fails."""
        self.entries[key] = entry
        if self.path is not None and self.lock is not None:
            try:
                with self.path.open("a") as file:
                    file.write(_line(key, entry))
            except OSError as error:
                raise _unwritable(self.path, error) from None

    def close(self) -> None:
        """Make the file complete JSON, and let others write it. Raises InputError if that fails."""
        try:
            self._rewrite(END)
        finally:
            self.release()

    def reopen(self) -> None:
        """Rewrite the file so that entries can be appended. Raises InputError if that fails."""
        self._rewrite("," if self.entries else "")

    def release(self) -> None:
        """Stop writing, and let others write; the file stays as it is."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def most_threads(self, block_names: Sequence[str]) -> int:
        """Return the maximum number of threads per block on the device of the file.

        `block_names`: the parameters for the extents of blocks. If the header lacks the number, it is 1024, or the size
        of the largest block of an entry. Raises InputError unless it is a whole number above 0.
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
    """Open the cache `name` (`.json` is added if it is missing), or create it with `header`.

    Only fields that `header` has are compared with the file's.

    Raises:
        InputError: it is damaged, belongs to another kernel, device, problem size or other parameters, or another
            search writes it.
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
    """Return the contents of the file, which must match a call with the header `own`."""
    data = _parsed(path)
    _check(path, data, own)
    names = own.get("tune_params_keys", ())
    entries = {key: _marked(path, key, entry, names) for key, entry in data.pop("cache").items()}
    return Cache(path, data, entries)


def _parsed(path: Path) -> dict[str, Any]:
    """Return the file's contents, without an incomplete entry at its end."""
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
    """Return the entry with `__error__` if it failed, which some versions do not write.

    Raises InputError if it lacks one of the parameters `names`, or a time is not a number.
    """
    place = RecordingEntry(path, key)
    if not isinstance(entry, dict):
        place.fault("it is not an object", "remove the entry")
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
    """Return the values of both, since a later call may try more. Raises InputError unless the file has lists of them.
    """
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
    """Return whether two problem sizes are equal: `1000`, `[1000]` and `[1000, 1, 1]` are."""
    sizes = [[*(value if isinstance(value, list) else [value])] for value in (one, other)]
    return all(str(a) == str(b) for a, b in zip(*([*size, 1, 1, 1][:3] for size in sizes), strict=True))


def _line(key: str, entry: Entry) -> str:
    return "\n" + json.dumps({key: entry}, default=_plain)[1:-1] + ","


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cache {path} cannot be written: {error.strerror}")


def _plain(value: Any) -> Any:
    """Return NumPy's values as JSON values."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else str(value)
