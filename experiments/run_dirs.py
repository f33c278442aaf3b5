"""Where runs live: finding them and naming new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from experiments.store import is_busy, is_run, read_store
from experiments.summary import Summary, summarize
from generator.errors import InputError

RUNS_ROOT = Path("antune-runs")


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as `antune list` shows it; `summary` is None when `status` says why it cannot be read."""

    directory: Path
    status: str
    summary: Summary | None


def next_directory(root: Path, name: str) -> Path:
    """The first of root/name-1, root/name-2, ... that does not exist."""
    return next(path for n in count(1) if not (path := root / f"{name}-{n}").exists())


def find_runs(places: Sequence[Path]) -> list[Path]:
    """The runs among `places` and directly below them, sorted by path; one that is there by several names counts once.

    Raises:
        InputError: a place is not a directory.
    """
    found: dict[Path, Path] = {}
    for place in places:
        if not place.is_dir():
            raise InputError(f"{place} is not a directory; give a run or a directory of runs")
        for path in sorted((place, *place.iterdir())):
            if is_run(path):
                found.setdefault(path.resolve(), path)
    return sorted(found.values())


def list_run(directory: Path) -> Listed:
    """The state of one run; a run that cannot be read is listed with the reason."""
    try:
        with read_store(directory) as store:
            summary = summarize(store)
    except InputError as error:
        return Listed(directory, f"unreadable: {error}", None)
    if is_busy(directory):
        return Listed(directory, "running", summary)
    return Listed(directory, summary.ending or "killed", summary)
