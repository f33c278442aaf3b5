"""The features of three small pipelines under several schedules, computed by hand."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from antune import halide as hl
from generator.dataflow import Dataflow
from generator.frontend_py.problem import program_of
from generator.nest import Level
from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.base import PlannedKernel, Refused
from metrics.costs.groups import Group
from metrics.costs.learned.features import kernel_columns, kernel_features, stages_of
from metrics.costs.learned.file import Trained
from metrics.costs.learned.layout import Layout, Sizes, layout, layout_of
from metrics.costs.learned.model import Learned, shipped_model
from metrics.costs.learned.names import FEATURES, OWN
from tests.support.costs import CPU, GTX_1080_TI

DEVICE = GTX_1080_TI


def stencil() -> Dataflow:
    """out = mid[x] + mid[x + 1] + mid[x + 2], 64 x 32; mid = 2 image."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    mid, out = hl.Func("mid"), hl.Func("out")
    mid[x, y] = image[x, y] * 2.0
    out[x, y] = mid[x, y] + mid[x + 1, y] + mid[x + 2, y]
    return dataflow(program_of([out], (64, 32), "stencil"))


def bordered() -> Dataflow:
    """out = edge[x - 1] + edge[x] + edge[x + 1], 64 x 32; edge repeats the borders of an image of the same size."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    edge, out = hl.Func("edge"), hl.Func("out")
    edge[x, y] = image[hl.clamp(x, 0, 63), y]
    out[x, y] = edge[x - 1, y] + edge[x, y] + edge[x + 1, y]
    return dataflow(program_of([out], (64, 32), "bordered"))


def halving() -> Dataflow:
    """small = fine[2 x] + fine[2 x + 1], 32 x 16; fine = 2 image."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    fine, half = hl.Func("fine"), hl.Func("small")
    fine[x, y] = image[x, y] * 2.0
    half[x, y] = fine[2 * x, y] + fine[2 * x + 1, y]
    return dataflow(program_of([half], (32, 16), "halving"))


def summing() -> Dataflow:
    """total = the sum of image[x + r], r from 0 to 4, 64 x 16; out = 2 total."""
    x, y, r, image = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 5)]), hl.ImageParam(hl.Float(32), 2, "image")
    total, out = hl.Func("total"), hl.Func("out")
    total[x, y] = 0.0
    total[x, y] += image[x + r.x, y]
    out[x, y] = total[x, y] * 2.0
    return dataflow(program_of([out], (64, 16), "summing"))


def looked_up() -> Dataflow:
    """out = table[image] + image, 64 x 32; table = 2 values, of 16 elements."""
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    image, values = hl.ImageParam(hl.Int(32), 2, "image"), hl.ImageParam(hl.Int(32), 1, "values")
    table, out = hl.Func("table"), hl.Func("out")
    table[i] = values[i] * 2
    out[x, y] = table[hl.clamp(image[x, y], 0, 15)] + image[x, y]
    return dataflow(program_of([out], (64, 32), "looked_up"))


def cut(group: Group, tile: tuple[int, ...], block: tuple[int, ...], level: Level = "block",
        step: tuple[int, int] | None = None) -> Layout:
    made = layout_of(PlannedKernel(("S",), group, tile, block, level, step, None), DEVICE)
    assert isinstance(made, Layout)
    return made


def features(made: Layout) -> dict[str, Mapping[str, float]]:
    table = kernel_features(made)
    return {stage: dict(zip(FEATURES, table[0, k], strict=True)) for k, stage in enumerate(stages_of(made.group))}


def agrees(found: Mapping[str, float], wanted: Mapping[str, float]) -> None:
    """All values by hand are in calls of this function, for `test_every_feature_has_a_value_by_hand`."""
    assert {name: found[name] for name in wanted} == pytest.approx(dict(wanted))


def test_there_are_73_of_the_paper_and_our_own() -> None:
    assert len(FEATURES) == len(set(FEATURES)) == 73 + len(OWN)


