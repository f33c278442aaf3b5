"""Variation of walks for genetic and local search: crossover and changes. The graph repairs the result.

A walk's genes are its choices by decision name and subject. Changed genes are preferences: replayed with `repaired`,
they always lead to a legal walk. The genes of a subject (such as a kernel) form a block. Subjects that follow each
other in a walk are neighbours. The stages of an image pipeline are decided from readers to what they read, so a run of
neighbours often is a chain of stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from graph.node import Node, Policy
from graph.policies import Preferences, prefer, preferences, uniform
from graph.prefixes import Path
from graph.space import Option
from graph.walk import Walk

Subject: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[str, Subject]
Genes: TypeAlias = dict[Key, Option]
"""Preferred options in the order in which they were chosen."""
GOES_ON = 0.85
"""The probability that a run of neighbours continues after each member."""


def genes(walk: Walk) -> Genes:
    """Return the choices of `walk` as genes."""
    return preferences(walk.choices)


def key(node: Node) -> Key:
    """Return the key of the choice at `node` among genes."""
    return node.decision.name, node.decision.subject


def repaired(wanted: Preferences, rng: np.random.Generator) -> Policy:
    """Return a policy that follows `wanted`.

    A number that is not allowed is replaced by the closest allowed one, any other option by a random one.
    """
    chance = uniform(rng)
    return prefer(wanted, lambda node, allowed: _near(node, allowed, wanted.get(key(node)), chance))


def inherited(wanted: Preferences, otherwise: Policy) -> Policy:
    """Return a policy that follows `wanted`, and else asks `otherwise`.

    A number that is not allowed is replaced by the closest allowed one. A decision about a new subject gets what
    `wanted` says of the most similar one: a stage that is computed elsewhere makes new kernels, and with random tiles
    and threads most of these are many times slower than the kernels that they replace.
    """
    subjects: dict[str, list[Subject]] = {}
    for name, subject in wanted:
        subjects.setdefault(name, []).append(subject)

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        name, subject = key(node)
        alike = max(subjects.get(name, ()), key=lambda one: _resemblance(one, subject), default=None)
        if alike is None or not _resemblance(alike, subject):
            return otherwise(node, allowed)
        return _near(node, allowed, wanted[name, alike], otherwise)

    return prefer(wanted, choose)


def _near(node: Node, allowed: NDArray[np.intp], option: Option | None, otherwise: Policy) -> int:
    """Return the index of `option` if it is allowed, else that of the closest allowed number; else ask `otherwise`."""
    found = next((int(index) for index in allowed if node.options[index] == option), None)
    near = closest(node, allowed, option) if found is None else found
    return otherwise(node, allowed) if near is None else near


def where_known(known: Policy, new: Policy) -> Policy:
    """Return a policy that asks `known` at nodes that a measured walk has crossed, and `new` at others."""

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        return (known if node.edges else new)(node, allowed)

    return choose


def _resemblance(one: Subject, other: Subject) -> float:
    """Return the share of the members of both that both have (Jaccard index); 1 if they are equal."""
    members = {*one, *other}
    return len({*one} & {*other}) / len(members) if members else 1.0


def closest(node: Node, allowed: NDArray[np.intp], option: Option | None) -> int | None:
    """Return the index of the allowed number closest to `option`; None if `option` or an allowed one is no number."""
    offered = [node.options[index] for index in allowed]
    if not is_number(option) or not all(map(is_number, offered)):
        return None
    return int(allowed[np.argmin(np.abs(np.array(offered, dtype=np.float64) - option))])


def differences(first: Genes, second: Genes) -> int:
    """Return the number of keys whose options differ, or that only one of the two has."""
    return len(dict(first.items() ^ second.items()))


def blocks(wanted: Mapping[Key, Option]) -> list[list[Key]]:
    """Return the keys of each subject, in order of first appearance; each key alone if there is only one subject."""
    found: dict[Subject, list[Key]] = {}
    for name, subject in wanted:
        found.setdefault(subject, []).append((name, subject))
    return list(found.values()) if len(found) > 1 else [[one] for one in wanted]


def block(wanted: Mapping[Key, Option], subject: Subject) -> Genes:
    """Return the genes of one subject."""
    return {gene: option for gene, option in wanted.items() if gene[1] == subject}


def crossed(first: Genes, second: Genes, rng: np.random.Generator) -> Genes:
    """Two-point crossover between blocks: those between two random cuts from `second`, the others from `first`.

    Genes that only `second` has are kept, for decisions of the child that `first` did not meet.
    """
    parts = blocks(first)
    low, high = sorted(int(cut) for cut in rng.integers(len(parts) + 1, size=2))
    if high - low == len(parts):  # otherwise the child would be a copy of `second`
        high -= 1
    inside = {gene for part in parts[low:high] for gene in part}
    return {**second, **{gene: option for gene, option in first.items() if gene not in inside or gene not in second}}


def run(count: int, rng: np.random.Generator) -> range:
    """Return the places of a random run among `count` neighbours: uniform start, geometric length (at least 1)."""
    first = int(rng.integers(count))
    return range(first, min(count, first + int(rng.geometric(1.0 - GOES_ON))))


def fused(path: Path, rng: np.random.Generator) -> Genes:
    """Return genes in which a run of neighbours has the same option of a decision that is made about each of them.

    The option differs from that of the run's first member. Members that do not offer it are not changed. New subjects
    that result (an unknown kernel) get the choices of a random subject of this walk.
    """
    wanted = {key(node): node.options[index] for node, index in path}
    shared = _shared(path)
    names = [node.decision.name for node, _ in path if node.decision.name in shared]
    if not names:
        return wanted
    name = names[int(rng.integers(len(names)))]
    alike = [(node, index) for node, index in path if node.decision.name == name]
    chosen = [alike[place] for place in run(len(alike), rng)]
    first, index = chosen[0]
    option = first.options[another(first, index, rng)]
    return {**bequest(wanted, rng), **wanted, **{key(node): option for node, _ in chosen if option in node.options}}


def _shared(path: Path) -> set[str]:
    """Return the names of decisions about several subjects: only those whose options are strings, if there are any.

    Strings are options such as places, where equal neighbours have the largest effect; numbers are sizes.
    """
    subjects: dict[str, set[Subject]] = {}
    for node, _ in path:
        subjects.setdefault(node.decision.name, set()).add(node.decision.subject)
    numbers = {node.decision.name for node, _ in path if not all(isinstance(option, str) for option in node.options)}
    several = {name for name, about in subjects.items() if len(about) > 1}
    return several - numbers or several


def templated(wanted: Genes, template: Preferences, rng: np.random.Generator) -> Genes:
    """Return `wanted` with the choices of `template` for a run of neighbours.

    New subjects that result get the choices of a random subject of the template.
    """
    told = {subject for _, subject in template}
    common = [subject for subject in dict.fromkeys(subject for _, subject in wanted) if subject in told]
    if not common:
        return wanted
    taken = {common[place] for place in run(len(common), rng)}
    return {
        **bequest(template, rng),
        **wanted,
        **{gene: option for gene, option in template.items() if gene[1] in taken},
    }


def bequest(given: Preferences, rng: np.random.Generator) -> Genes:
    """Return genes for subjects without genes of their own: the choices of a random subject of `given`.

    The probability of a subject is proportional to its number of choices.
    """
    _, giver = list(given)[int(rng.integers(len(given)))]
    return {(name, ()): option for (name, subject), option in given.items() if subject == giver}


@dataclass(slots=True)
class Scales:
    """The neighbourhood of options: numbers are ordered by size; other options are all equally far apart.

    Caches the order of each node.
    """

    _orders: dict[Node, NDArray[np.intp] | None] = field(default_factory=dict)

    def order(self, node: Node) -> NDArray[np.intp] | None:
        """Return the option indices by size; None if there are fewer than three options, or not all are numbers."""
        if node not in self._orders:
            numbers = len(node.options) > 2 and all(is_number(option) for option in node.options)
            self._orders[node] = np.argsort(np.array(node.options), kind="stable") if numbers else None
        return self._orders[node]

    def steps(self, node: Node, index: int, distance: int) -> Sequence[int]:
        """Return the one or two options `distance` places from option `index`; () if the options have no order."""
        order = self.order(node)
        if order is None:
            return ()
        place = int(np.flatnonzero(order == index)[0])
        return tuple(int(order[p]) for p in (place - distance, place + distance) if 0 <= p < order.size)


@dataclass(slots=True)
class Neighbours:
    """Iterates over the genes of a walk with one decision changed: nearest options first, equally near in random order.

    They are generated lazily, because a decision may have thousands of options. Ring d has the options d places from
    those of the walk; of a decision without order, each ring has two options in random order.
    """

    path: Path
    scales: Scales
    rng: np.random.Generator
    _distance: int = 0
    _others: dict[int, list[int]] = field(default_factory=dict)
    _ring: list[tuple[Node, int]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Genes]:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Genes:
        """Return the next genes."""
        if not self._ring:
            self._distance += 1
            ring = [(node, other) for place, (node, _) in enumerate(self.path) for other in self._at(place)]
            if not ring:
                raise StopIteration
            self._ring = [ring[place] for place in self.rng.permutation(len(ring))][::-1]
        node, other = self._ring.pop()
        return {**{key(node): node.options[index] for node, index in self.path}, key(node): node.options[other]}

    def _at(self, place: int) -> Sequence[int]:
        """Return the options of the current ring at one place of the path."""
        node, index = self.path[place]
        if self.scales.order(node) is not None:
            return self.scales.steps(node, index, self._distance)
        if place not in self._others:
            drawn = self.rng.permutation(len(node.options))
            self._others[place] = [int(other) for other in drawn if other != index]
        return self._others[place][2 * self._distance - 2 : 2 * self._distance]


def redrawn(path: Path, count: int, rng: np.random.Generator) -> Genes:
    """Return the genes of a walk with `count` random decisions changed to other random options."""
    wanted = {key(node): node.options[index] for node, index in path}
    for place in rng.choice(len(path), size=min(count, len(path)), replace=False):
        node, index = path[place]
        wanted[key(node)] = node.options[another(node, index, rng)]
    return wanted


def another(node: Node, index: int, rng: np.random.Generator) -> int:
    """Return a random option other than `index` that is not pruned; `index` itself if there is none."""
    others = node.allowed[node.allowed != index]
    return int(others[rng.integers(others.size)]) if others.size else index


def is_number(option: Option | None) -> TypeGuard[int | float]:
    """Return whether `option` is a number (bool is not)."""
    return isinstance(option, int | float) and not isinstance(option, bool)
