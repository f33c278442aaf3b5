"""A kernel as loops, for many sizes at once: blocks, the teams of threads that share a tile, and regions of stages.

The correspondence to the paper's loop nests: an output's blocks are its tiles; a member is realized once per team and
distributed over its threads; inlined stages have no loops. On a CPU a warp is a vector of the runtime, and its lanes
are neighbours along x of the points that a core computes in sequence, in any thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Node
from generator.nest import Level
from metrics.costs.base import STEPS_UNKNOWN, PlannedKernel, Refused
from metrics.costs.device import CostDevice
from metrics.costs.groups import Group, Numbers, TileWork, column, tile_work

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


def sizes_of(kernel: PlannedKernel) -> Sizes:
    """Return the only way of a plan."""
    step = kernel.step and (kernel.step[0], np.array([kernel.step[1]], dtype=float))
    return Sizes(column(kernel.tile), column(kernel.block), column(kernel.team), kernel.level, step,
                 np.array([kernel.sums]))


@dataclass(frozen=True, eq=False)
class Layout:
    """A kernel with these sizes. `blocks`, `threads` of a block, `teams` of a block; `work` of a team's tile, `whole`
    that of all of the output. `steps` in which a team walks along its tile. `lanes` of a warp.
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
    whole: TileWork
    lanes: int

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

    def ones(self) -> Numbers:
        """Return one per way."""
        return np.ones(self.sizes.count)

    def memory(self, array: str) -> int:
        """Return the memory of an array that stages of the kernel read: 0 global, 1 shared, 2 registers."""
        if array not in self.group.members:
            return 0
        return 2 if self.sizes.level == "thread" else 1

    def region(self, stage: str) -> Numbers:
        """Return the extents of the part of a stage that a team computes; for the output those of its tile."""
        return self.work.extents[stage]

    def points(self, stage: str) -> Numbers:
        """Return the number of points of that part."""
        return self.work.points[stage]

    @cached_property
    def kept_by_team(self) -> Numbers:
        """The bytes that a team keeps of all members."""
        zero = 0.0 * self.ones()
        return sum((self.kept.points[m] * self.node(m).element for m in self.group.members), zero)

    def total(self, stage: str) -> Numbers:
        """Return the number of points of a stage with loops that all blocks compute together."""
        if self.is_output(stage):
            return self.ones() * self.node(stage).points
        return self.blocks * self.teams * self.points(stage)

    def active(self, stage: str) -> Numbers:
        """Return the number of threads of a block that compute points of a stage with loops."""
        if self.is_output(stage):
            return self.threads
        return np.minimum(self.threads, self.teams * self.points(stage))

    def per_thread(self, stage: str) -> Numbers:
        """Return the number of points of a stage with loops that a thread computes."""
        if self.is_output(stage):
            points: Numbers = self.thread_box(stage).prod(axis=0)
            return points
        found: Numbers = np.ceil(self.points(stage) * self.teams / self.active(stage))
        return found

    def thread_box(self, stage: str) -> Numbers:
        """Return the extents of the part of a stage with loops that a thread computes."""
        block = self.sizes.team if stage != self.group.output else self.sizes.block
        extents = self.region(stage) if stage != self.group.output else self.sizes.tile
        along = self.work.along[stage]
        shared = np.array([block[a] if a >= 0 else self.ones() for a in along]).reshape(extents.shape)
        found: Numbers = np.ceil(extents / np.minimum(shared, extents))
        return found


def layout(group: Group, device: CostDevice, sizes: Sizes) -> Layout:
    """Return the kernel of `group` on `device`, cut in these ways."""
    extents = column(group.extents)
    tile = np.minimum(sizes.tile, extents)
    shared = np.minimum(np.ceil(tile / sizes.block) * sizes.team, tile)
    work, steps, kept = tile_work(group, shared), np.ones(sizes.count), None
    if sizes.step is not None:
        axis, points = sizes.step
        walking = shared.copy()
        walking[axis] = np.minimum(points, shared[axis])
        steps, kept = np.ceil(shared[axis] / walking[axis]), tile_work(group, walking)
    threads = sizes.block.prod(axis=0)
    return Layout(
        group, device, Sizes(tile, sizes.block, sizes.team, sizes.level, sizes.step, sizes.sums),
        np.ceil(extents / tile).prod(axis=0), threads, threads / sizes.team.prod(axis=0), steps,
        work, kept or work, tile_work(group, np.broadcast_to(extents, tile.shape).copy()),
        device.lanes if device.host else device.warp)  # fmt: skip


def layout_of(kernel: PlannedKernel, device: CostDevice) -> Layout | Refused:
    """Return the layout of a kernel under a plan, or why it has none."""
    if isinstance(kernel.group, Refused):
        return kernel.group
    if kernel.launches is not None:
        return STEPS_UNKNOWN
    if kernel.whole:
        return Refused(f"it computes {', '.join(kernel.whole)} for whole tiles, the rest in steps")
    return layout(kernel.group, device, sizes_of(kernel))
