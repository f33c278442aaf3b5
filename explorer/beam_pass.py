"""A pass of beam search over prefixes of walks (Anderson et al. 2021, sections 4.3 to 4.5 and their implementation).

Each step extends the cheapest prefixes, at most `beam` of them. With `sampling`, only some options of a decision become
prefixes: they are grouped into buckets by the structure that they lead to, at the depth of the pass, and
max(1, floor(log2(n))) are drawn from a bucket of n. Later passes compare structures in more detail. The cost of the
j-th prefix of a step with the same structure at depth + 1 is multiplied by j, or by j + UNBLESSED if its structure was
not among those of the best walks of the previous pass (`Blessed`).

Walks may differ in length. When a walk is complete, the pass continues with the prefixes that cost less, until none is
left. For this comparison, costs are taken without the factor for equal structures, which only changes the order.

With `dropout`, prefixes are skipped at random, so that a whole run skips none with probability `dropout`.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import isfinite, log2
from typing import Protocol, runtime_checkable

import numpy as np

from graph.guiding import Guide, Prefix
from graph.space import DeadEnd, Option

UNBLESSED = 10
"""Added to the cost factor of a prefix whose structure was not among those of the best walks."""
BLESSED_BAND = 1.2
"""The structure of a walk is kept for the next pass if the walk costs at most this many times the best."""
HEAVY = 2
"""Upper limit of the heavy prefixes (Guide.is_heavy) that a step extends."""
MOST = 64
"""With sampling, so many options are drawn from a longer list before their structure is computed (ours)."""
FEW = 3
"""Up to this many options are all tried, for example a stage's place (the paper does not sample inlining, either)."""
COARSE = -1
"""The number of a pass in which all structures are equal."""


@dataclass(frozen=True, slots=True)
class BeamOptions:
    """The parameters of the paper.

    `beam`: prefixes extended per step. `passes`: number of passes. `sampling`: hierarchical sampling. `freezing`: a
    first pass over a coarse part of the space fixes the less important decisions. `turns`: further passes after
    freezing (ours); each of the passes leaves other decisions open. `dropout`: the probability that a greedy run skips
    no prefix (1: no dropout).
    """

    beam: int = 32
    passes: int = 5
    sampling: bool = True
    freezing: bool = True
    turns: int = 3
    dropout: float = 0.01


@runtime_checkable
class ForBeams(Protocol):
    """A space that says how to search it."""

    @property
    def beam(self) -> BeamOptions:
        """The parameters."""


@dataclass(slots=True)
class Blessed:
    """The structures of the best walks of the previous passes, and of all their prefixes."""

    structures: set[Hashable] = field(default_factory=set)

    def keep(self, guide: Guide, ends: list[Prefix], depth: int) -> None:
        """Add the structures of the walks that end with `ends`, at this depth, and of their prefixes."""
        met: set[Prefix] = set()
        for end in ends:
            at: Prefix | None = end
            while at is not None and at not in met:
                met.add(at)
                self.structures.add(_structure(guide, at, depth))
                at = at.parent


