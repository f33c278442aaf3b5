"""PolyMage-GPU's plans: fusion by dynamic programming, each group with its cheapest tile.

Jangda & Guha 2020, section 5. Deviations: stages that are trivial to inline are inlined first (`trivial`; the paper
inlines none, like `inline=False`); a kernel stores one array, since antune's kernels do not store the other stages that
they compute; tiles have the sizes that plans offer. Stages that the model refuses to judge have kernels of their own.
Tiles of blocks are compared with those of warps, with fractions in registers; the paper has only the latter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from explorer.plan_makers.choices import Choice, Grouping, Made, Unjudged, hosted, spaced
from explorer.plan_makers.fusion import EXACT, Found, fuse
from explorer.plan_makers.products import left_to_start_plans
from explorer.plan_makers.trivial import readers_of, trivial
from generator.dataflow import Dataflow
from generator.nest import Level
from metrics.costs.configurations import Configurations, candidates, split_candidates
from metrics.costs.device import CostDevice
from metrics.costs.distances import objection
from metrics.costs.groups import Group, column
from metrics.costs.polymage import PolyMage, Weighed, cost_of, refusal
from metrics.costs.split import can_split

TRIED = 16
"""The number of configurations of a group that are kept."""
FIRST_LIMIT = 8
"""The limit of stages in a group in the first round, for programs with more than EXACT."""


def dynamic_plans(
    flow: Dataflow, device: CostDevice, model: PolyMage, count: int = 1, inline: bool = True, launches: bool = False,
    sums: Collection[str] = (),
) -> Made:  # fmt: skip
    """Return the `count` best groupings of the stages of `flow` on `device`.

    `launches`: of more than three dimensions, the outermost ones are host loops around launches (`Stages`). `sums`: of
    products, which the model does not know (`products`).
    """
    inlined = trivial(flow) if inline else frozenset[str]()
    judged = [node.array for node in flow.nodes if node.array not in inlined and not node.refusal]
    left = tuple(Unjudged(node.array, node.refusal) for node in flow.nodes if node.refusal)
    place = {array: k for k, array in enumerate(judged)}
    outside = 1 << len(judged)  # stages that the model cannot judge read from global memory
    read_by = [
        sum(1 << place[reader] if reader in place else outside for reader in {*readers_of(flow, array, inlined)})
        for array in judged
    ]
    prices = _Prices(flow, inlined, judged, read_by, device, model, launches, frozenset(sums))
    limit = EXACT if len(judged) <= EXACT else FIRST_LIMIT
    graph = [readers & ~outside for readers in read_by]
    found = fuse(graph, prices.best, 1, limit)
    if count > 1 and found:
        found = fuse(graph, partial(prices.several, best=found[0].cost), count, limit)
    groupings = tuple(_grouping(one) for one in found)
    return Made(groupings, left, model, prices.unjudged)


def _grouping(found: Found[Choice]) -> Grouping:
    return Grouping(tuple(sorted((choice for _, choice in found.groups), key=lambda choice: choice.group.output)))


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The `place`-th configuration of `given`, which are some of a group's, and its cost."""

    cost: float
    group: Group
    given: Configurations
    found: Weighed
    place: int
    level: Level

    @property
    def choice(self) -> Choice:
        """The choice of this configuration; making it takes longer than its cost, which is all that most are for."""
        tile, block = (tuple(map(int, one[:, self.place])) for one in (self.given.tile, self.given.block))
        tenths = int(self.given.tenths[self.place]) if self.given.tenths is not None else 0
        return Choice(self.group, tile, block, cost_of(self.found, self.place), self.level, tenths)


@dataclass(slots=True)
class _Prices:
    """The costs of groups; `read_by` as for `fuse`, with a bit for stages outside. `_known` is a cache."""

    flow: Dataflow
    inlined: frozenset[str]
    judged: Sequence[str]
    read_by: Sequence[int]
    device: CostDevice
    model: PolyMage
    launches: bool
    sums: frozenset[str]
    _known: dict[int, list[_Way]] = field(default_factory=dict)

    def best(self, mask: int) -> list[tuple[float, Choice]]:
        """Return the cheapest configuration of the group of these stages."""
        found = left_to_start_plans([way.choice for way in self._ways(mask)[:1]], self.sums)
        return [(choice.cost.number, choice) for choice in found]

    def several(self, mask: int, best: float) -> list[tuple[float, Choice]]:
        """Return the cheapest configurations whose costs differ enough for a program of cost `best`."""
        found = left_to_start_plans(spaced([way.choice for way in self._ways(mask)], best), self.sums)
        return [(choice.cost.number, choice) for choice in found]

    def unjudged(self, group: Group, chosen: bool) -> str:
        """See Made."""
        if why := refusal(group):
            return why
        given = candidates(group.extents, self.device, group.hosted)
        fine = self.model.evaluate(group, given, self.device).possible if chosen else None
        return objection(group, np.minimum(given.tile, column(group.extents)), fine)

    def _ways(self, mask: int) -> list[_Way]:
        known = self._known.get(mask)
        if known is None:
            group = self._group(mask)
            known = self._known[mask] = [] if group is None or refusal(group) else self._cheapest(group)
        return known

    def _group(self, mask: int) -> Group | None:
        """Return the kernel; None if other kernels need a stage that it does not store."""
        *others, output = [k for k in range(len(self.judged)) if mask >> k & 1]
        if not all(self._may_share(k, mask) for k in others):
            return None
        members = tuple(self.judged[k] for k in others)
        return hosted(Group(self.flow, self.judged[output], members, self.inlined), self.launches)

    def _may_share(self, k: int, mask: int) -> bool:
        node = self.flow.node(self.judged[k])
        return node is not None and node.stage and not self.read_by[k] & ~mask

    def _cheapest(self, group: Group) -> list[_Way]:
        """Return tiles of blocks, and, if they differ, those of warps, with all fractions in registers."""
        found = self._priced(group, candidates(group.extents, self.device, group.hosted), self.model)
        if self.device.shuffles and self.model.level == "block" and can_split(group):
            warps = split_candidates(group.extents, self.device, group.hosted)
            found += self._priced(group, warps, replace(self.model, level="sub-group"))
        return sorted(found, key=lambda way: way.cost)[:TRIED]

    def _priced(self, group: Group, given: Configurations, model: PolyMage) -> list[_Way]:
        found = model.evaluate(group, given, self.device)
        best = found.cheapest(TRIED)
        few = found.at(best)
        kept = Configurations(given.points[:, best], given.block[:, best],
                              given.tenths[best] if given.tenths is not None else None)  # fmt: skip
        return [_Way(float(cost), group, kept, few, k, model.level) for k, cost in enumerate(few.cost)]
