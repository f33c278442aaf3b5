"""The schedule features of each stage of a kernel (`names`), for many ways to cut it at once.

Definitions: Anderson et al. 2021, appendix A, for antune's kernels as `layout` describes them. The paper's loops have
padded extents, antune's have guards, so only existing points are counted. Stages are in the order of `stages_of`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Read
from metrics.costs.groups import Group, Numbers, flat
from metrics.costs.learned.layout import MOST_BLOCKS, MOST_THREADS, MOST_WARPS, Layout
from metrics.costs.learned.names import FEATURES
from metrics.costs.learned.reading import Footprint, Warp, footprint, loads, stores

UNROLLED = 16
"""The number of points of a thread that compilers unroll."""
_OF_READERS = ("threads_around", "points_per_thread_around", "arithmetic_with_inlined", "expressions",
               "loads_per_point", "strided_loads_per_point", "clamped_loads_per_point")  # fmt: skip
"""Features of an inlined stage that are those of its readers: means over its elements."""
Table = NDArray[np.float64]
"""Ways x stages x features."""


def stages_of(group: Group) -> tuple[str, ...]:
    """Return the stages of a kernel that have features: those with loops, then those inlined, in the program's order.
    """
    within = {name for stage in group.stages for name, _ in flat(group.flow, stage, group.inlined).within}
    return (*group.stages, *(node.array for node in group.flow.nodes if node.array in within))


def kernel_features(made: Layout) -> Table:
    """Return the features of all stages of a kernel."""
    looped = made.group.stages
    found = [looped_features(made, stage) if stage in looped else inlined_features(made, stage)
             for stage in stages_of(made.group)]
    table = np.empty((made.sizes.count, len(found), len(FEATURES)))
    for k, features in enumerate(found):
        for n, name in enumerate(FEATURES):
            table[:, k, n] = features[name]
    return table


def looped_features(made: Layout, stage: str) -> dict[str, Numbers]:
    """Return the features of a stage with loops: the output, or a member."""
    return {**_points(made, stage), **_sizes(made, stage), **_read(made, stage), **_working_sets(made, stage),
            **_threads(made, made.active(stage)), **_transactions(made, stage), **_own(made, stage),
            "num_threads_per_block": made.active(stage),
            "expr_branching": made.ones() * flat(made.flow, stage, made.group.inlined).registers}  # fmt: skip


def _points(made: Layout, stage: str) -> dict[str, Numbers]:
    one, node, output = made.ones(), made.node(stage), made.is_output(stage)
    realizations = one if output else made.blocks * made.teams
    productions = one if output else realizations * made.steps
    total, per_thread = made.total(stage), made.per_thread(stage)
    return {
        "num_realizations": realizations,
        "num_productions": productions,
        "points_computed_per_realization": total / realizations,
        "points_computed_per_production": total / productions,
        "points_computed_per_thread": per_thread,
        "points_computed_total": total,
        "points_computed_minimum": one * minimum_points(made.flow, stage),
        "innermost_loop_extent": per_thread * rounds_of(made.flow, stage),
        "innermost_pure_loop_extent": per_thread,
        "unrolled_loop_extent": np.where(per_thread <= UNROLLED, per_thread, 1.0) if not node.reduces else one,
        "inner_parallelism": made.blocks if output else one,
        "outer_parallelism": one if output else made.blocks,
        "inlined_calls": 0.0 * one,
        "num_scalars": total,
    }


def _sizes(made: Layout, stage: str) -> dict[str, Numbers]:
    node, one, output = made.node(stage), made.ones(), made.is_output(stage)
    whole = one * node.points * node.element
    row = one * (node.extents[-1] if node.extents else 1) * node.element
    region, kept = made.work.points[stage] * node.element, made.kept.extents[stage]
    kept_row = (kept[-1] if len(kept) else one) * node.element
    place = 0 if output else made.memory(stage)
    at_task = [one * 0.0 for _ in range(6)]
    at_task[place] = whole / made.blocks if output else region * made.teams
    at_task[3 + place] = (made.sizes.tile[-1] if len(made.sizes.tile) else one) * node.element if output else kept_row
    names = [name for name in FEATURES if name.endswith("bytes_at_task")]
    return {
        "bytes_at_realization": whole if output else made.kept.points[stage] * node.element,
        "bytes_at_production": whole if output else region / made.steps,
        "bytes_at_root": whole,
        "innermost_bytes_at_realization": row if output else kept_row,
        "innermost_bytes_at_production": row if output else kept_row,
        "innermost_bytes_at_root": row,
        **dict(zip(names, at_task, strict=True)),
    }


def _read(made: Layout, stage: str) -> dict[str, Numbers]:
    one, output = made.ones(), made.is_output(stage)
    realized = footprint(made, stage, made.whole.extents[stage] if output else made.region(stage), stored=output)
    thread = footprint(made, stage, made.thread_box(stage))
    point = footprint(made, stage, np.ones_like(made.region(stage)))
    task = _from_root(made, stage)
    return {
        **_by_memory("unique_{}_bytes_read_per_realization", realized.bytes),
        **_by_memory("unique_{}_lines_read_per_realization", realized.lines),
        **_by_memory("unique_{}_bytes_read_per_thread", thread.bytes),
        **_by_memory("unique_{}_lines_read_per_thread", thread.lines),
        **_by_memory("{}_allocation_bytes_read_per_realization", _allocations(made, stage)),
        "unique_bytes_read_per_point": sum(point.bytes, 0.0 * one),
        "unique_lines_read_per_point": sum(point.lines, 0.0 * one),
        "unique_bytes_read_per_task": task.bytes[0],
        "unique_lines_read_per_task": task.lines[0],
    }


def _from_root(made: Layout, stage: str) -> Footprint:
    """Return the reads of a block from global memory: for the output including those of all members, for a member its
    own.
    """
    if not made.is_output(stage):
        return footprint(made, stage, made.region(stage))
    zero = 0.0 * made.ones()
    total, lines = zero.copy(), zero.copy()
    for array in made.group.fetched:
        extents = made.work.extents[array]
        total += made.teams * extents.prod(axis=0) * made.flow.array(array).element
        lines += made.teams * extents[:-1].prod(axis=0)
    return Footprint((total, zero, zero), (lines, zero, zero))


def _allocations(made: Layout, stage: str) -> tuple[Numbers, Numbers, Numbers]:
    found = [0.0 * made.ones() for _ in range(3)]
    for array in dict.fromkeys(read.array for read in flat(made.flow, stage, made.group.inlined).reads):
        place, one = made.memory(array), made.flow.array(array)
        points = made.kept.points[array] if place else made.ones() * np.prod(one.extents, dtype=float)
        found[place] += points * one.element
    return found[0], found[1], found[2]


def _own(made: Layout, stage: str) -> dict[str, Numbers]:
    one, node, output = made.ones(), made.node(stage), made.is_output(stage)
    box, along = made.thread_box(stage), made.work.along[stage]
    block = made.sizes.block if output else made.sizes.team
    threads = block[along[-1]] if along and along[-1] >= 0 else one
    waits = made.sizes.level != "thread" and bool(made.group.members)
    in_memory = np.where(made.sizes.sums, 0.0, one) if output else one
    row = box[-1] if len(box) else one
    return {
        "threads_along_x": threads,
        "threads_around": threads,
        "points_per_thread_along_x": row,
        "points_per_thread_around": row,
        "steps_per_tile": made.steps,
        "barriers": one * waits * made.blocks * made.teams * made.steps * len(made.group.members),
        "arithmetic_per_point": one * node.arithmetic,
        "sums_in_memory": in_memory * (rounds_of(made.flow, stage) if node.reduces else 0.0),
        **{name: one * value for name, value in _text(made, stage).items()},
        "waiting": _waiting(made),
    }


def _text(made: Layout, stage: str) -> dict[str, float]:
    """Return what a thread executes per element of a stage with loops, with all that is inlined in it."""
    whole = flat(made.flow, stage, made.group.inlined)
    return {
        "arithmetic_with_inlined": whole.arithmetic,
        "expressions": float(whole.elements),
        "loads_per_point": sum(read.loads for read in whole.reads),
        "strided_loads_per_point": sum(read.loads for read in whole.reads if not _neighbours(read)),
        "clamped_loads_per_point": sum(read.clamped for read in whole.reads),
    }


def _neighbours(read: Read) -> bool:
    """Return whether neighbours along x read neighbours along x, or the same element."""
    along = [reach.slopes[-1] if reach.slopes else 0.0 for reach in read.reach]
    return not read.by_data and along[-1:] in ([], [0.0], [1.0]) and not any(along[:-1])


def _waiting(made: Layout) -> Numbers:
    """Return the time until the last unit ends over that of equal shares: 1 if all units have as many blocks."""
    units = float(made.device.units)
    return np.ceil(made.blocks / units) * units / made.blocks


def _by_memory(pattern: str, values: tuple[Numbers, Numbers, Numbers]) -> dict[str, Numbers]:
    return {pattern.format(place): value for place, value in zip(("global", "shared", "register"), values, strict=True)}


def _working_sets(made: Layout, stage: str) -> dict[str, Numbers]:
    node, output, kept = made.node(stage), made.is_output(stage), made.kept_by_team
    whole = made.ones() * node.points * node.element
    own = whole if output else made.kept.points[stage] * node.element
    return {
        "working_set": kept if output else own,
        "working_set_at_task": kept * made.teams,
        "working_set_at_production": kept if output else own,
        "working_set_at_realization": own + (kept if output else 0.0),
        "working_set_at_root": whole if output else made.ones() * made.node(made.group.output).points
        * made.node(made.group.output).element,
        "working_set_at_thread": kept if made.sizes.level == "thread" else 0.0 * kept,
    }


def _threads(made: Layout, active: Numbers) -> dict[str, Numbers]:
    lanes, device, one = made.lanes, made.device, made.ones()
    warps, busy = np.ceil(made.threads / lanes), np.ceil(np.maximum(active, 1.0) / lanes)
    resident = np.minimum(MOST_BLOCKS, np.ceil(made.blocks / device.units))
    together = np.minimum(MOST_WARPS, resident * warps)
    shared = made.kept_by_team * made.teams if made.sizes.level != "thread" else 0.0 * one
    some = shared > 0
    fitting = np.minimum(MOST_BLOCKS, np.floor(device.unit_shared / np.where(some, shared, 1.0))) / MOST_BLOCKS
    return {
        "num_blocks": made.blocks,
        "num_warps_per_block": warps,
        "block_occupancy": active / MOST_THREADS,
        "warp_lane_utilization": active / (lanes * busy),
        "num_active_warps_per_block": busy,
        "warp_lane_utilization_at_block_y": one,
        "warp_lane_utilization_at_block_z": one,
        "idle_lane_wastage": (lanes * busy - active) / MOST_THREADS,
        "shared_mem_occupancy": shared / max(1, device.block_shared),
        "shared_mem_block_limit_factor": np.where(some, fitting, 1.0),
        "max_warp_occupancy": together / MOST_WARPS,
        "max_block_occupancy": np.floor(together / warps) / MOST_BLOCKS,
    }


def _transactions(made: Layout, stage: str) -> dict[str, Numbers]:
    warp = Warp(made, stage)
    (from_global, from_shared), (to_global, to_shared) = loads(made, stage, warp), stores(made, stage, warp)
    return {
        "num_shared_mem_loads_per_block": from_shared.count,
        "num_global_mem_loads_per_block": from_global.count,
        "num_shared_mem_stores_per_block": to_shared.count,
        "num_global_mem_stores_per_block": to_global.count,
        "shared_mem_store_efficiency": to_shared.efficiency,
        "shared_mem_load_efficiency": from_shared.efficiency,
        "global_mem_store_efficiency": to_global.efficiency,
        "global_mem_load_efficiency": from_global.efficiency,
    }


def inlined_features(made: Layout, stage: str) -> dict[str, Numbers]:
    """Return the features of a stage inlined in others: sums over these."""
    one, node = made.ones(), made.node(stage)
    calls, per_thread, active = 0.0 * one, 0.0 * one, 0.0 * one
    around = dict.fromkeys(_OF_READERS, 0.0 * one)
    for reader in made.group.stages:
        often = dict(flat(made.flow, reader, made.group.inlined).within).get(stage, 0.0)
        if often:
            calls = calls + often * made.total(reader)
            per_thread = per_thread + often * made.per_thread(reader)
            active = active + made.active(reader)
            own = _own(made, reader)
            around = {name: value + often * made.total(reader) * own[name] for name, value in around.items()}
    zero = dict.fromkeys(FEATURES, 0.0 * one)
    threads = {**_threads(made, np.minimum(active, made.threads)), "shared_mem_occupancy": 0.0 * one}
    ones = dict.fromkeys([name for name in FEATURES if name.endswith("efficiency")], one)
    return {**zero, **threads, **ones, "inlined_calls": calls, "num_scalars": calls, "points_computed_total": calls,
            "points_computed_per_thread": per_thread, "num_threads_per_block": active,
            "points_computed_minimum": one * minimum_points(made.flow, stage), "outer_parallelism": made.blocks,
            "inner_parallelism": one, "bytes_at_root": one * node.points * node.element,
            "expr_branching": one * node.registers, "arithmetic_per_point": one * node.arithmetic,
            "sums_in_memory": one * (rounds_of(made.flow, stage) if node.reduces else 0.0),
            **{name: value / np.maximum(calls, 1.0) for name, value in around.items()},
            "waiting": _waiting(made)}  # fmt: skip


def rounds_of(flow: Dataflow, stage: str) -> float:
    """Return the trip count of the reduction loops of a stage for an element; 1 if there are none."""
    node = flow.node(stage)
    assert node is not None
    return max((read.different / max(1, read.elements) for read in node.reads), default=1.0) if node.reduces else 1.0


@lru_cache(maxsize=4096)
def minimum_points(flow: Dataflow, stage: str) -> float:
    """Return the points of a stage if it is computed once, or inlined in its readers, each computed as rarely as
    possible.
    """
    node = flow.node(stage)
    assert node is not None
    if not node.stage or node.reduces:
        return float(node.points)
    inline = sum(minimum_points(flow, reader) * sum(read.different for read in of.reads if read.array == stage)
                 for reader in flow.readers(stage) if (of := flow.node(reader)) is not None)
    return min(float(node.points), inline)
