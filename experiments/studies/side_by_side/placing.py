"""Compare entries with the ceilings of their device."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from experiments.ceilings.placed import run_roof
from experiments.store import is_run, read_store
from experiments.studies.side_by_side.entries import Entry
from generator.errors import InputError
from metrics.roofline import Roof


def placed(entry: Entry, folder: Path) -> Entry:
    """Return `entry`, stored in `folder`, with its roof if that is known: the device's ceilings and one of its runs are
    stored.
    """
    with suppress(InputError):  # for example, a run of another version; the entry's times remain useful
        for directory in sorted(folder.iterdir()):
            if is_run(directory):
                with read_store(directory) as store:
                    info = store.info()
                found = run_roof(info)
                return replace(entry, roof=found if isinstance(found, Roof) else None)
    return entry
