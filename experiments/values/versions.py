"""Differences between the environments of two sessions: antune's own code by room, and versions of packages."""

from __future__ import annotations

from experiments.values.environment import Environment
from experiments.values.rooms import MEASURE, SEARCH


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
