"""What evolution and local search do to walks: cut them, cross them, change them. The graph repairs the result.

A walk's genes are its choices by decision name and subject. Changed genes are only wishes: replayed as preferences
(`repaired`), they lead to a legal walk whatever was done to them. A subject is what decisions are about, such as a
kernel; its genes belong together and form a block. Subjects that follow each other in a walk are neighbours: the stages
of an image pipeline are decided from what reads them to what they read, so that a run of neighbours often is a chain of
these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from graph.optimization_graph import Node, Policy
from graph.policies import Preferences, prefer, preferences, uniform
from graph.prefixes import Path
from graph.space import Option
from graph.walk import Walk

Subject: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[str, Subject]
Genes: TypeAlias = dict[Key, Option]
"""Preferred options in the order in which they were chosen."""
GOES_ON = 0.85
"""How likely a run of neighbours takes in one more, after each."""


def genes(walk: Walk) -> Genes:
    """The choices of `walk`."""
    return preferences(walk.choices)


def key(node: Node) -> Key:
    """Under which name the choice at `node` is found among genes."""
    return node.decision.name, node.decision.subject


def repaired(wanted: Preferences, rng: np.random.Generator) -> Policy:
    """Follow `wanted`; a number that is not on offer gives way to the closest one that is, anything else to chance."""
    chance = uniform(rng)

    def otherwise(node: Node, allowed: NDArray[np.intp]) -> int:
        near = closest(node, allowed, wanted.get(key(node)))
        return chance(node, allowed) if near is None else near

    return prefer(wanted, otherwise)


def closest(node: Node, allowed: NDArray[np.intp], option: Option | None) -> int | None:
    """The index of the allowed number that is closest to `option`; None where these are no numbers."""
    offered = [node.options[index] for index in allowed]
    if not is_number(option) or not all(map(is_number, offered)):
        return None
    return int(allowed[np.argmin(np.abs(np.array(offered, dtype=np.float64) - option))])


def differences(first: Genes, second: Genes) -> int:
    """How many genes of either are not in the other."""
    return len(dict(first.items() ^ second.items()))


def blocks(wanted: Mapping[Key, Option]) -> list[list[Key]]:
    """The keys of each subject, in order of first appearance; where there is only one subject, each key by itself."""
    found: dict[Subject, list[Key]] = {}
    for name, subject in wanted:
        found.setdefault(subject, []).append((name, subject))
    return list(found.values()) if len(found) > 1 else [[one] for one in wanted]


def block(wanted: Mapping[Key, Option], subject: Subject) -> Genes:
    """The genes of one subject."""
    return {gene: option for gene, option in wanted.items() if gene[1] == subject}


def crossed(first: Genes, second: Genes, rng: np.random.Generator) -> Genes:
    """Two-point crossover between blocks: those between two random cuts from `second`, the others from `first`.

    Genes that only `second` has stay as wishes, for what the mixture may lead to that `first` never met.
    """
    parts = blocks(first)
    low, high = sorted(int(cut) for cut in rng.integers(len(parts) + 1, size=2))
    if high - low == len(parts):  # all of `second` is no crossover
        high -= 1
    inside = {gene for part in parts[low:high] for gene in part}
    return {**second, **{gene: option for gene, option in first.items() if gene not in inside or gene not in second}}


def run(count: int, rng: np.random.Generator) -> range:
    """The places of a random run among `count` neighbours (one at least): it begins anywhere, and may end after
    each.
    """
    first = int(rng.integers(count))
    return range(first, min(count, first + int(rng.geometric(1.0 - GOES_ON))))


def fused(path: Path, rng: np.random.Generator) -> Genes:
    """The genes of a walk in which a run of neighbours gets one option of a decision that is made about each of them.

    It is an option that the first of the run has not taken; who does not have it on offer stays as it is. What is asked
    about subjects that come of it (a kernel that was never met) is answered as a subject of this walk did.
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
    """Names of decisions that are made about several subjects: those between words if there are any.

    Words say where something is or what becomes of it, which changes most where neighbours agree; numbers are sizes.
    """
    subjects: dict[str, set[Subject]] = {}
    for node, _ in path:
        subjects.setdefault(node.decision.name, set()).add(node.decision.subject)
    numbers = {node.decision.name for node, _ in path if not all(isinstance(option, str) for option in node.options)}
    several = {name for name, about in subjects.items() if len(about) > 1}
    return several - numbers or several


