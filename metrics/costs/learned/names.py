"""The schedule features of a stage, in the order in which they are stored: those of Anderson et al. 2021, appendix A,
and `OWN`.

`global`, `shared` and `register` are memories. A *realization* is one allocation of a stage, a *production* one
computation of it, a *task* a block.
"""

from __future__ import annotations


def _each(pattern: str, places: tuple[str, ...] = ("global", "shared", "register")) -> tuple[str, ...]:
    return tuple(pattern.format(place) for place in places)


_PAPER = (
    "num_realizations",
    "num_productions",
    "points_computed_per_realization",
    "points_computed_per_production",
    "points_computed_per_thread",
    "points_computed_total",
    "points_computed_minimum",
    "innermost_loop_extent",
    "innermost_pure_loop_extent",
    "unrolled_loop_extent",
    "inner_parallelism",
    "outer_parallelism",
    *_each("bytes_at_{}", ("realization", "production", "root")),
    *_each("innermost_bytes_at_{}", ("realization", "production", "root")),
    "inlined_calls",
    *_each("unique_{}_bytes_read_per_realization"),
    *_each("unique_{}_lines_read_per_realization"),
    *_each("unique_{}_bytes_read_per_thread"),
    *_each("unique_{}_lines_read_per_thread"),
    *_each("{}_allocation_bytes_read_per_realization"),
    "working_set",
    "num_scalars",
    *_each("{}_bytes_at_task"),
    *_each("{}_innermost_bytes_at_task"),
    "unique_bytes_read_per_point",
    "unique_lines_read_per_point",
    "unique_bytes_read_per_task",
    "unique_lines_read_per_task",
    *_each("working_set_at_{}", ("task", "production", "realization", "root")),
    "num_blocks",
    "num_warps_per_block",
    "block_occupancy",
    "warp_lane_utilization",
    "num_active_warps_per_block",
    "warp_lane_utilization_at_block_y",
    "warp_lane_utilization_at_block_z",
    "idle_lane_wastage",
    "num_shared_mem_loads_per_block",
    "num_global_mem_loads_per_block",
    "num_shared_mem_stores_per_block",
    "num_global_mem_stores_per_block",
    "shared_mem_store_efficiency",
    "shared_mem_load_efficiency",
    "global_mem_store_efficiency",
    "global_mem_load_efficiency",
    "working_set_at_thread",
    "shared_mem_occupancy",
    "shared_mem_block_limit_factor",
    "max_warp_occupancy",
    "max_block_occupancy",
    "num_threads_per_block",
    "expr_branching",
)
"""73 names."""
OWN = (
    "threads_along_x",
    "points_per_thread_along_x",
    "steps_per_tile",
    "barriers",
    "arithmetic_per_point",
    "sums_in_memory",
    "threads_around",
    "points_per_thread_around",
    "arithmetic_with_inlined",
    "expressions",
    "loads_per_point",
    "strided_loads_per_point",
    "clamped_loads_per_point",
    "waiting",
)
"""Features that the paper's schedules lack, or that do not matter on GPUs: threads of a team along the innermost
dimension of a stage and points of each there (a CPU's compiler vectorizes them), steps in which a team walks along its
tile, the number of barriers, the operations of an element, and the rounds of sums that are kept in memory (0: in
registers).

`around`: along the innermost dimension of the stage itself or, if it is inlined, of those that read it. The next five
describe the text that a thread executes per element, with all that is inlined in it (for an inlined stage that of its
readers): operations, the number of expressions, loads, loads that are not of neighbours along x, and loads at positions
that are limited at borders. `waiting`: the time until the last compute unit ends, over that of equal shares.
"""
FEATURES = (*_PAPER, *OWN)
"""All names; `features` has their definitions."""
