"""The exhausted prefixes of walks: a prefix tree over the choices of one space.

The optimization graph shares its nodes between many contexts. So "everything after this edge was tried" is not a
property of the edge alone, but of the edge *and the choices before it*. This tree stores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph.node import Node

Path: TypeAlias = Sequence[tuple[Node, int]]
"""Nodes with the index of the option taken there, from the start of a walk."""


@dataclass(slots=True)
class Prefix:
    """A prefix of walks. `closed[i]`: nothing is left to try after option i of the node that follows the prefix."""

    children: dict[int, Prefix] = field(default_factory=dict)
    closed: NDArray[np.bool_] | None = None

    def open_options(self, node: Node) -> NDArray[np.intp]:
        """Return the options of `node`, the node after this prefix, that are neither pruned nor closed."""
        if self.closed is None:
            return node.allowed
        return node.allowed[~self.closed[node.allowed]]

    def close(self, node: Node, index: int) -> None:
        """Close option `index` of `node`, and drop the part of the tree after it."""
        if self.closed is None:
            self.closed = np.zeros(len(node.options), dtype=np.bool_)
        self.closed[index] = True
        self.children.pop(index, None)


@dataclass(slots=True)
class PrefixTree:
    """The exhausted walks and dead ends of one space. `exhausted` is true once the empty prefix is closed."""

    root: Prefix = field(default_factory=Prefix)
    exhausted: bool = False

    def close(self, path: Path) -> None:
        """Close `path` (a whole walk, or a dead end), and all its prefixes that have no open option left."""
        prefixes = [self.root]
        for _, index in path[:-1]:
            prefixes.append(prefixes[-1].children.setdefault(index, Prefix()))
        for prefix, (node, index) in zip(reversed(prefixes), reversed(path), strict=False):
            prefix.close(node, index)
            if prefix.open_options(node).size:
                return
        self.exhausted = True

    def open_part(self, path: Path) -> list[tuple[Node, int]]:
        """Return the longest prefix of `path` that is not closed."""
        part: list[tuple[Node, int]] = []
        prefix: Prefix | None = self.root
        for node, index in path:
            if prefix is not None and prefix.closed is not None and prefix.closed[index]:
                return part
            part.append((node, index))
            prefix = prefix.children.get(index) if prefix is not None else None
        return part
