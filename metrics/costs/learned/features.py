"""The schedule features of each stage of a kernel (`names`), for many ways to cut it at once.

Definitions: Anderson et al. 2021, appendix A, for antune's kernels as `layout` describes them. The paper's loops have
padded extents, antune's have guards, so only existing points are counted. Stages are in the order of `stages_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Read
from metrics.costs.groups import Group, Numbers, flat
from metrics.costs.learned.layout import MOST_BLOCKS, MOST_THREADS, MOST_WARPS, Layout
from metrics.costs.learned.names import FEATURES
from metrics.costs.learned.reading import MEMORIES, Reading, Warp, loads, reading, stores

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


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel, with what its stages share: the features of a `block`, and our `own` of each stage with loops."""

    made: Layout
    block: Mapping[str, Numbers]
    own: Mapping[str, Mapping[str, Numbers]]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The features of all stages of a kernel. Stages share many of them, and many are constant, so each is there once:
    `values` are ways x different features, `places` their numbers, stages x features.
    """

    values: Numbers
    places: NDArray[np.intp]

    def table(self, values: Numbers) -> Table:
        """Return the values, or what was computed from each of them, by stage and feature."""
        found: Table = values.take(self.places, axis=1)
        return found


def kernel_features(made: Layout) -> Table:
    """Return the features of all stages of a kernel."""
    columns = kernel_columns(made)
    return columns.table(columns.values)


def kernel_columns(made: Layout) -> Columns:
    """Return the features of all stages of a kernel, each different one once."""
    looped = made.group.stages
    kernel = _Kernel(made, _of_block(made), {stage: _own(made, stage) for stage in looped})
    found = [_looped(kernel, stage) if stage in looped else _inlined(kernel, stage) for stage in stages_of(made.group)]
    every = [features[name] for features in found for name in FEATURES]
    different = {id(values): values for values in every}
    numbers = {known: number for number, known in enumerate(different)}
    places = np.array([numbers[id(values)] for values in every], dtype=np.intp).reshape(len(found), len(FEATURES))
    return Columns(np.array(list(different.values())).T, places)


def _looped(kernel: _Kernel, stage: str) -> dict[str, Numbers]:
    """Return the features of a stage with loops: the output, or a member."""
    made = kernel.made
    loops, found = made.loops[stage], reading(made, stage)
    return {**_points(made, stage), **_sizes(made, stage), **_read(made, stage, found), **_working_sets(made, stage),
            **kernel.block, **_threads(made, loops.active), **_transactions(made, stage, found.unique),
            **kernel.own[stage], "num_threads_per_block": loops.active,
            "expr_branching": made.constant(flat(made.flow, stage, made.group.inlined).registers)}  # fmt: skip


def _points(made: Layout, stage: str) -> dict[str, Numbers]:
    one, node, output, loops = made.constant(1.0), made.node(stage), made.is_output(stage), made.loops[stage]
    realizations = one if output else made.blocks * made.teams
    productions = one if output else realizations * made.steps
    total, per_thread = loops.total, loops.per_thread
    return {
        "num_realizations": realizations,
        "num_productions": productions,
        "points_computed_per_realization": total / realizations,
        "points_computed_per_production": total / productions,
        "points_computed_per_thread": per_thread,
        "points_computed_total": total,
        "points_computed_minimum": made.constant(minimum_points(made.flow, stage)),
        "innermost_loop_extent": per_thread * rounds_of(made.flow, stage),
        "innermost_pure_loop_extent": per_thread,
        "unrolled_loop_extent": np.where(per_thread <= UNROLLED, per_thread, 1.0) if not node.reduces else one,
        "inner_parallelism": made.blocks if output else one,
        "outer_parallelism": one if output else made.blocks,
        "inlined_calls": made.constant(0.0),
        "num_scalars": total,
    }


def _sizes(made: Layout, stage: str) -> dict[str, Numbers]:
    node, output = made.node(stage), made.is_output(stage)
    whole = made.constant(node.points * node.element)
    row = made.constant((node.extents[-1] if node.extents else 1) * node.element)
    region, kept = made.work.points[stage] * node.element, made.kept.extents[stage]
    kept_row = (kept[-1] if len(kept) else made.constant(1.0)) * node.element
    place = 0 if output else made.memory(stage)
    at_task = [made.constant(0.0)] * 6
    at_task[place] = whole / made.blocks if output else region * made.teams
    at_task[3 + place] = (
        (made.sizes.tile[-1] if len(made.sizes.tile) else made.constant(1.0)) * node.element) if output else kept_row
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


def _read(made: Layout, stage: str, found: Reading) -> dict[str, Numbers]:
    task_bytes, task_lines = _from_root(made, stage, found)
    return {
        **_by_memory(made, found, "unique_{}_bytes_read_per_realization", found.realized.bytes),
        **_by_memory(made, found, "unique_{}_lines_read_per_realization", found.realized.lines),
        **_by_memory(made, found, "unique_{}_bytes_read_per_thread", found.thread.bytes),
        **_by_memory(made, found, "unique_{}_lines_read_per_thread", found.thread.lines),
        **_by_memory(made, found, "{}_allocation_bytes_read_per_realization", _allocations(made, stage)),
        "unique_bytes_read_per_point": made.constant(found.per_point[0]),
        "unique_lines_read_per_point": made.constant(found.per_point[1]),
        "unique_bytes_read_per_task": task_bytes,
        "unique_lines_read_per_task": task_lines,
    }


def _from_root(made: Layout, stage: str, found: Reading) -> tuple[Numbers, Numbers]:
    """Return the bytes and lines that a block reads from global memory: for the output including those of all members,
    for a member its own.
    """
    if not made.is_output(stage):
        return found.realized.bytes[0], found.realized.lines[0]
    total, lines = np.zeros((2, made.sizes.count))
    for array in made.group.fetched:
        total += made.teams * made.work.points[array] * made.flow.array(array).element
        lines += made.teams * made.work.extents[array][:-1].prod(axis=0)
    return total, lines


def _allocations(made: Layout, stage: str) -> Numbers:
    found = np.zeros((MEMORIES, made.sizes.count))
    for array in dict.fromkeys(read.array for read in flat(made.flow, stage, made.group.inlined).reads):
        place, one = made.memory(array), made.flow.array(array)
        found[place] += (made.kept.points[array] if place else float(prod(one.extents))) * one.element
    return found


def _own(made: Layout, stage: str) -> dict[str, Numbers]:
    one, node, output = made.constant(1.0), made.node(stage), made.is_output(stage)
    box, along = made.loops[stage].box, made.work.along[stage]
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
        "barriers": made.blocks * made.teams * made.steps * len(made.group.members) if waits else made.constant(0.0),
        "arithmetic_per_point": made.constant(node.arithmetic),
        "sums_in_memory": in_memory * (rounds_of(made.flow, stage) if node.reduces else 0.0),
        **{name: made.constant(value) for name, value in _text(made, stage).items()},
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


def _by_memory(made: Layout, found: Reading, pattern: str, values: Numbers) -> dict[str, Numbers]:
    return {pattern.format(name): values[place] if place in found.memories else made.constant(0.0)
            for place, name in enumerate(("global", "shared", "register"))}


def _working_sets(made: Layout, stage: str) -> dict[str, Numbers]:
    node, output, kept = made.node(stage), made.is_output(stage), made.kept_by_team
    whole = made.constant(node.points * node.element)
    own = whole if output else made.kept.points[stage] * node.element
    return {
        "working_set": kept if output else own,
        "working_set_at_task": kept * made.teams,
        "working_set_at_production": kept if output else own,
        "working_set_at_realization": own + (kept if output else 0.0),
        "working_set_at_root": whole if output else made.constant(
            made.node(made.group.output).points * made.node(made.group.output).element),
        "working_set_at_thread": kept if made.sizes.level == "thread" else made.constant(0.0),
    }


def _of_block(made: Layout) -> dict[str, Numbers]:
    device, one = made.device, made.constant(1.0)
    warps = np.ceil(made.threads / made.lanes)
    resident = np.minimum(MOST_BLOCKS, np.ceil(made.blocks / device.units))
    together = np.minimum(MOST_WARPS, resident * warps)
    shared = made.kept_by_team * made.teams if made.sizes.level != "thread" else made.constant(0.0)
    some = shared > 0
    fitting = np.minimum(MOST_BLOCKS, np.floor(device.unit_shared / np.where(some, shared, 1.0))) / MOST_BLOCKS
    return {
        "num_blocks": made.blocks,
        "num_warps_per_block": warps,
        "warp_lane_utilization_at_block_y": one,
        "warp_lane_utilization_at_block_z": one,
        "shared_mem_occupancy": shared / max(1, device.block_shared),
        "shared_mem_block_limit_factor": np.where(some, fitting, 1.0),
        "max_warp_occupancy": together / MOST_WARPS,
        "max_block_occupancy": np.floor(together / warps) / MOST_BLOCKS,
        "waiting": _waiting(made),
    }


def _threads(made: Layout, active: Numbers) -> dict[str, Numbers]:
    lanes = made.lanes
    busy = np.ceil(np.maximum(active, 1.0) / lanes)
    return {
        "block_occupancy": active / MOST_THREADS,
        "warp_lane_utilization": active / (lanes * busy),
        "num_active_warps_per_block": busy,
        "idle_lane_wastage": (lanes * busy - active) / MOST_THREADS,
    }


def _transactions(made: Layout, stage: str, unique: Numbers) -> dict[str, Numbers]:
    warp = Warp(made, stage)
    (from_global, from_shared), (to_global, to_shared) = loads(made, stage, warp, unique), stores(made, stage, warp)
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


def _inlined(kernel: _Kernel, stage: str) -> dict[str, Numbers]:
    """Return the features of a stage inlined in others: sums over these."""
    made = kernel.made
    one, node, zero = made.constant(1.0), made.node(stage), made.constant(0.0)
    calls, per_thread, active = zero, zero, zero
    around = dict.fromkeys(_OF_READERS, zero)
    for reader in made.group.stages:
        often = dict(flat(made.flow, reader, made.group.inlined).within).get(stage, 0.0)
        if often:
            own, loops = kernel.own[reader], made.loops[reader]
            here = often * loops.total
            calls = calls + here
            per_thread = per_thread + often * loops.per_thread
            active = active + loops.active
            around = {name: value + here * own[name] for name, value in around.items()}
    threads = {**kernel.block, **_threads(made, np.minimum(active, made.threads)), "shared_mem_occupancy": zero}
    ones = dict.fromkeys([name for name in FEATURES if name.endswith("efficiency")], one)
    return {**dict.fromkeys(FEATURES, zero), **threads, **ones, "inlined_calls": calls, "num_scalars": calls,
            "points_computed_total": calls, "points_computed_per_thread": per_thread, "num_threads_per_block": active,
            "points_computed_minimum": made.constant(minimum_points(made.flow, stage)),
            "outer_parallelism": made.blocks, "inner_parallelism": one,
            "bytes_at_root": made.constant(node.points * node.element),
            "expr_branching": made.constant(node.registers), "arithmetic_per_point": made.constant(node.arithmetic),
            "sums_in_memory": made.constant(rounds_of(made.flow, stage) if node.reduces else 0.0),
            **{name: value / np.maximum(calls, 1.0) for name, value in around.items()}}  # fmt: skip


def rounds_of(flow: Dataflow, stage: str) -> float:
    """Return the trip count of the reduction loops of a stage for an element; 1 if there are none."""
    node = flow.node(stage)
    assert node is not None
    return max((read.different / max(1, read.elements) for read in node.reads), default=1.0) if node.reduces else 1.0


@lru_cache(maxsize=4096)
def minimum_points(flow: Dataflow, stage: str) -> float:
    """Return the points of a stage if it is computed once, or inlined in its readers, each computed as rarely as
    possible. All points if it is unknown how often a reader reads which.
    """
    node, readers = flow.node(stage), [of for reader in flow.readers(stage) if (of := flow.node(reader)) is not None]
    assert node is not None
    if not node.stage or node.reduces or any(of.refusal for of in readers):
        return float(node.points)
    inline = sum(minimum_points(flow, of.array) * sum(read.different for read in of.reads if read.array == stage)
                 for of in readers)
    return min(float(node.points), inline)
