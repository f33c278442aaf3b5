"""Sioutas' scheduler: inline greedily, fuse greedily, then choose the final tiles (Sioutas et al. 2020, sections 4, 5).

1. Inline the stages that are trivial to inline (`trivial`).
2. Of all stages that may be inlined into all their readers, inline the one that saves most, until none saves
   anything. The cost of a stage is that of its kernel without tiles.
3. Of all stages that only one other kernel reads, fuse the one that saves most with that kernel, each kernel with its
   best tile, until none saves anything. Impossible kernels are not fused.
4. Give each kernel the best tile by the stricter cost of the final phase. This is done for the kernels before the
   first fusion and after each, because the last ones are not always the cheapest by this cost: the best tiles of all
   are compared (the paper has those of the last kernels only).
5. In kernels with high resource usage, compute stages in loops of threads if nothing is computed twice (`nesting`).

Of ties, the stage that comes first in the program is chosen, and steps without a gain are not done (the artifact
chooses the last one, and does steps without a gain). If a stage of few elements can have no kernel with enough blocks,
its best tile is the cheapest one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from explorer.plan_makers.choices import (
    Choice,
    Grouping,
    Made,
    Unjudged,
    combinations,
    hosted,
    in_order,
    spaced,
)
from explorer.plan_makers.nesting import Nested
from explorer.plan_makers.nesting import nested as in_loops
from explorer.plan_makers.products import in_threads, left_to_start_plans, may_share, summed
from explorer.plan_makers.trivial import can_inline, fits, readers_of, trivial
from generator.dataflow import Dataflow
from generator.decisions.size_lists import STEPS as STEPS_ON_HOST
from generator.decisions.size_lists import WIDE, CandidateSizes
from generator.decisions.walk import STEPS
from metrics.costs.device import CostDevice
from metrics.costs.distances import objection
from metrics.costs.groups import Group, Numbers, kept_in_steps, parallel_dimensions, tile_work
from metrics.costs.sioutas import Sioutas, cost_of
from metrics.costs.tile_sizes import cut, tiles

TRIED = 64
"""The number of tiles of a kernel for the next best plans."""
Groups = Mapping[str, tuple[str, ...]]
"""The members of each kernel, by its output."""


def greedy_plans(
    flow: Dataflow, device: CostDevice, model: Sioutas | None = None, count: int = 1, launches: bool = False,
    sums: Collection[str] = (),
) -> Made:  # fmt: skip
    """Return the schedule with overlapped tiles and the next best, up to `count` groupings, and those with nested
    stages: with stages in loops over rows, and with none of these. Which of them plans can express is not known here.

    `launches`: of more than three dimensions, the outermost ones are host loops around launches (`Stages`). `sums`: of
    products, which the model does not know (`products`).
    """
    model = model or Sioutas()
    scheduler = _Scheduler(flow, device, model, launches, frozenset(sums))
    left = tuple(Unjudged(node.array, node.refusal) for node in flow.nodes if node.refusal)
    inlined, count = scheduler.inlined(), max(count, 1)
    stages = list(scheduler.fused(inlined))
    tiled = [(groups, found) for groups in stages if (found := scheduler.tiled(groups, inlined, count))]
    plain = in_order(one for _, found in tiled for one in found)[:count]
    nested = [one for groups in _nestable(stages[-1], tiled) for rows in (True, False)
              for one in scheduler.nested(groups, inlined, rows)]  # fmt: skip
    groupings = in_order([*plain, *nested])
    return Made(groupings, left, model, scheduler.unjudged)


def _nestable(last: Groups, tiled: Sequence[tuple[Groups, list[Grouping]]]) -> Iterator[Groups]:
    """Yield the last kernels, and the cheapest ones if those are others."""
    yield last
    cheapest = min(tiled, key=lambda one: one[1][0].cost, default=None)
    if cheapest is not None and cheapest[0] != last:
        yield cheapest[0]


@dataclass(slots=True)
class _Scheduler:
    """The scheduler; `_known` caches the best tiles of kernels."""

    flow: Dataflow
    device: CostDevice
    model: Sioutas
    launches: bool
    sums: frozenset[str]
    _known: dict[tuple[Group, bool], list[Choice]] = field(default_factory=dict)

    def inlined(self) -> frozenset[str]:
        """Return the inlined stages (steps 1 and 2)."""
        inlined = trivial(self.flow)
        while True:
            gains = {array: gain for array in self._inlinable(inlined) if (gain := self._saved(array, inlined)) > 0.0}
            for array in sorted(gains, key=lambda one: -gains[one]):
                if fits(self.flow, inlined | {array}):
                    inlined |= {array}
                    break
            else:
                return inlined

    def _inlinable(self, inlined: frozenset[str]) -> Iterator[str]:
        for node in self.flow.nodes:
            readers = readers_of(self.flow, node.array, inlined)
            if node.array not in inlined and can_inline(node) and readers and self._judged(readers):
                yield node.array

    def _judged(self, arrays: Iterable[str]) -> bool:
        nodes = map(self.flow.node, arrays)
        return all(node is not None and not node.refusal for node in nodes)

    def _saved(self, array: str, inlined: frozenset[str]) -> float:
        """Return the cost saved by inlining `array` into all its readers."""
        readers, more = readers_of(self.flow, array, inlined), inlined | {array}
        before = sum(self._alone(one, inlined) for one in (array, *readers))
        return before - sum(self._alone(one, more) for one in readers)

    def _alone(self, array: str, inlined: frozenset[str]) -> float:
        return self.model.inlined_cost(Group(self.flow, array, (), inlined), self.device)

    def fused(self, inlined: frozenset[str]) -> Iterator[Groups]:
        """Yield the kernels before the first fusion and after each (step 3)."""
        groups: dict[str, tuple[str, ...]] = {
            node.array: () for node in self.flow.nodes if node.array not in inlined and not node.refusal
        }
        while True:
            yield dict(groups)
            gains: dict[tuple[str, str], float] = {}
            for array in groups:
                output = self._only_reader(array, groups, inlined)
                if output is not None and (gain := self._won(array, output, groups, inlined)) > 0.0:
                    gains[array, output] = gain
            if not gains:
                return
            array, output = max(gains, key=lambda pair: gains[pair])
            groups[output] = self._merged(array, output, groups)
            del groups[array]

    def _only_reader(self, array: str, groups: Groups, inlined: frozenset[str]) -> str | None:
        """Return the only kernel that reads `array` and may compute it; None if there is none."""
        node, readers = self.flow.node(array), {*readers_of(self.flow, array, inlined)}
        if node is None or not node.stage or not readers:
            return None
        output = next((output for output, members in groups.items() if readers <= {*members, output}), None)
        if output is None:
            return None
        together = Group(self.flow, output, self._merged(array, output, groups), inlined)
        return output if may_share(together, self.sums) else None

    def _merged(self, array: str, output: str, groups: Groups) -> tuple[str, ...]:
        together = {*groups[output], *groups[array], array}
        return tuple(node.array for node in self.flow.nodes if node.array in together)

    def _won(self, array: str, output: str, groups: Groups, inlined: frozenset[str]) -> float:
        """Return the cost saved by computing `array` in the blocks of the kernel that stores `output`."""
        both = self._best(self._group(output, self._merged(array, output, groups), inlined), False, 1)
        apart = [self._best(self._group(one, groups[one], inlined), False, 1) for one in (array, output)]
        if not both or not all(apart):
            return 0.0
        return sum(best[0].cost.number for best in apart) - both[0].cost.number

    def tiled(self, groups: Groups, inlined: frozenset[str], count: int) -> list[Grouping]:
        """Return the `count` best ways to tile the kernels (step 4)."""
        many = TRIED if count > 1 else 1
        options = [self._best(self._group(output, members, inlined), True, many)
                   for output, members in groups.items()]  # fmt: skip
        best = sum(one[0].cost.number for one in options if one)
        options = [left_to_start_plans(spaced(one, best), self.sums) for one in options]
        return [Grouping(kernels) for kernels in combinations(options, count)]

    def nested(self, groups: Groups, inlined: frozenset[str], rows: bool) -> list[Grouping]:
        """Return the kernels with the stages that may be computed in thread loops there (step 5), or only in the
        innermost ones unless `rows`; empty if nothing changes.
        """
        options, moved, in_rows = [], list[str](), list[str]()
        for output, members in groups.items():
            best = self._best(self._group(output, members, inlined), True, 1)
            found = in_loops(best[0], rows) if best and not summed(best[0].group, self.sums) else None
            if found is not None and fits(self.flow, found.group.inlined) and (inside := self._inside(found)):
                moved += found.moved
                in_rows += found.in_rows
                best = [inside]
            options.append(left_to_start_plans(best, self.sums))
        if not (moved or in_rows) or not all(options):
            return []
        return [Grouping(tuple(one[0] for one in options), _said(moved, in_rows))]

    def unjudged(self, group: Group, chosen: bool) -> str:
        """See Made."""
        sizes, fine = tiles(group.extents, self.device, group.hosted), None
        if chosen and may_share(group, self.sums):
            fine = replace(self.model, final=False).evaluate(group, sizes, self.device).possible
        return objection(group, sizes, fine)

    def _inside(self, found: Nested) -> Choice | None:
        """Return a kernel with stages in thread loops with its best tile and step; None if it is impossible.

        On CPUs, costs do not depend on the step and on what is computed for the whole tile: it is the first way, which
        takes the least room.
        """
        if not found.in_rows:
            return next(iter(self._best(found.group, True, 1)), None)
        ways = [((found.walked, rows), whole) for rows in STEPS for whole in found.wholes]
        ways = ways[:1] if self.device.host else ways
        best = (one for step, whole in ways for one in self._searched(found.group, True, 1, step, whole))
        return min(best, key=lambda one: one.cost.number, default=None)

    def _group(self, output: str, members: tuple[str, ...], inlined: frozenset[str]) -> Group:
        return in_threads(hosted(Group(self.flow, output, members, inlined), self.launches), self.sums)

    def _best(self, group: Group, final: bool, count: int) -> list[Choice]:
        """Return the kernel with its best tiles; empty if it is impossible."""
        known = self._known.get((group, final))
        if known is None or (len(known) < count and len(known) == 1):
            known = self._known[group, final] = self._searched(group, final, count)
        return known[:count]

    def _searched(self, group: Group, final: bool, count: int, step: tuple[int, int] | None = None,
                  whole: tuple[str, ...] = ()) -> list[Choice]:  # fmt: skip
        """Return the kernel with its best tiles, in blocks that walk if there is a `step`, with members `whole`."""
        sizes = tiles(group.extents, self.device, group.hosted)
        apart = () if self.device.host else cut(group.extents, parallel_dimensions(len(group.extents), group.hosted))
        kept = None
        taken = sizes
        if step is not None:
            offered = STEPS_ON_HOST if self.device.host else WIDE
            sizes = sizes[:, (sizes[step[0]] > step[1]) & _on_offer(group, sizes, offered)]
            taken = sizes.copy()
            taken[step[0]] = step[1]
            kept = kept_in_steps(group, tile_work(group, sizes), tile_work(group, taken), step[0], whole)
        threads = np.prod([taken[d] for d in apart], axis=0) if apart else np.ones(sizes.shape[1])
        found = replace(self.model, final=final).evaluate(group, sizes, self.device, threads, kept)
        fine = found.possible
        if not fine.any() and not group.members:
            fine = ~np.any([wrong.are for wrong in found.wrongs if not wrong.runs], axis=0)
        order = np.argsort(np.where(fine, found.cost, np.inf), kind="stable")[:count]
        return [
            Choice(
                group,
                tuple(map(int, sizes[:, k])),
                tuple(int(taken[d, k]) if d in apart else 1 for d in range(len(sizes))),
                cost_of(found, k),
                step=step,
                whole=whole,
            )
            for k in map(int, order)
            if fine[k]
        ]


def _on_offer(group: Group, sizes: Numbers, offered: CandidateSizes) -> NDArray[np.bool_]:
    """Return which sizes spaces have for blocks that walk: in others, stages take other room than the model says."""
    tiles = np.exp2(np.ceil(np.log2(sizes)))  # a tile of a plan is a power of two
    parallel = parallel_dimensions(len(group.extents), group.hosted)
    fine: NDArray[np.bool_] = tiles[list(parallel)].prod(axis=0) <= offered.max_points
    for d, some in zip(reversed(parallel), offered.sizes, strict=False):
        fine &= (tiles[d] <= some[-1]) & ((tiles[d] >= some[0]) | (sizes[d] == group.extents[d]))
    return fine


def _said(moved: list[str], in_rows: list[str]) -> str:
    """Return where the plan computes nested stages."""
    in_threads = f"{', '.join(moved)} in the threads that read {_them(moved)}" if moved else ""
    of_rows = f"{', '.join(in_rows)} in the loop over rows of the threads that read {_them(in_rows)}" if in_rows else ""
    return "; ".join(filter(None, (in_threads, of_rows)))


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"
