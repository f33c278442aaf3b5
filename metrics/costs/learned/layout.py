"""A kernel as loops, for many sizes at once: blocks, the teams of threads that share a tile, and regions of stages.

The correspondence to the paper's loop nests: an output's blocks are its tiles; a member is realized once per team and
distributed over its threads; inlined stages have no loops. On a CPU a warp is a vector of the runtime, and its lanes
are neighbours along x of the points that a core computes in sequence, in any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Node
from generator.nest import Level
from metrics.costs.base import STEPS_UNKNOWN, PlannedKernel, Refused
from metrics.costs.device import CostDevice
from metrics.costs.groups import Group, Numbers, TileWork, column, kept_in_steps, regions

MOST_THREADS, MOST_WARPS, MOST_BLOCKS = 1024, 64, 32
"""Of a block, a compute unit, a compute unit: those of the paper's V100, and of antune's units if nothing else is
known.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Ways to cut one kernel: points and threads of a block by dimension of its output (dimensions x ways).

    `team`: the threads that share a tile; `level` as in PlannedKernel, the same for all ways; `sums` too, for each way;
    `step`: the dimension in which teams walk, and the points of a step of each way (infinite: all of the tile).
    """

    tile: Numbers
    block: Numbers
    team: Numbers
    level: Level
    step: tuple[int, Numbers] | None
    sums: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """The number of ways."""
        return int(self.tile.shape[1])

    def only(self, ways: NDArray[np.bool_]) -> Sizes:
        """Return some of the ways."""
        step = self.step and (self.step[0], self.step[1][ways])
        return Sizes(self.tile[:, ways], self.block[:, ways], self.team[:, ways], self.level, step, self.sums[ways])


def sizes_of(kernel: PlannedKernel) -> Sizes:
    """Return the only way of a plan, in one launch."""
    step = kernel.step and (kernel.step[0], np.array([kernel.step[1]], dtype=float))
    return Sizes(column(kernel.launched_tile), column(kernel.block), column(kernel.team), kernel.level, step,
                 np.array([kernel.sums]))


@dataclass(frozen=True, slots=True, eq=False)
class Loops:
    """The loops of a stage that is not inlined. Of `points` (for the output those of a team's tile), all blocks compute
    `total` together, and `active` threads of a block; a thread computes a box of these extents, `per_thread` in all.
    """

    points: Numbers
    total: Numbers
    active: Numbers
    box: Numbers
    per_thread: Numbers


@dataclass(frozen=True, eq=False)
class Layout:
    """A kernel with these sizes. `blocks`, `threads` of a block, `teams` of a block; `work` of a team's tile, `kept` in
    a step of it. `steps` in which a team walks along its tile. `lanes` of a warp.
    """

    group: Group
    device: CostDevice
    sizes: Sizes
    blocks: Numbers
    threads: Numbers
    teams: Numbers
    steps: Numbers
    work: TileWork
    kept: TileWork
    lanes: int
    _constants: dict[float, Numbers] = field(default_factory=dict, repr=False)

    @property
    def flow(self) -> Dataflow:
        """The program's dataflow."""
        return self.group.flow

    def node(self, stage: str) -> Node:
        """Return a stage of the kernel."""
        found = self.flow.node(stage)
        assert found is not None
        return found

    def is_output(self, stage: str) -> bool:
        """Return whether the kernel stores it."""
        return stage == self.group.output

    def constant(self, number: float) -> Numbers:
        """Return a number, the same for each way; the same array for equal numbers."""
        if (known := self._constants.get(number)) is None:
            known = self._constants[number] = np.full(self.sizes.count, float(number))
        return known

    def memory(self, array: str) -> int:
        """Return the memory of an array that stages of the kernel read: 0 global, 1 shared, 2 registers."""
        if array not in self.group.members:
            return 0
        return 2 if self.sizes.level == "thread" else 1

    def region(self, stage: str) -> Numbers:
        """Return the extents of the part of a stage that a team computes; for the output those of its tile."""
        return self.work.extents[stage]

    @cached_property
    def kept_by_team(self) -> Numbers:
        """The bytes of all members that a team needs in a step, a feature of the learned model."""
        zero = self.constant(0.0)
        return sum((self.kept.points[m] * self.node(m).element for m in self.group.members), zero)

    @cached_property
    def stored(self) -> TileWork:
        """`kept`, with the rows of windows that teams have room for while they walk."""
        if self.sizes.step is None:
            return self.kept
        axis, points = self.sizes.step
        return replace(kept_in_steps(self.group, self.work, self.kept, axis, ()), walking=np.isfinite(points))

    @cached_property
    def stored_by_team(self) -> Numbers:
        """The bytes that a team has room for."""
        zero = self.constant(0.0)
        return sum((self.stored.stored(m) * self.node(m).element for m in self.group.members), zero)

    @cached_property
    def loops(self) -> Mapping[str, Loops]:
        """The loops of each stage that is not inlined."""
        return {stage: self._loops(stage) for stage in self.group.stages}

    def _loops(self, stage: str) -> Loops:
        points, box = self.work.points[stage], self._thread_box(stage)
        if self.is_output(stage):
            return Loops(points, self.constant(self.node(stage).points), self.threads, box, box.prod(axis=0))
        whole = self.teams * points
        active = np.minimum(self.threads, whole)
        return Loops(points, self.blocks * self.teams * points, active, box, np.ceil(points * self.teams / active))

    def _thread_box(self, stage: str) -> Numbers:
        """Return the extents of the part of a stage with loops that a thread computes."""
        block = self.sizes.team if stage != self.group.output else self.sizes.block
        extents = self.region(stage) if stage != self.group.output else self.sizes.tile
        along = self.work.along[stage]
        shared = np.array([block[a] if a >= 0 else self.constant(1.0) for a in along]).reshape(extents.shape)
        found: Numbers = np.ceil(extents / np.minimum(shared, extents))
        return found

    def only(self, ways: NDArray[np.bool_]) -> Layout:
        """Return the kernel with some of its ways."""
        work = self.work.only(ways)
        kept = work if self.kept is self.work else self.kept.only(ways)
        return Layout(self.group, self.device, self.sizes.only(ways), self.blocks[ways], self.threads[ways],
                      self.teams[ways], self.steps[ways], work, kept, self.lanes)


def layout(group: Group, device: CostDevice, sizes: Sizes) -> Layout:
    """Return the kernel of `group` on `device`, cut in these ways."""
    extents = column(group.extents)
    tile = np.minimum(sizes.tile, extents)
    shared = np.minimum(np.ceil(tile / sizes.block) * sizes.team, tile)
    work, steps, kept = _work(group, shared, sizes)
    threads = sizes.block.prod(axis=0)
    return Layout(
        group, device, Sizes(tile, sizes.block, sizes.team, sizes.level, sizes.step, sizes.sums),
        np.ceil(extents / tile).prod(axis=0), threads, threads / sizes.team.prod(axis=0), steps, work, kept,
        device.lanes if device.host else device.warp)  # fmt: skip


def _work(group: Group, shared: Numbers, sizes: Sizes) -> tuple[TileWork, Numbers, TileWork]:
    """Return the work of a team's tile, the steps in which it walks, and the work of a step, found at once."""
    if sizes.step is None:
        work = regions(group, shared)
        return work, np.ones(sizes.count), work
    axis, points = sizes.step
    walking = shared.copy()
    walking[axis] = np.minimum(points, shared[axis])
    both = regions(group, np.concatenate([shared, walking], axis=1))
    tile, step = both.only(slice(sizes.count)), both.only(slice(sizes.count, None))
    return tile, np.ceil(shared[axis] / walking[axis]), step


def layout_of(kernel: PlannedKernel, device: CostDevice) -> Layout | Refused:
    """Return the layout of a kernel under a plan, or why it has none."""
    if isinstance(kernel.group, Refused):
        return kernel.group
    if kernel.launches is not None:
        return STEPS_UNKNOWN
    if kernel.whole:
        return Refused(f"it computes {', '.join(kernel.whole)} for whole tiles, the rest in steps")
    return layout(kernel.group, device, sizes_of(kernel))