def test_what_makes_vectors_and_waits_on_cpus() -> None:
    found = features(cut(Group(stencil(), "out", ("mid",)), (8, 32), (4, 8), step=(0, 4)))
    blocks = 4 * 2
    agrees(found["out"], {"threads_along_x": 8, "points_per_thread_along_x": 4, "steps_per_tile": 2,
                          "barriers": blocks * 2, "sums_in_memory": 0})
    agrees(found["mid"], {"threads_along_x": 8, "points_per_thread_along_x": 5, "steps_per_tile": 2,
                          "barriers": blocks * 2, "sums_in_memory": 0})  # 34 along x for 8 threads
    alone = features(cut(Group(stencil(), "out", ("mid",)), (8, 32), (4, 8), level="thread"))
    agrees(alone["mid"], {"threads_along_x": 1, "barriers": 0, "steps_per_tile": 1})


def test_the_text_of_a_thread_includes_what_is_inlined() -> None:
    alone = features(cut(Group(stencil(), "out"), (8, 32), (4, 8)))["out"]
    # out stores, loads 3 elements, adds twice, and adds to x in 2 subscripts; mid stores, loads and multiplies
    agrees(alone, {"arithmetic_per_point": 1 + 3 + 2 + 2, "expressions": 1, "loads_per_point": 3,
                   "strided_loads_per_point": 0, "clamped_loads_per_point": 0})
    agrees(features(cut(Group(stencil(), "mid"), (8, 32), (4, 8)))["mid"], {"arithmetic_per_point": 1 + 1 + 1})
    found = features(cut(Group(stencil(), "out", (), frozenset(["mid"])), (8, 32), (4, 8)))
    for part in found.values():  # a load and a product instead of each of the 3 loads
        agrees(part, {"expressions": 4, "loads_per_point": 3, "threads_around": 8, "points_per_thread_around": 4,
                      "arithmetic_with_inlined": 8 - 3 + 3 * (1 + 1)})
    agrees(found["mid"], {"threads_along_x": 0, "arithmetic_per_point": 3, "innermost_pure_loop_extent": 0})


def test_loads_of_every_second_element_and_at_borders() -> None:
    agrees(features(cut(Group(halving(), "small"), (4, 16), (4, 16)))["small"],
           {"loads_per_point": 2, "strided_loads_per_point": 2, "clamped_loads_per_point": 0})
    agrees(features(cut(Group(halving(), "small", (), frozenset(["fine"])), (4, 16), (4, 16)))["small"],
           {"loads_per_point": 2, "strided_loads_per_point": 2})
    edge = features(cut(Group(bordered(), "out", (), frozenset(["edge"])), (8, 32), (4, 8)))["out"]
    agrees(edge, {"loads_per_point": 3, "strided_loads_per_point": 0, "clamped_loads_per_point": 3})
    agrees(features(cut(Group(bordered(), "out"), (8, 32), (4, 8)))["out"], {"clamped_loads_per_point": 0})


def test_units_wait_for_the_last_block() -> None:
    assert DEVICE.units == 28
    agrees(features(cut(Group(stencil(), "out"), (1, 64), (1, 64)))["out"], {"waiting": 2 * 28 / 32})
    agrees(features(cut(Group(stencil(), "out"), (32, 64), (1, 64)))["out"], {"waiting": 28})  # one works, others wait


def test_sums_are_kept_in_registers_or_in_memory() -> None:
    flow = summing()
    # total = 0 stores; each of 5 updates loads an element, adds in its subscript, loads the sum, adds and stores it
    group, arithmetic = Group(flow, "total"), 1 + 5 * (1 + 1 + 1 + 1 + 1)
    for sums, rounds in ((False, 5.0), (True, 0.0)):
        made = layout_of(PlannedKernel(("S",), group, (8, 32), (4, 8), "block", None, None, sums=sums), DEVICE)
        assert isinstance(made, Layout)
        agrees(features(made)["total"], {"sums_in_memory": rounds, "arithmetic_per_point": arithmetic})
    agrees(features(cut(Group(flow, "out", ("total",)), (8, 32), (4, 8)))["total"], {"sums_in_memory": 5})


