"""A node of the optimization graph: a decision that walks reached, with the statistics of its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph.knowledge import Edge
from graph.space import Decision, Option

Policy: TypeAlias = "Callable[[Node, NDArray[np.intp]], int]"
"""Picks one of the allowed option indices (never empty) of a node."""

_NO_EDGES: Mapping[int, Edge] = MappingProxyType({})


@lru_cache(maxsize=256)
def _all(count: int) -> NDArray[np.intp]:
    """Return the indices of `count` options; nodes without pruned options share them."""
    indices = np.arange(count)
    indices.setflags(write=False)
    return indices


@dataclass(slots=True, eq=False)
class Node:
    """A reached decision, its options, and their statistics.

    There may be a million nodes, so rarely used data are created on first use: `_taken` holds the
    edges of options that were taken, `_allowed` what is left once an option was pruned.
    """

    decision: Decision
    options: tuple[Option, ...]
    _taken: dict[int, Edge] | None = None
    _allowed: NDArray[np.intp] | None = None

    @property
    def edges(self) -> Mapping[int, Edge]:
        """The statistics of the options that were taken, by index."""
        return _NO_EDGES if self._taken is None else self._taken

    @property
    def allowed(self) -> NDArray[np.intp]:
        """The indices of the options that are not pruned, in order; not to be written to."""
        return _all(len(self.options)) if self._allowed is None else self._allowed

    @property
    def pruned(self) -> NDArray[np.bool_]:
        """Per option: whether it leads to a dead end."""
        marks = np.ones(len(self.options), dtype=np.bool_)
        marks[self.allowed] = False
        return marks

    def prune(self, index: int) -> None:
        """Exclude the option from all later walks."""
        self._allowed = self.allowed[self.allowed != index]

    def edge(self, index: int) -> Edge:
        """Return the statistics of an option, creating them on first use."""
        if self._taken is None:
            self._taken = {}
        if index not in self._taken:
            self._taken[index] = Edge()
        return self._taken[index]