def templated(wanted: Genes, template: Preferences, rng: np.random.Generator) -> Genes:
    """`wanted` with what `template` says about a run of neighbours; subjects that come of it follow one of the
    template's.
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
    """Wishes for subjects about which nothing else is wished: the choices of one of `given`, the likelier the more
    it has.
    """
    _, giver = list(given)[int(rng.integers(len(given)))]
    return {(name, ()): option for (name, subject), option in given.items() if subject == giver}


@dataclass(slots=True)
class Scales:
    """Which options are near each other: numbers in order of size. Other options are all equally far apart.

    Remembers the order of each node that it was asked about.
    """

    _orders: dict[Node, NDArray[np.intp] | None] = field(default_factory=dict)

    def order(self, node: Node) -> NDArray[np.intp] | None:
        """The indices of the options by size; None where they are no numbers."""
        if node not in self._orders:
            numbers = len(node.options) > 2 and all(is_number(option) for option in node.options)
            self._orders[node] = np.argsort(np.array(node.options), kind="stable") if numbers else None
        return self._orders[node]

    def steps(self, node: Node, index: int, distance: int) -> Sequence[int]:
        """The one or two numbers that lie `distance` places from option `index`; nothing where there are no places."""
        order = self.order(node)
        if order is None:
            return ()
        place = int(np.flatnonzero(order == index)[0])
        return tuple(int(order[p]) for p in (place - distance, place + distance) if 0 <= p < order.size)


@dataclass(slots=True)
class Neighbours:
    """The genes of a walk with one decision changed, nearest options first, random among the equally near.

    Made one by one as they are asked for: a decision may have thousands of options. Options come in rings around those
    of the walk; of a decision whose options are no numbers, two in random order belong to each ring.
    """

    path: Path
    scales: Scales
    rng: np.random.Generator
    _distance: int = 0
    _others: dict[int, list[int]] = field(default_factory=dict)
    _ring: list[tuple[Node, int]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Genes]:
        """Those that are left."""
        return self

    def __next__(self) -> Genes:
        """The next one."""
        if not self._ring:
            self._distance += 1
            ring = [(node, other) for place, (node, _) in enumerate(self.path) for other in self._at(place)]
            if not ring:
                raise StopIteration
            self._ring = [ring[place] for place in self.rng.permutation(len(ring))][::-1]
        node, other = self._ring.pop()
        return {**{key(node): node.options[index] for node, index in self.path}, key(node): node.options[other]}

    def _at(self, place: int) -> Sequence[int]:
        """The options of this ring at one place of the path."""
        node, index = self.path[place]
        if self.scales.order(node) is not None:
            return self.scales.steps(node, index, self._distance)
        if place not in self._others:
            drawn = self.rng.permutation(len(node.options))
            self._others[place] = [int(other) for other in drawn if other != index]
        return self._others[place][2 * self._distance - 2 : 2 * self._distance]


def redrawn(path: Path, count: int, rng: np.random.Generator) -> Genes:
    """The genes of a walk with `count` random decisions drawn anew, each unlike before."""
    wanted = {key(node): node.options[index] for node, index in path}
    for place in rng.choice(len(path), size=min(count, len(path)), replace=False):
        node, index = path[place]
        wanted[key(node)] = node.options[another(node, index, rng)]
    return wanted


def another(node: Node, index: int, rng: np.random.Generator) -> int:
    """A random option other than `index` that leads to no dead end (`index` itself if there is no other)."""
    others = node.allowed[node.allowed != index]
    return int(others[rng.integers(others.size)]) if others.size else index


def is_number(option: Option | None) -> TypeGuard[int | float]:
    """Whether options like this one have an order (true and false have none)."""
    return isinstance(option, int | float) and not isinstance(option, bool)
