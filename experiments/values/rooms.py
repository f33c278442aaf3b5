"""The rooms of antune's own code that affect the results of a run, and hashes of their files."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

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
