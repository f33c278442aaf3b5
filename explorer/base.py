"""The contract of all explorers: ask for walks, tell what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from graph.walk import Walk
from metrics.outcome import Outcome


class Explorer(Protocol):
    """State is a function of (options, seed, ordered history): no I/O, no clocks, no global randomness."""

    def ask(self, count: int) -> Sequence[Walk]:
        """Up to `count` walks, none of which was asked before; fewer only when the space is exhausted.

        One call is one iteration. All its walks are told before the next call.
        """

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """What `walk` cost; called in ask order."""