def test_a_stencil_of_what_another_kernel_stores() -> None:
    found = features(cut(Group(stencil(), "out"), (8, 32), (4, 32)))
    assert list(found) == ["out"]
    agrees(found["out"], {
        "num_realizations": 1, "num_productions": 1, "num_blocks": 4 * 2, "inner_parallelism": 8,
        "outer_parallelism": 1, "points_computed_per_thread": 2, "points_computed_total": 2048, "num_scalars": 2048,
        "points_computed_minimum": 2048, "innermost_loop_extent": 2, "unrolled_loop_extent": 2,
        "bytes_at_realization": 8192, "innermost_bytes_at_root": 256, "global_bytes_at_task": 1024,
        "global_innermost_bytes_at_task": 128, "shared_bytes_at_task": 0, "inlined_calls": 0,
        "unique_global_bytes_read_per_realization": 66 * 32 * 4, "unique_global_lines_read_per_realization": 32,
        "unique_global_bytes_read_per_thread": 2 * 3 * 4, "unique_global_lines_read_per_thread": 2,
        "global_allocation_bytes_read_per_realization": 66 * 32 * 4, "unique_bytes_read_per_point": 12,
        "unique_lines_read_per_point": 1, "unique_bytes_read_per_task": 8 * 34 * 4, "unique_lines_read_per_task": 8,
        "num_warps_per_block": 4, "block_occupancy": 128 / 1024, "warp_lane_utilization": 1, "idle_lane_wastage": 0,
        "num_global_mem_loads_per_block": 4 * 6 * 4, "global_mem_load_efficiency": 1,  # warps, loads, sectors
        "num_global_mem_stores_per_block": 4 * 2 * 4, "num_shared_mem_loads_per_block": 0,
        "shared_mem_load_efficiency": 1, "working_set": 0, "shared_mem_occupancy": 0,
        "shared_mem_block_limit_factor": 1, "max_warp_occupancy": 4 / 64, "max_block_occupancy": 1 / 32,
        "num_threads_per_block": 128, "innermost_bytes_at_production": 256, "working_set_at_production": 0,
        "working_set_at_realization": 64 * 32 * 4, "working_set_at_root": 64 * 32 * 4, "expr_branching": 2,
        "warp_lane_utilization_at_block_y": 1, "warp_lane_utilization_at_block_z": 1,
    })  # fmt: skip


def test_a_stage_in_shared_memory() -> None:
    found = features(cut(Group(stencil(), "out", ("mid",)), (8, 32), (4, 32)))
    assert list(found) == ["mid", "out"]
    agrees(found["mid"], {
        "num_realizations": 8, "num_productions": 8, "points_computed_per_realization": 8 * 34,
        "points_computed_total": 8 * 272, "points_computed_per_thread": 3, "outer_parallelism": 8,
        "inner_parallelism": 1, "bytes_at_realization": 1088, "bytes_at_root": 66 * 32 * 4,
        "innermost_bytes_at_realization": 34 * 4, "shared_bytes_at_task": 1088, "global_bytes_at_task": 0,
        "shared_innermost_bytes_at_task": 136, "num_global_mem_loads_per_block": 4 * 3 * 4,
        "num_shared_mem_stores_per_block": 4 * 3, "num_global_mem_stores_per_block": 0,
        "points_computed_minimum": 66 * 32, "unique_global_bytes_read_per_realization": 1088,
        "working_set_at_task": 1088, "num_threads_per_block": 128, "innermost_bytes_at_production": 34 * 4,
        "working_set_at_production": 1088, "working_set_at_realization": 1088, "working_set_at_root": 64 * 32 * 4,
        "shared_mem_store_efficiency": 1,
    })  # fmt: skip
    agrees(found["out"], {
        "unique_shared_bytes_read_per_realization": 1088, "unique_shared_lines_read_per_realization": 8,
        "unique_global_bytes_read_per_realization": 0, "num_shared_mem_loads_per_block": 4 * 6,
        "shared_mem_load_efficiency": 1, "num_global_mem_loads_per_block": 0, "working_set": 1088,
        "unique_bytes_read_per_task": 1088, "shared_mem_occupancy": 1088 / 49152, "shared_mem_block_limit_factor": 1,
        "unique_shared_bytes_read_per_thread": 24, "shared_allocation_bytes_read_per_realization": 1088,
        "unique_shared_lines_read_per_thread": 2, "working_set_at_production": 1088,
        "working_set_at_realization": 64 * 32 * 4 + 1088,
    })  # fmt: skip


