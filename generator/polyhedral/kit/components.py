"""Strongly connected components of a graph of names, in time linear in its edges (except for the sorting)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush


def strongly_connected(names: Sequence[str], edges: Collection[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return strongly connected components (each sorted) in a topological order; ties are broken by the order of
    `names`.

    `edges` are between `names`. (S. R. Kosaraju's algorithm, as in A. Aho, J. Hopcroft, J. Ullman, Data Structures and
    Algorithms, 1983, section 6.7; then that of A. B. Kahn, CACM 5(11), 1962, with a heap.)
    """
    after, before = _neighbours(names, edges), _neighbours(names, ((b, a) for a, b in edges))
    seen: set[str] = set()
    finished = [name for root in names for name in _finished(root, after, seen)]
    seen = set()
    groups = [group for root in reversed(finished) if (group := tuple(sorted(_finished(root, before, seen))))]
    return _ordered(groups, names, edges)


def _neighbours(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in names}
    for a, b in edges:
        found[a].append(b)
    return found


def _finished(root: str, after: Mapping[str, Sequence[str]], seen: set[str]) -> list[str]:
    """Return the nodes that a depth-first search from `root` meets first, in postorder; they are added to `seen`."""
    if root in seen:
        return []
    seen.add(root)
    left: list[str] = []
    path = [(root, iter(after[root]))]
    while path:
        name, rest = path[-1]
        new = next((other for other in rest if other not in seen), None)
        if new is None:
            left.append(name)
            path.pop()
        else:
            seen.add(new)
            path.append((new, iter(after[new])))
    return left


def _ordered(groups: Sequence[tuple[str, ...]], names: Sequence[str],
             edges: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return `groups` in a topological order; among possible next groups, the one with the first name."""
    place = {name: k for k, name in enumerate(names)}
    number = {name: k for k, group in enumerate(groups) for name in group}
    links = {(number[a], number[b]) for a, b in edges if number[a] != number[b]}
    later: dict[int, list[int]] = {}
    waits = [0] * len(groups)
    for a, b in links:
        later.setdefault(a, []).append(b)
        waits[b] += 1
    ready = [(min(place[name] for name in group), k) for k, group in enumerate(groups) if not waits[k]]
    heapify(ready)
    ordered = []
    while ready:
        _, k = heappop(ready)
        ordered.append(groups[k])
        for b in later.get(k, ()):
            waits[b] -= 1
            if not waits[b]:
                heappush(ready, (min(place[name] for name in groups[b]), b))
    return ordered
