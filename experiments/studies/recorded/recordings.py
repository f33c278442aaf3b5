"""Our own recordings: walks of programs of the PolyBench suite, included with the sources."""

from __future__ import annotations

from pathlib import Path

from generator.errors import InputError

RECORDINGS = Path(__file__).parents[2] / "recordings"


def own_recordings() -> list[Path]:
    """Return the files, sorted by name. Raises InputError if there are none."""
    found = sorted(RECORDINGS.glob("*.json.gz"))
    if not found:
        raise InputError(f"there are no recordings in {RECORDINGS}; name some recorded files")
    return found