def test_a_stage_that_is_inlined() -> None:
    found = features(cut(Group(stencil(), "out", (), frozenset(["mid"])), (8, 32), (4, 32)))
    assert list(found) == ["out", "mid"]
    agrees(found["mid"], {
        "inlined_calls": 3 * 2048, "num_scalars": 3 * 2048, "points_computed_per_thread": 6, "num_realizations": 0,
        "num_threads_per_block": 128, "points_computed_minimum": 66 * 32, "num_blocks": 8, "expr_branching": 2,
    })  # fmt: skip
    # three products, each of which needs two values at once, need three
    agrees(found["out"], {"unique_global_bytes_read_per_thread": 24, "num_global_mem_loads_per_block": 96,
                          "expr_branching": 3})


def test_a_tile_of_each_thread_lies_in_registers() -> None:
    found = features(cut(Group(stencil(), "out", ("mid",)), (8, 32), (4, 32), "thread"))
    agrees(found["mid"], {
        "num_realizations": 8 * 128, "points_computed_per_realization": 6, "points_computed_per_thread": 6,
        "num_scalars": 8 * 128 * 6, "register_bytes_at_task": 24 * 128, "shared_bytes_at_task": 0,
        "num_shared_mem_stores_per_block": 0, "working_set_at_thread": 24, "shared_mem_occupancy": 0,
        "innermost_bytes_at_production": 3 * 4, "register_innermost_bytes_at_task": 3 * 4,
        "working_set_at_realization": 24,
    })  # fmt: skip
    agrees(found["out"], {"unique_register_bytes_read_per_realization": 24, "num_shared_mem_loads_per_block": 0,
                          "unique_register_lines_read_per_realization": 2, "unique_register_lines_read_per_thread": 2,
                          "register_allocation_bytes_read_per_realization": 24, "register_innermost_bytes_at_task": 0,
                          "unique_register_bytes_read_per_thread": 24, "working_set_at_thread": 24})  # fmt: skip
    whole = features(cut(Group(halving(), "small", ("fine",)), (4, 16), (4, 8), "thread"))
    agrees(whole["fine"], {"register_innermost_bytes_at_task": 4 * 4, "working_set_at_production": 16})
    agrees(whole["small"], {"unique_register_lines_read_per_thread": 1, "working_set_at_realization": 32 * 16 * 4 + 16,
                            "register_allocation_bytes_read_per_realization": 16})


def test_blocks_that_walk_down_their_tiles_keep_the_rows_of_a_step() -> None:
    found = features(cut(Group(stencil(), "out", ("mid",)), (8, 32), (2, 32), step=(0, 2)))
    agrees(found["mid"], {
        "num_realizations": 8, "num_productions": 32, "points_computed_total": 8 * 272,
        "points_computed_per_production": 68, "bytes_at_realization": 272, "bytes_at_production": 272,
        "working_set_at_task": 272, "working_set_at_production": 272, "innermost_bytes_at_production": 34 * 4,
    })  # fmt: skip
    agrees(found["out"], {"unique_shared_lines_read_per_thread": 4, "working_set_at_realization": 64 * 32 * 4 + 272})


def test_every_second_element_wastes_half_of_each_transaction() -> None:
    found = features(cut(Group(halving(), "small"), (4, 16), (4, 16)))
    agrees(found["small"], {
        "num_blocks": 8, "unique_bytes_read_per_task": 4 * 32 * 4, "unique_global_bytes_read_per_thread": 8,
        "num_global_mem_loads_per_block": 2 * 2 * 8, "global_mem_load_efficiency": 0.5,
        "num_global_mem_stores_per_block": 2 * 4, "global_mem_store_efficiency": 1,
    })  # fmt: skip


def test_twice_the_size_is_computed_besides() -> None:
    found = features(cut(Group(halving(), "small", ("fine",)), (4, 16), (4, 8)))
    agrees(found["fine"], {"points_computed_per_realization": 4 * 32, "points_computed_total": 8 * 128,
                           "points_computed_per_thread": 4, "num_active_warps_per_block": 1})  # fmt: skip
    # 8 lanes along x, 8 bytes apart, in each of 4 rows of 128 bytes: each bank that is used has 4 words to give
    agrees(found["small"], {"num_shared_mem_loads_per_block": 1 * 4 * 4, "shared_mem_load_efficiency": 0.25})


