"""Find run directories and name new ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from experiments.search.summary import Summary, summarize
from experiments.store import is_busy, is_run, read_store
from generator.errors import InputError

RUNS_ROOT = Path("antune-runs")


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as `antune list` shows it; `summary` is None if the run cannot be read, and `status` then says why."""

    directory: Path
    status: str
    summary: Summary | None


@contextmanager
def claimed_directory(root: Path, name: str) -> Iterator[Path]:
    """Create and yield the first of root/name-1, root/name-2, ... that does not exist; no other process gets the same.

    The directory is removed at the end if it is empty. Raises InputError if it cannot be created.
    """
    made = [root] if not root.exists() else []
    try:
        root.mkdir(parents=True, exist_ok=True)
        directory = next(path for n in count(1) if _made(path := root / f"{name}-{n}"))
    except OSError as error:
        raise InputError(f"{root} cannot be written: {error.strerror}; choose another place with --out") from None
    try:
        yield directory
    finally:
        for folder in (directory, *made):
            with suppress(OSError):  # the directory is not empty
                folder.rmdir()


def _made(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def find_runs(places: Sequence[Path]) -> list[Path]:
    """Return the runs among `places` and directly below them, sorted by path. A run with several paths appears once.

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
    """Return the state of one run. If the run cannot be read, the status says why."""
    try:
        with read_store(directory) as store:
            summary = summarize(store)
    except InputError as error:
        return Listed(directory, f"unreadable: {error}", None)
    if is_busy(directory):
        return Listed(directory, "running", summary)
    return Listed(directory, summary.ending or "killed", summary)
