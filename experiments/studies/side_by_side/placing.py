"""Entries below the ceilings of their device."""

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
    """`entry`, kept in `folder`, with its roof, if that is known here: the ceilings are kept, and a run of it is
    there.
    """
    with suppress(InputError):  # a run of another version of antune, say: the times are worth a line without it
        for directory in sorted(folder.iterdir()):
            if is_run(directory):
                with read_store(directory) as store:
                    info = store.info()
                found = run_roof(info)
                return replace(entry, roof=found if isinstance(found, Roof) else None)
    return entry