def test_a_sum_over_a_loop() -> None:
    found = features(cut(Group(summing(), "total"), (4, 32), (4, 8)))
    agrees(found["total"], {
        "points_computed_per_thread": 4, "innermost_loop_extent": 20, "innermost_pure_loop_extent": 4,
        "unrolled_loop_extent": 1, "num_blocks": 8, "unique_global_bytes_read_per_thread": 32,
        "num_global_mem_loads_per_block": 1 * 8 * 6,  # rows are 272 bytes apart: 1 + 2 + 1 + 2 sectors
        "num_warps_per_block": 1,
    })  # fmt: skip


def test_few_threads_leave_lanes_idle() -> None:
    found = features(cut(Group(stencil(), "out"), (4, 8), (4, 8)))["out"]
    more = features(cut(Group(stencil(), "out"), (4, 12), (4, 12)))["out"]
    agrees(found, {"idle_lane_wastage": 0, "num_active_warps_per_block": 1})
    agrees(more, {"idle_lane_wastage": 16 / 1024, "num_active_warps_per_block": 2, "warp_lane_utilization": 0.75,
                  "num_blocks": 8 * 6})  # fmt: skip


def test_few_threads_store_parts_of_transactions_of_shared_memory() -> None:
    found = features(cut(Group(stencil(), "out", ("mid",)), (1, 8), (1, 8)))["mid"]  # 10 points by 8 threads
    agrees(found, {"num_shared_mem_stores_per_block": 2, "shared_mem_store_efficiency": 8 * 4 / 128})


def test_elements_that_data_choose_are_a_sector_for_each_lane() -> None:
    found = features(cut(Group(looked_up(), "out"), (8, 32), (4, 32)))["out"]
    warps, rounds, sectors_of_image = 4, 2, 4
    agrees(found, {
        "num_global_mem_loads_per_block": warps * rounds * (32 + sectors_of_image),
        "global_mem_load_efficiency": (32 * 4 + 32 * 4) / (32 * 32 + 4 * 32),
        # any element of the table may be needed, but each point needs one
        "unique_bytes_read_per_point": 4 + 4, "unique_lines_read_per_point": 2,
        "unique_global_bytes_read_per_thread": 2 * rounds * 4, "strided_loads_per_point": 1,
        "unique_global_bytes_read_per_realization": 16 * 4 + 64 * 32 * 4,
    })  # fmt: skip
    less = features(cut(Group(looked_up(), "out"), (4, 10), (4, 10)))["out"]
    # 40 lanes in rows of 10: the image takes 2 sectors of each row, of a part of two elements one
    agrees(less, {"num_global_mem_loads_per_block": 40 + (2 + 2 + 2 + 1) + 1})


def test_elements_of_shared_memory_that_data_choose_are_a_round_for_each_lane() -> None:
    found = features(cut(Group(looked_up(), "out", ("table",)), (8, 32), (4, 32)))["out"]
    agrees(found, {"num_shared_mem_loads_per_block": 4 * 2 * 32, "shared_mem_load_efficiency": 1 / 32,
                   "num_global_mem_loads_per_block": 4 * 2 * 4, "global_mem_load_efficiency": 1})


def test_shared_memory_limits_the_blocks_of_a_unit() -> None:
    wide = features(cut(Group(stencil(), "out", ("mid",)), (32, 64), (4, 64)))
    kept = 32 * 66 * 4  # 11 times in the unit's 96 KiB
    for found in wide.values():
        agrees(found, {"shared_mem_block_limit_factor": 11 / 32, "shared_mem_occupancy": kept / 49152})
    exact = features(cut(Group(looked_up(), "out", ("table",)), (8, 32), (4, 32)))["out"]
    agrees(exact, {"shared_mem_block_limit_factor": 1})  # 64 bytes: the unit has no place for so many blocks
    alone = features(cut(Group(stencil(), "out", ("mid",)), (32, 64), (4, 64), "thread"))["out"]
    agrees(alone, {"shared_mem_block_limit_factor": 1, "shared_mem_occupancy": 0})


def test_short_rows_are_stored_in_parts_of_sectors() -> None:
    found = features(cut(Group(stencil(), "out"), (4, 12), (4, 12)))["out"]
    # a row of 48 bytes takes 2 sectors, the 8 lanes of a third row one, the last 16 lanes 3
    agrees(found, {"num_global_mem_stores_per_block": 5 + 3, "global_mem_store_efficiency": 48 * 4 / (8 * 32)})


