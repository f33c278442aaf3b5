"""An optimization graph collapsed by decision: the data of its picture.

All nodes with the same decision and subject become one box, whatever earlier choices led to them. Boxes about a kernel
form that kernel's panel; most others are in the panel of the program.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.graphs.history import Trails
from graph.knowledge import Edge, Statistics
from graph.node import Node
from graph.optimization_graph import OptimizationGraph
from graph.space import Option
from graph.walk import Choice

Subject: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[str, Subject]
"""The name and the subject of a decision."""

Walks: TypeAlias = Sequence[Sequence[Choice]]

PanelKey: TypeAlias = tuple[Subject, bool]
"""The subject of a panel, and whether the subject is a kernel."""

_PROGRAM: PanelKey = ((), False)

OWN_PANEL = 4
"""A subject that is not a kernel gets its own panel if it has at least this number of boxes."""


@dataclass(frozen=True, slots=True)
class Row:
    """An option of a box.

    `share`: the probability, by pheromone, that the next ant chooses it; without pheromone, the fraction of walks that
    chose it. The shares of a box add up to 1. `cost` is in milliseconds: of the kernel in a kernel's panel, of the
    program elsewhere. `program_cost` is always the program's. `offered` nodes have this option; at `dead` of them it
    leads to a dead end. `best`: the best walk chose it.
    """

    option: Option
    share: float
    visits: int
    failures: int
    cost: Statistics
    program_cost: Statistics
    metrics: Mapping[str, Statistics]
    dead: int
    offered: int
    best: bool


@dataclass(frozen=True, slots=True)
class Box:
    """A decision: the number of `contexts` (nodes of the graph) in which it was made, and of walks that chose an
    option.
    """

    name: str
    subject: Subject
    rows: tuple[Row, ...]
    contexts: int
    visits: int


@dataclass(frozen=True, slots=True)
class Panel:
    """Boxes in the order of the decisions. `subject` () means the whole program.

    `kernel`: the subject is a kernel, and `cost` in the rows is the kernel's time. `visits`: the walks that reached it.
    """

    subject: Subject
    kernel: bool
    boxes: tuple[Box, ...]
    visits: int


def collapse(graph: OptimizationGraph, trails: Trails | None, walks: Walks, best: Sequence[Choice]) -> list[Panel]:
    """Return the panels of `graph`: the program's first, the others by the number of walks that reached them.

    `walks` are the choices of all walks, which determine the order of decisions; `best` are those of the best walk.
    """
    groups: defaultdict[Key, list[Node]] = defaultdict(list)
    for node in graph.nodes.values():
        if node.edges or node.pruned.any():
            groups[node.decision.name, node.decision.subject].append(node)
    taken = {(choice.decision.name, choice.decision.subject): choice.option for choice in best}
    kernels = _about_kernels(groups)
    boxes = {key: _box(key, nodes, trails, key in kernels, taken.get(key)) for key, nodes in groups.items()}
    places = _places(groups, kernels)
    met: defaultdict[PanelKey, list[list[Key]]] = defaultdict(list)
    for walk in walks:
        for place, keys in _by_place(walk, places).items():
            met[place].append(keys)
    panels = [Panel(*place, tuple(boxes[key] for key in in_order(keys, met[place])), len(met[place]))
              for place, keys in _members(places).items()]
    return sorted(panels, key=lambda panel: (panel.subject != (), -panel.visits, panel.subject, panel.kernel))


def _places(keys: Iterable[Key], kernels: set[Key]) -> Mapping[Key, PanelKey]:
    """Return the panel of each decision."""
    subjects: defaultdict[PanelKey, list[Key]] = defaultdict(list)
    for key in keys:
        subjects[key[1], key in kernels].append(key)
    return {key: place if place[1] or len(members) >= OWN_PANEL else _PROGRAM
            for place, members in subjects.items() for key in members}


def _members(places: Mapping[Key, PanelKey]) -> Mapping[PanelKey, Sequence[Key]]:
    members: dict[PanelKey, list[Key]] = {_PROGRAM: []}
    for key, place in places.items():
        members.setdefault(place, []).append(key)
    return members


def _by_place(walk: Sequence[Choice], places: Mapping[Key, PanelKey]) -> Mapping[PanelKey, list[Key]]:
    """Return the decisions of a walk by panel, in the order of the walk."""
    found: defaultdict[PanelKey, list[Key]] = defaultdict(list)
    for choice in walk:
        key = (choice.decision.name, choice.decision.subject)
        if key in places:
            found[places[key]].append(key)
    return found


def _about_kernels(groups: Mapping[Key, Sequence[Node]]) -> set[Key]:
    """Return the decisions whose subject was a kernel in every valid walk that made them.

    Whether a statement is reduced in parallel is decided before it may share a kernel with others, so it is a decision
    about the program. If all walks of a decision failed, the other decisions about its subject settle it.
    """
    timed = {key: [edge for node in nodes for edge in node.edges.values() if edge.cost.count]
             for key, nodes in groups.items()}
    sure = {key for key, edges in timed.items() if edges and all(e.kernel_cost.count == e.cost.count for e in edges)}
    subjects = {subject for _, subject in sure}
    return sure | {key for key, edges in timed.items() if not edges and key[1] in subjects}


def in_order(keys: Iterable[Key], sequences: Sequence[Sequence[Key]]) -> list[Key]:
    """Return `keys` so that none precedes a key that it follows in `sequences`; earlier mean positions come first.

    The order of two keys is that in which they directly follow each other. If these orders form a cycle (they differ
    between walks), the mean position decides.
    """
    places: defaultdict[Key, list[int]] = defaultdict(list)
    follows: Counter[tuple[Key, Key]] = Counter()
    for sequence in sequences:
        follows.update(pairwise(sequence))
        for place, key in enumerate(sequence):
            places[key].append(place)
    mean = {key: float(np.mean(found)) for key, found in places.items()}
    before: defaultdict[Key, set[Key]] = defaultdict(set)
    for (a, b), count in follows.items():
        if count > follows[b, a]:
            before[b].add(a)
    rest, ordered = sorted(keys, key=lambda key: (mean.get(key, np.inf), key)), []
    while rest:
        left = set(rest)
        following = next((key for key in rest if not before[key] & left), rest[0])
        rest.remove(following)
        ordered.append(following)
    return ordered


def _box(key: Key, nodes: Sequence[Node], trails: Trails | None, kernel: bool, best: Option | None) -> Box:
    visits = sum(edge.visits for node in nodes for edge in node.edges.values())
    shares: defaultdict[Option, float] = defaultdict(float)
    edges: defaultdict[Option, list[Edge]] = defaultdict(list)
    offered: defaultdict[Option, int] = defaultdict(int)
    dead: defaultdict[Option, int] = defaultdict(int)
    for node in nodes:
        here = sum(edge.visits for edge in node.edges.values())
        weight = here / visits if visits else 1 / len(nodes)
        pruned = node.pruned
        for index, (option, share) in enumerate(zip(node.options, _shares(node, trails, pruned), strict=True)):
            shares[option] += weight * float(share)
            offered[option] += 1
            dead[option] += bool(pruned[index])
            if index in node.edges:
                edges[option].append(node.edges[index])
    rows = [_row(option, shares[option], edges[option], kernel, (dead[option], offered[option]),
                 best is not None and option == best) for option in sorted(offered, key=option_order)]
    return Box(key[0], key[1], tuple(rows), len(nodes), visits)


def _shares(node: Node, trails: Trails | None, pruned: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the probability that each option is chosen next; without pheromone, its fraction of the walks."""
    if trails is not None:
        level = np.where(pruned, 0.0, trails.level(node))
    else:
        level = np.zeros(len(node.options))
        for index, edge in node.edges.items():
            level[index] = edge.visits
    total = level.sum()
    return level / total if total else level


def _row(option: Option, share: float, edges: Sequence[Edge], kernel: bool, dead: tuple[int, int], best: bool) -> Row:
    program = _merged(edge.cost for edge in edges)
    cost = _merged(edge.kernel_cost for edge in edges) if kernel else program
    names = sorted({name for edge in edges for name in edge.metrics})
    metrics = {name: _merged(edge.metrics[name] for edge in edges if name in edge.metrics) for name in names}
    return Row(option, share, sum(edge.visits for edge in edges), sum(edge.failures for edge in edges), cost, program,
               metrics, *dead, best)


def _merged(parts: Iterable[Statistics]) -> Statistics:
    return reduce(Statistics.merged, parts, Statistics())


def option_order(option: Option) -> tuple[int, tuple[float, ...], str]:
    """Return a sort key for options: numbers by value, then everything else by text."""
    if isinstance(option, tuple):
        return 0, tuple(float(part) for part in option), ""
    return (1, (), option) if isinstance(option, str) else (0, (float(option),), "")
