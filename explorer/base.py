"""The interface of all explorers: ask for walks, tell their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from generator.errors import InputError
from graph.walk import Walk
from metrics.outcome import Outcome


class Explorer(Protocol):
    """Chooses the next walks. Its state is a function of (options, seed, ordered history) only.

    So explorers do no I/O, read no clocks and use no global random generator.
    """

    def ask(self, count: int) -> Sequence[Walk]:
        """Return up to `count` walks that were not returned before; fewer only if the space is exhausted.

        One call is one iteration. The outcomes of all its walks are told before the next call.
        """

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """Take the outcome of `walk`. Called once per walk, in the order of `ask`."""


class ExplorerFailed(InputError):
    """An explorer of other people raised an exception, or returned something else than walks."""


class WalkRefused(ExplorerFailed, ValueError):
    """It raised ValueError: it may not know the walk that it was told."""


@runtime_checkable
class EagerExplorer(Protocol):
    """An Explorer that may be asked again before it is told all outcomes of earlier calls, which then come later."""

    asks_ahead: bool


@runtime_checkable
class PreparingExplorer(Protocol):
    """An Explorer whose second call of `ask` needs a library that takes long to import."""

    def prepare(self) -> None:
        """Import it; other threads may use the explorer meanwhile."""