def test_every_feature_has_a_value_by_hand() -> None:
    """A value other than 0 and 1, which other features have as well; two are 1 in all of antune's kernels."""
    always = {"warp_lane_utilization_at_block_y", "warp_lane_utilization_at_block_z"}
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    tables = [call.args[1] for call in ast.walk(tree)
              if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "agrees"]
    by_hand = {(name.value, ast.unparse(value)) for table in tables if isinstance(table, ast.Dict)
               for name, value in zip(table.keys, table.values, strict=True) if isinstance(name, ast.Constant)}
    telling = {name for name, value in by_hand if value not in ("0", "1")}
    assert set(FEATURES) - telling == always
    assert {(name, "1") for name in always} <= by_hand


def test_many_ways_at_once_are_as_one_after_the_other() -> None:
    tiles, blocks = [(8, 32), (4, 64), (32, 8), (32, 8)], [(4, 32), (1, 64), (8, 8), (1, 8)]
    steps, sums = (4, None, 8, 1), (True, False, True, True)
    rows = (0, np.array([step or np.inf for step in steps]))
    for group in (Group(stencil(), "out", ("mid",)), Group(summing(), "total")):
        for device in (DEVICE, CPU):
            many = np.array(tiles, dtype=float).T, np.array(blocks, dtype=float).T
            every = kernel_features(layout(group, device, Sizes(*many, many[1], "block", rows, np.array(sums))))
            assert np.isfinite(every).all()
            assert (every >= 0).all()
            for k, (tile, block) in enumerate(zip(tiles, blocks, strict=True)):
                one = steps[k]
                step = None if one is None else (0, one)
                kernel = PlannedKernel(("S",), group, tile, block, "block", step, None, sums=sums[k])
                alone = layout_of(kernel, device)
                assert isinstance(alone, Layout)
                np.testing.assert_allclose(kernel_features(alone)[0], every[k])


def test_a_scalar_is_a_stage_of_one_element() -> None:
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    corner, out = hl.Func("corner"), hl.Func("out")
    corner[()] = image[3, 4] * 2.0
    out[x, y] = image[x, y] * corner[()]
    flow = dataflow(program_of([out], (64, 32), "scalar"))
    found = features(cut(Group(flow, "corner"), (), ()))["corner"]
    agrees(found, {"unique_bytes_read_per_point": 4, "unique_global_bytes_read_per_realization": 4,
                   "unique_global_lines_read_per_thread": 1, "num_global_mem_loads_per_block": 1})


def test_times_that_are_no_numbers_are_refused() -> None:
    """Whatever the weights are, a search goes on."""
    shipped = shipped_model().trained
    broken = Learned(Trained(shipped.training, ({**shipped.members[0], "scale": np.full(30, 1e305)},)))
    group, tiles = Group(stencil(), "out", ("mid",)), np.array([[8.0, 4.0], [32.0, 64.0]])
    sizes = Sizes(tiles, tiles, tiles, "block", None, np.array([True, True]))
    assert (broken.score(layout(group, CPU, sizes)) == np.inf).all()
    kernel = PlannedKernel(("S",), group, (8, 32), (4, 32), "block", None, None)
    assert broken.judge(kernel, CPU) == Refused("the learned model gives no finite time")


def test_ways_have_the_same_features_alone_and_among_others() -> None:
    """Searches rate only those that are possible. What is the same for all ways is there once."""
    tiles, blocks = np.array([[8.0, 4.0, 16.0], [32.0, 64.0, 16.0]]), np.array([[4.0, 1.0, 2.0], [8.0, 16.0, 8.0]])
    sizes = Sizes(tiles, blocks, blocks, "block", (0, np.array([4.0, np.inf, 2.0])), np.array([True, False, True]))
    for group in (Group(stencil(), "out", ("mid",)), Group(bordered(), "out", (), frozenset(["edge"]))):
        whole, some = layout(group, DEVICE, sizes), np.array([True, False, True])
        every = kernel_features(whole)
        np.testing.assert_array_equal(kernel_features(whole.only(some)), every[some])
        for k in range(3):
            alone = np.arange(3) == k
            np.testing.assert_array_equal(kernel_features(layout(group, DEVICE, sizes.only(alone))), every[alone])
        assert kernel_columns(whole).values.shape[1] < every[0].size