@dataclass(slots=True)
class Pass:
    """One pass.

    `length`: the approximate number of decisions of a walk, used to compute the dropout per step. `extended`, `judged`:
    the numbers of prefixes that were extended, and whose cost was estimated. `deepest`: the number of decisions of the
    longest prefix.
    """

    guide: Guide
    options: BeamOptions
    number: int
    rng: np.random.Generator
    blessed: Blessed
    dropping: bool = False
    length: int = 1
    extended: int = 0
    judged: int = 0
    deepest: int = 0
    _best: Prefix | None = None
    _ends: list[Prefix] = field(default_factory=list)

    def run(self, start: Prefix) -> Prefix | None:
        """Return the end of the cheapest complete walk; None if all prefixes are dead ends."""
        waiting, last = [start], list[Prefix]()
        while waiting:
            last, waiting = waiting, self._step(waiting)
        if self._best is not None:
            self._bless(self._best, last)
        return self._best

    def _step(self, waiting: list[Prefix]) -> list[Prefix]:
        """Return the prefixes that are longer by one choice; none if no prefix costs less than a complete walk."""
        heap = [(prefix.cost, order, prefix) for order, prefix in enumerate(waiting)]
        heapq.heapify(heap)
        seen: dict[Hashable, int] = {}
        children: list[Prefix] = []
        begun = heavy = 0
        while heap and begun < self.options.beam:
            cost, order, prefix = heapq.heappop(heap)
            if self._penalize(prefix, seen) and heap and prefix.cost > heap[0][0]:
                heapq.heappush(heap, (prefix.cost, order, prefix))
                continue
            if not self._improves(prefix) or (self._drops() and (heap or begun)):
                continue
            is_heavy = self.guide.is_heavy(prefix)
            if is_heavy and heavy >= HEAVY:
                continue
            reached = _settled(self.guide, prefix)
            if reached is None:
                continue
            heavy += is_heavy
            self.deepest = max(self.deepest, reached.decisions)
            if reached.state.decision is None:
                self._keep(reached)
                continue
            children += self._children(reached)
            begun += 1
        self.extended += begun
        self.judged += len(children)
        for child, cost in zip(children, self.guide.costs(children), strict=True):
            child.cost = cost
        return [child for child in children if isfinite(child.cost)]

    def _improves(self, prefix: Prefix) -> bool:
        """Return whether the prefix may lead to a cheaper walk than the best complete one."""
        return self._best is None or self.guide.costs([prefix])[0] < self._best.cost

    def _keep(self, end: Prefix) -> None:
        """Store a complete walk with its own cost, without penalties."""
        [end.cost] = self.guide.costs([end])
        if isfinite(end.cost):
            self._ends.append(end)
            if self._best is None or end.cost < self._best.cost:
                self._best = end

    def _penalize(self, prefix: Prefix, seen: dict[Hashable, int]) -> bool:
        """Penalize a prefix once if others have its structure. Return whether its cost changed."""
        if self.options.beam == 1 or self.options.passes == 1 or self.number < 0 or prefix.penalized:
            return False
        structure = _structure(self.guide, prefix, self.number + 1)
        seen[structure] = times = seen.get(structure, 0) + 1
        if self.number > 0 and _structure(self.guide, prefix, self.number - 1) not in self.blessed.structures:
            times += UNBLESSED
        if times > 1:
            prefix.penalized = True
            prefix.cost *= times
        return times > 1

    def _drops(self) -> bool:
        if not self.dropping or self.options.dropout >= 1.0:
            return False
        return bool(self.rng.random() >= self.options.dropout ** (1.0 / max(1, self.length)))

    def _children(self, prefix: Prefix) -> list[Prefix]:
        """Return the extensions of a prefix by one choice, sampled if sampling is on."""
        options = self.guide.offered(prefix)
        if self.options.sampling and len(options) > MOST:
            options = tuple(options[k] for k in sorted(self.rng.permutation(len(options))[:MOST]))
        made = [child for option in options if (child := _extended(prefix, option)) is not None]
        if not self.options.sampling or len(made) <= FEW:
            return made
        buckets: dict[Hashable, list[Prefix]] = {}
        for child in made:
            buckets.setdefault(_structure(self.guide, child, self.number), []).append(child)
        return [child for bucket in buckets.values() for child in self._drawn(bucket)]

    def _drawn(self, bucket: list[Prefix]) -> Iterator[Prefix]:
        """Draw max(1, floor(log2(n))) of the n prefixes in the bucket, skipping impossible ones."""
        quota = max(1, int(log2(len(bucket))))
        for place in self.rng.permutation(len(bucket)):
            if quota and isfinite(self.guide.costs([bucket[place]])[0]):
                quota -= 1
                yield bucket[place]

    def _bless(self, best: Prefix, waiting: list[Prefix]) -> None:
        """Store the structures of the best walks of this pass, and of equally cheap prefixes of its last step."""
        others = sorted((one for one in (*self._ends, *waiting) if one is not best), key=lambda one: one.cost)
        near = [one for one in others if one.cost <= BLESSED_BAND * best.cost]
        self.blessed.keep(self.guide, [best, *near[: self.options.beam]], self.number)


def _structure(guide: Guide, prefix: Prefix, depth: int) -> Hashable:
    """Return the structure, with the number of decisions, so that only prefixes of one step can be equal."""
    return prefix.decisions, guide.structure(prefix, depth) if depth >= 0 else None


def _extended(prefix: Prefix, option: Option) -> Prefix | None:
    try:
        return prefix.extended(option)
    except DeadEnd:
        return None


def _settled(guide: Guide, prefix: Prefix) -> Prefix | None:
    """Return the prefix extended by all following decisions with a single option; None for a dead end."""
    cost, penalized = prefix.cost, prefix.penalized
    try:
        while prefix.state.decision is not None and len(offered := guide.offered(prefix)) == 1:
            prefix = prefix.extended(offered[0])
    except DeadEnd:
        return None
    prefix.cost, prefix.penalized = cost, penalized
    return prefix
