"""Differences between the environments of two sessions: antune's own code by room, and versions of packages."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

from experiments.values.environment import Environment

SEARCH = ("explorer", "graph", "generator", "metrics", "experiments.search.guides")
"""The rooms that determine which plans a search asks for. Their model files (JSON) count as code."""
MEASURE = ("generator", "runners")
"""The rooms that determine the code of a plan and how it is timed."""


@cache
def room_digests() -> tuple[tuple[str, str], ...]:
    """Return (room, hash of its source files) for every room that affects the results of a run.

    They are read once per process: what it runs does not change with the files.
    """
    return tuple((room, _digest(room)) for room in dict.fromkeys((*SEARCH, *MEASURE)))


def _digest(room: str) -> str:
    """Return a hash of the names and contents of a room's source and model files.

    Without source files, as in some installations, it is the hash of nothing.
    """
    home = import_module(room).__file__
    found = hashlib.sha256()
    files = Path(home).parent.rglob("*") if home else ()
    for path in sorted(path for path in files if path.suffix in (".py", ".json")):
        found.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def differences(before: Environment, now: Environment) -> tuple[str, ...]:
    """Return what changed between two environments, one phrase per change. Unrecorded values are skipped."""
    named: list[tuple[str, str, str]] = [("Python", before.python, now.python), ("system", before.system, now.system)]
    known, present = dict(before.packages), dict(now.packages)
    named += [(name, known[name], present.get(name, "none")) for name in known]
    named += changed_settings(before, now)
    changed = [f"{name} {old} -> {new}" for name, old, new in named if old != new]
    if rooms := changed_rooms(before, now, (*SEARCH, *MEASURE)):
        changed.append(f"antune's own code ({', '.join(rooms)})")
    return tuple(changed)


def changed_settings(before: Environment, now: Environment) -> tuple[tuple[str, str, str], ...]:
    """Return (name, old value, new value) of changed driver settings; empty if the old ones were not recorded."""
    if before.settings is None:
        return ()
    known, present = dict(before.settings), dict(now.settings or ())
    both = ((name, known.get(name, "unset"), present.get(name, "unset")) for name in sorted({*known, *present}))
    return tuple((name, old, new) for name, old, new in both if old != new)


def changed_rooms(before: Environment, now: Environment, rooms: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `rooms` whose code changed; rooms whose code was not recorded are skipped."""
    known, present = dict(before.rooms), dict(now.rooms)
    return tuple(room for room in dict.fromkeys(rooms) if room in known and known[room] != present.get(room))
