"""An optimization graph collapsed by decision: what a picture of it shows, as values.

All nodes that ask the same about the same subject become one box, whatever earlier choices they depend on. Boxes about
a kernel make that kernel's panel, all others the panel of the program.
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
from graph.optimization_graph import Node, OptimizationGraph
from graph.space import Option
from graph.walk import Choice

Subject: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[str, Subject]
"""A decision's name and subject."""

Walks: TypeAlias = Sequence[Sequence[Choice]]

PanelKey: TypeAlias = tuple[Subject, bool]
"""A panel: its subject, and whether that is a kernel."""

_PROGRAM: PanelKey = ((), False)

OWN_PANEL = 4
"""Boxes from which on a subject that is no kernel gets a panel of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """An option of a box.

    `share`: how likely the next ant takes it, by pheromone, where it is asked; without pheromone the share of the
    walks. The shares of a box add up to 1. `cost` are milliseconds: of the kernel in a kernel's panel, of the program
    elsewhere. `program_cost` is always the program's. `dead` of the `offered` nodes that have this option found a
    dead end behind it. `best`: the best walk took it.
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
    """A decision: in how many `contexts` (nodes of the graph) it was met, and how many walks took an option."""

    name: str
    subject: Subject
    rows: tuple[Row, ...]
    contexts: int
    visits: int


@dataclass(frozen=True, slots=True)
class Panel:
    """Boxes in the order in which they are decided. `subject`: (): the whole program.

    `kernel`: the subject is a kernel, whose own time `cost` in the rows is. `visits` walks met it.
    """

    subject: Subject
    kernel: bool
    boxes: tuple[Box, ...]
    visits: int


def collapse(graph: OptimizationGraph, trails: Trails | None, walks: Walks, best: Sequence[Choice]) -> list[Panel]:
    """The panels of `graph`: the program's first, then by how many walks met them.

    `walks` are the choices of all walks, for the order of decisions; `best` those of the best walk.
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
    """In which panel each decision is."""
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
    """The decisions of a walk, in its order, by panel."""
    found: defaultdict[PanelKey, list[Key]] = defaultdict(list)
    for choice in walk:
        key = (choice.decision.name, choice.decision.subject)
        if key in places:
            found[places[key]].append(key)
    return found


def _about_kernels(groups: Mapping[Key, Sequence[Node]]) -> set[Key]:
    """Decisions whose subject was a kernel in every walk that made them and did not fail.

    Whether a statement is reduced in parallel is asked of one that may then share a kernel with others: a decision
    about the program. Where all walks failed, the other decisions of that subject tell.
    """
    timed = {key: [edge for node in nodes for edge in node.edges.values() if edge.cost.count]
             for key, nodes in groups.items()}
    sure = {key for key, edges in timed.items() if edges and all(e.kernel_cost.count == e.cost.count for e in edges)}
    subjects = {subject for _, subject in sure}
    return sure | {key for key, edges in timed.items() if not edges and key[1] in subjects}


def in_order(keys: Iterable[Key], sequences: Sequence[Sequence[Key]]) -> list[Key]:
    """`keys` such that none stands before one that it follows in `sequences`; the earlier on average first.

    Which of two comes first is settled by those that follow each other directly. Where that goes round in a circle
    (the order differs from walk to walk) the mean position decides.
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
    """How likely each option is taken next; by the walks so far where there is no pheromone."""
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
    """How options are sorted for people: numbers by value, then everything else by text."""
    if isinstance(option, tuple):
        return 0, tuple(float(part) for part in option), ""
    return (1, (), option) if isinstance(option, str) else (0, (float(option),), "")
