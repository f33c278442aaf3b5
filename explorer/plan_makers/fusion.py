"""The cheapest ways to group the nodes of a directed acyclic graph, by dynamic programming.

Jangda & Bondhugula's bounded fusion (2018), which PolyMage-GPU (Jangda & Guha 2020) uses, in a form that counts nothing
twice: the remaining nodes always include all nodes that they read, so a state is a set R closed downwards, and

    best(R) = min over groups g that may come last of cost(g) + best(R without g)

A group may come last if no other remaining node reads one of its nodes. With one output per group, the last node of R
can only be the output of its group, so no other group has to be tried. Unconnected parts of R are solved separately.
Sets are integers, node k is bit k, and readers have greater numbers than the nodes that they read.

Groups have at most `limit` nodes. If a graph has more, the groups that were found become single nodes and the limit
doubles, until it exceeds the number of nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

C = TypeVar("C")
Priced: TypeAlias = Sequence[tuple[float, C]]
"""Costs of ways to make a group, the cheapest first; empty if it is impossible."""
Price: TypeAlias = Callable[[int], Priced[C]]
"""Returns the costs of the nodes of a set as one group."""

EXACT = 16
"""The number of nodes up to which all groupings are compared."""


@dataclass(frozen=True, slots=True)
class Found(Generic[C]):
    """A way to group all nodes: its cost, and the choice for each group."""

    cost: float
    groups: tuple[tuple[int, C], ...]


def fuse(
    readers: Sequence[int], price: Price[C], count: int = 1, limit: int = EXACT, one_output: bool = True
) -> list[Found[C]]:
    """Return the `count` cheapest groupings of a graph; `readers[k]` is the set of readers of node k.

    `limit`: nodes of a group in the first round. Groupings of later rounds, whose nodes are groups, come with those of
    earlier ones. Empty if some node is in no possible group.
    """
    nodes = [1 << k for k in range(len(readers))]
    found: dict[tuple[int, ...], list[Found[C]]] = {}
    while True:
        made = _round(readers, nodes, price, count, limit, one_output)
        for one in made:
            key = tuple(mask for mask, _ in one.groups)
            if all(other.groups != one.groups for other in found.get(key, ())):
                found.setdefault(key, []).append(one)
        if limit >= len(nodes) or not made:
            break
        nodes = _ordered([mask for mask, _ in made[0].groups], readers)
        limit *= 2
    every = [one for ones in found.values() for one in ones]
    return sorted(every, key=lambda one: one.cost)[:count]


def _round(
    readers: Sequence[int], nodes: Sequence[int], price: Price[C], count: int, limit: int, one_output: bool
) -> list[Found[C]]:
    """Return the cheapest groupings of `nodes`, which are already groups."""
    search = _Search(_collapsed(readers, nodes), lambda mask: price(_expanded(mask, nodes)), count, limit, one_output)
    return [
        Found(one.cost, tuple((_expanded(mask, nodes), choice) for mask, choice in one.groups))
        for one in search.best((1 << len(nodes)) - 1)
    ]


def _expanded(mask: int, nodes: Sequence[int]) -> int:
    """Return the original nodes of a set of collapsed ones."""
    total = 0
    for k in _bits(mask):
        total |= nodes[k]
    return total


def _collapsed(readers: Sequence[int], nodes: Sequence[int]) -> list[int]:
    """Return the readers of groups."""
    return [
        sum(1 << other for other, mask in enumerate(nodes) if other != k and _read_by(readers, nodes[k]) & mask)
        for k in range(len(nodes))
    ]


def _read_by(readers: Sequence[int], mask: int) -> int:
    total = 0
    for k in _bits(mask):
        total |= readers[k]
    return total


def _ordered(groups: Sequence[int], readers: Sequence[int]) -> list[int]:
    """Return groups in an order in which readers come after the groups that they read."""
    left, found = sorted(groups), list[int]()
    while left:
        ready = next(one for one in left if not any(_read_by(readers, other) & one for other in left if other != one))
        left.remove(ready)
        found.append(ready)
    return found


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _cost(found: Found[C]) -> float:
    return found.cost


def _mask(group: tuple[int, C]) -> int:
    return group[0]


@dataclass(slots=True)
class _Search(Generic[C]):
    """One round; `_best` and `_priced` are caches."""

    readers: Sequence[int]
    price: Price[C]
    count: int
    limit: int
    one_output: bool
    sources: list[int] = field(init=False)
    _best: dict[int, list[Found[C]]] = field(default_factory=dict)
    _priced: dict[int, Priced[C]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = [
            sum(1 << k for k, read_by in enumerate(self.readers) if read_by >> reader & 1)
            for reader in range(len(self.readers))
        ]

    def best(self, left: int) -> list[Found[C]]:
        """Return the cheapest groupings of the nodes in `left`, each part by itself."""
        total: list[Found[C]] = [Found(0.0, ())]
        while left:
            part = self._part(left)
            total = self._together(total, self._best_of(part))
            left &= ~part
        return total

    def _part(self, left: int) -> int:
        """Return the nodes of `left` that are connected to its last node."""
        found, waiting = 0, 1 << (left.bit_length() - 1)
        while waiting:
            found |= waiting
            around = 0
            for k in _bits(waiting):
                around |= self.readers[k] | self.sources[k]
            waiting = around & left & ~found
        return found

    def _together(self, some: list[Found[C]], others: list[Found[C]]) -> list[Found[C]]:
        pairs = (Found(a.cost + b.cost, tuple(sorted((*a.groups, *b.groups), key=_mask))) for a in some for b in others)
        return heapq.nsmallest(self.count, pairs, key=_cost)

    def _cheapest(self, found: list[Found[C]]) -> list[Found[C]]:
        """Remove duplicates: with several outputs there are several orders of the same groups."""
        kept: list[Found[C]] = []
        for one in sorted(found, key=_cost):
            if len(kept) < self.count and (self.one_output or all(one.groups != other.groups for other in kept)):
                kept.append(one)
        return kept

    def _best_of(self, left: int) -> list[Found[C]]:
        known = self._best.get(left)
        if known is None:
            known = []
            for group in self._last_groups(left):
                priced = self._price(group)
                if not priced or (len(known) == self.count and priced[0][0] >= known[-1].cost):
                    continue  # costs are at least 0
                own = [Found(cost, ((group, choice),)) for cost, choice in priced[: self.count]]
                known = self._cheapest([*known, *self._together(self.best(left & ~group), own)])
            self._best[left] = known
        return known

    def _price(self, group: int) -> Priced[C]:
        if group not in self._priced:
            self._priced[group] = self.price(group)
        return self._priced[group]

    def _last_groups(self, left: int) -> Iterator[int]:
        """Yield the groups that may come last: connected, and read by no other node of `left`."""
        if self.one_output:
            yield from self._grown(1 << (left.bit_length() - 1), left, 0)
            return
        seen: set[int] = set()
        for k in _bits(left):
            if not self.readers[k] & left:
                yield from self._joined(1 << k, left, seen)

    def _grown(self, group: int, left: int, refused: int) -> Iterator[int]:
        """Yield `group` with further nodes that only it reads, each set once."""
        yield group
        if group.bit_count() == self.limit:
            return
        near = 0
        for k in _bits(group):
            near |= self.sources[k]
        for k in reversed([*_bits(near & left & ~group & ~refused)]):
            if not self.readers[k] & ~group:
                yield from self._grown(group | 1 << k, left, refused)
                refused |= 1 << k

    def _joined(self, group: int, left: int, seen: set[int]) -> Iterator[int]:
        """Yield `group` with some of its sources, and all other readers of these."""
        if group in seen or group.bit_count() > self.limit:
            return
        seen.add(group)
        yield group
        near = 0
        for k in _bits(group):
            near |= self.sources[k]
        for k in _bits(near & left & ~group):
            yield from self._joined(group | self._above(1 << k, left), left, seen)

    def _above(self, found: int, left: int) -> int:
        """Return a set with all its direct and indirect readers in `left`."""
        waiting = found
        while waiting:
            around = 0
            for k in _bits(waiting):
                around |= self.readers[k]
            waiting = around & left & ~found
            found |= waiting
        return found
