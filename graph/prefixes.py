"""Which beginnings of walks are used up: a prefix tree over the choices of one space.

The optimization graph shares its nodes between many contexts, so "everything below this edge was tried" is no
property of an edge. It is one of the edge *and the choices before it*, and that is what this tree holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # the graph imports this module
    from graph.optimization_graph import Node

Path: TypeAlias = "Sequence[tuple[Node, int]]"
"""Nodes with the index of the option taken there, from the start of a walk."""


@dataclass(slots=True)
class Prefix:
    """A beginning of walks. `closed[i]`: nothing is left behind option i of the node that follows it."""

    children: dict[int, Prefix] = field(default_factory=dict)
    closed: NDArray[np.bool_] | None = None

    def open_options(self, node: Node) -> NDArray[np.intp]:
        """The options of `node`, which follows this prefix, that are neither pruned nor closed."""
        if self.closed is None:
            return node.allowed
        return node.allowed[~self.closed[node.allowed]]

    def close(self, node: Node, index: int) -> None:
        """Nothing is left behind option `index` of `node`; what was known below it is dropped."""
        if self.closed is None:
            self.closed = np.zeros(len(node.options), dtype=np.bool_)
        self.closed[index] = True
        self.children.pop(index, None)


@dataclass(slots=True)
class PrefixTree:
    """The used-up walks and dead ends of one space. `exhausted` once the empty prefix is closed."""

    root: Prefix = field(default_factory=Prefix)
    exhausted: bool = False

    def close(self, path: Path) -> None:
        """Nothing is left behind `path` (a whole walk, or a prefix that leads nowhere); parents follow suit."""
        prefixes = [self.root]
        for _, index in path[:-1]:
            prefixes.append(prefixes[-1].children.setdefault(index, Prefix()))
        for prefix, (node, index) in zip(reversed(prefixes), reversed(path), strict=False):
            prefix.close(node, index)
            if prefix.open_options(node).size:
                return
        self.exhausted = True

    def open_part(self, path: Path) -> list[tuple[Node, int]]:
        """The longest beginning of `path` that is not closed."""
        part: list[tuple[Node, int]] = []
        prefix: Prefix | None = self.root
        for node, index in path:
            if prefix is not None and prefix.closed is not None and prefix.closed[index]:
                return part
            part.append((node, index))
            prefix = prefix.children.get(index) if prefix is not None else None
        return part
