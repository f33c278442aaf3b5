"""What a session says about an explorer of other people (explorer.checked).

The imports are inside the functions: they load numerical libraries, and commands that only read a store should start
without them.
"""

from __future__ import annotations

from pathlib import Path

from experiments.store import Store
from experiments.words import command
from explorer.base import ExplorerFailed
from generator.errors import AntuneError


def name_note(name: str) -> str | None:
    """Return a warning if an installed package has an explorer with the name of antune's own."""
    from explorer.registry import overshadowed

    found = overshadowed(name)
    return None if found is None else f"warning: {found}"


def repeats_of(store: Store) -> str | None:
    """Return a note if the run's explorer asked for plans again; antune's own do not."""
    from explorer.checked import repeats_note
    from explorer.registry import EXPLORERS

    name = store.info().options.explorer
    if name in EXPLORERS:
        return None
    asked = [result.evaluation.plan.digest for result in store.results() if result.evaluation.iteration]
    return repeats_note(name, len(asked) - len(set(asked)), len(asked))


def resumable(error: AntuneError, directory: Path) -> AntuneError:
    """Return `error`, for an explorer that failed with the command that goes on once it is mended."""
    if not isinstance(error, ExplorerFailed):
        return error
    return ExplorerFailed(f"{error}; then `{command('resume', directory)}` goes on")
