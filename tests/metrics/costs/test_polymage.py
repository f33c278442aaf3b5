"""PolyMage-GPU's model against the figures of the paper."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest

from antune import halide as hl
from experiments.search.costs import planned as planned_kernels
from generator.dataflow import Dataflow
from generator.decisions.fractions import in_registers, sub_group
from generator.errors import IllegalPlan
from generator.frontend_py.problem import program_of as pipeline_of
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import Level
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.target import LANGUAGES
from metrics.costs.base import Cost
from metrics.costs.configurations import Configurations, candidates, sharing_threads, split_candidates, tiles_of
from metrics.costs.device import CostDevice
from metrics.costs.groups import Group, column
from metrics.costs.polymage import GTX_1080_TI as WEIGHTS
from metrics.costs.polymage import TESLA_V100, PolyMage, Weighed, refusal, usual_weights
from metrics.costs.split import alone_along, can_split
from tests.support.costs import CPU, GTX_1080_TI, blur
from tests.support.lanes import random_chain, split_plan, three_stages
from tests.support.plans import lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import pipeline_program

PUBLISHED = PolyMage(WEIGHTS, "sub-group", published=True)


def weighed(model: PolyMage, points: tuple[int, ...], block: tuple[int, ...], tenths: int = 0) -> Weighed:
    given = Configurations(column(points), column(block), np.array([float(tenths)]))
    return model.evaluate(Group(blur(), "rows", ("columns",)), given, GTX_1080_TI)


@pytest.mark.parametrize("level", ["block", "sub-group"])
def test_configurations_compared_together_cost_what_each_costs_alone(level: Level) -> None:
    """Many have the same tile, whose work is computed once."""
    group, model = Group(blur(), "rows", ("columns",)), PolyMage(level=level)
    given = (split_candidates if level == "sub-group" else candidates)(group.extents, GTX_1080_TI)
    together = model.evaluate(group, given, GTX_1080_TI)
    for k in range(0, len(together.cost), 37):
        tenths = None if given.tenths is None else given.tenths[k : k + 1]
        alone = Configurations(given.points[:, k : k + 1], given.block[:, k : k + 1], tenths)
        found = model.evaluate(group, alone, GTX_1080_TI)
        assert [one[0] for one in found.terms] == pytest.approx([one[k] for one in together.terms])
        assert (found.shared[0], found.registers[0]) == (together.shared[k], together.registers[k])
        assert found.possible[0] == together.possible[k]


def test_the_weights_are_the_papers_for_the_device() -> None:
    """The GTX 1080 Ti and the V100 differ in two: memory / computing time, and idle shared memory."""
    given = Configurations(column((1, 1, 8)), column((1, 4, 64)))
    group, v100 = Group(blur(), "rows", ("columns",)), replace(GTX_1080_TI, capability=(7, 0))
    own, other, plain = (PolyMage().evaluate(group, given, one).terms for one in (GTX_1080_TI, v100, CPU))
    assert own[2][0] / other[2][0] == pytest.approx(45 / 60) and own[3][0] / other[3][0] == pytest.approx(20 / 10)
    assert own[0][0] == other[0][0]
    assert (usual_weights(GTX_1080_TI), usual_weights(v100), usual_weights(CPU)) == (WEIGHTS, TESLA_V100, TESLA_V100)
    same = PolyMage(TESLA_V100).evaluate(group, given, CPU).terms
    assert [float(one[0]) for one in plain] == [float(one[0]) for one in same]


@pytest.mark.parametrize(("points", "overlap"), [(8, 0.0078), (16, 0.0039)])
def test_the_overlap_of_the_blur_is_that_of_the_paper(points: int, overlap: float) -> None:
    found = weighed(PUBLISHED, (1, 1, points), (1, 4, 64))
    assert found.overlap[0] == pytest.approx(overlap, abs=5e-5)
    assert found.terms[5][0] == pytest.approx(100 * found.overlap[0])


def test_16_points_per_thread_take_16448_bytes_and_leave_62_percent_occupancy() -> None:
    found = weighed(PUBLISHED, (1, 1, 16), (1, 4, 64))
    assert found.shared[0] == 16448
    assert found.occupancy[0] == 0.625
    assert found.terms[1][0] == pytest.approx(0.5 * 0.375)
    assert found.terms[3][0] == pytest.approx(20 * (1 - 5 * 16448 / (96 * 1024)))


@pytest.mark.parametrize(("oversized", "points"), [((4, 1, 8), (3, 1, 8)), ((3, 1, 128), (3, 1, 64))])
def test_points_beyond_the_extents_make_no_tile_cheaper(
    oversized: tuple[int, int, int], points: tuple[int, int, int]
) -> None:
    """Of three colours and rows of 4094 points, a thread computes those that there are."""
    large, fitting = (weighed(PolyMage(WEIGHTS), one, (1, 4, 64)) for one in (oversized, points))
    assert large.terms[0][0] == pytest.approx(fitting.terms[0][0], rel=1e-3)
    assert large.cost[0] == pytest.approx(fitting.cost[0], rel=1e-3)


def test_half_of_the_tile_in_registers_leaves_full_occupancy() -> None:
    """8 of 16 sub-tiles: 8 x (8 x 32 + 2) elements of 4 bytes for the warps of a block, and 8 registers of a lane."""
    whole, half = (weighed(PUBLISHED, (1, 1, 16), (1, 4, 64), tenths) for tenths in (0, 5))
    assert half.shared[0] == 8 * (8 * 32 + 2) * 4
    assert half.registers[0] - whole.registers[0] == 8
    assert half.occupancy[0] == 1.0 and half.terms[1][0] == 0.0
    assert half.overlap[0] == whole.overlap[0], "the same tile"
    assert half.terms[0][0] == whole.terms[0][0], "and the same loads"


@pytest.mark.parametrize("tenths", few(range(11), (0, 3, 5, 10)))
def test_fractions_take_what_their_kernel_takes(tenths: int) -> None:
    """Of a chain that reads two earlier stages, to the byte and the register."""
    program = three_stages(4096, 512).program
    plan = split_plan(program, (4, 32), (2, 8), tenths)
    [planned] = [one for one in planned_kernels(program, plan) if isinstance(one.group, Group)]
    [kernel] = lowered_kernels(program, plan, "cuda")
    judged = replace(PUBLISHED, published=False).judge(planned, GTX_1080_TI)
    assert isinstance(judged, Cost) and planned.in_registers == tenths
    terms = {term.name: term.value for term in judged.terms}
    assert terms["shared memory"] == kernel.local_bytes
    [shape] = kernel_shapes(program, plan.scheduled, LANGUAGES["cuda"])
    room = shape.lane_room((2, 256), (1, 32), in_registers(8, tenths), 0)
    none = replace(PUBLISHED, published=False).judge(replace(planned, in_registers=0), GTX_1080_TI)
    assert isinstance(none, Cost) and room is not None
    assert terms["registers"] - {term.name: term.value for term in none.terms}["registers"] == room.words


@pytest.mark.parametrize("tenths", [0, 3, 5, 10])
@pytest.mark.parametrize("block", [(4, 32), (1, 64)])
def test_tiles_of_warps_beyond_short_rows_take_what_their_kernel_takes(block: tuple[int, int], tenths: int) -> None:
    """Rows of 96 points are 3 per lane, but of its 4 the generator has parts in registers; two warps are in a row."""
    program, points = three_stages(96, 64).program, (2, 4)
    plan = split_plan(program, block, points, tenths)
    [planned] = [one for one in planned_kernels(program, plan) if isinstance(one.group, Group)]
    [kernel] = lowered_kernels(program, plan, "cuda")
    model = PolyMage(level="sub-group")
    judged, given = model.judge(planned, GTX_1080_TI), Configurations(column(points), column(block))
    assert isinstance(judged, Cost) and isinstance(planned.group, Group)
    assert {term.name: term.value for term in judged.terms}["shared memory"] == kernel.local_bytes
    found = model.evaluate(planned.group, replace(given, tenths=np.array([float(tenths)])), GTX_1080_TI)
    assert found.shared[0] == kernel.local_bytes
    assert found.cost[0] == pytest.approx(judged.number)


@pytest.mark.parametrize("seed", few(range(60), (0, 7, 9, 12, 27, 35)))
def test_random_tiles_of_warps_take_what_their_kernel_takes(seed: int) -> None:
    """With their dimensions in any order, lanes in several rows, and tiles beyond the extents of any dimension."""
    rng = np.random.default_rng(seed)
    dims = int(rng.integers(2, 4))
    program, order = random_chain(rng, dims, 3).program, tuple(map(int, rng.permutation(dims)))
    blocks = [one for one in product((1, 2, 4, 8, 16, 32), repeat=dims) if prod(one) in (32, 64)]
    block, points = blocks[int(rng.integers(len(blocks)))], tuple(int(2 ** rng.integers(0, 3)) for _ in range(dims))
    plan = split_plan(program, block, points, int(rng.choice([0, 3, 5, 10])))
    plan = replace(plan, kernels=tuple(replace(one, order=order) for one in plan.kernels))
    try:
        [kernel] = lowered_kernels(program, plan, "cuda")
    except IllegalPlan as illegal:
        assert "pieces of text" in str(illegal)
        return
    [planned] = [one for one in planned_kernels(program, plan) if isinstance(one.group, Group)]
    assert prod(planned.team) == 32 and tuple(planned.block[d] for d in order) == block
    judged = PolyMage().judge(planned, replace(GTX_1080_TI, block_shared=1 << 20))
    assert isinstance(judged, Cost), judged.reason
    assert {term.name: term.value for term in judged.terms}["shared memory"] == kernel.local_bytes


def test_stages_that_are_read_faster_are_not_split() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image, one, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("one"), hl.Func("out")
    one[x, y] = image[x, y] * 2.0
    out[x, y] = one[2 * x, y] + one[2 * x + 1, y]
    group = Group(dataflow(pipeline_of([out], (512, 64))), "out", ("one",))
    assert not can_split(group), "x is where lanes are"
    given = Configurations(column((1, 4)), column((4, 32)), np.array([5.0]))
    found = PolyMage(level="sub-group").evaluate(group, given, GTX_1080_TI)
    assert [wrong.reason for wrong in found.wrongs if wrong.are[0]] == [
        "lanes cannot hold its stages for each other: their distances grow"]  # fmt: skip


def test_rows_that_are_read_faster_are_split_where_lanes_have_them_alone() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image, one, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("one"), hl.Func("out")
    one[x, y] = image[x, y] * 2.0
    out[x, y] = one[x, 2 * y] + one[x + 1, 2 * y + 1]
    group = Group(dataflow(pipeline_of([out], (512, 64))), "out", ("one",))
    assert alone_along(group) == frozenset({0})
    given = Configurations(np.array([[2.0, 2.0], [4.0, 4.0]]), np.array([[4.0, 4.0], [32.0, 16.0]]), np.full(2, 5.0))
    found = PolyMage(level="sub-group").evaluate(group, given, GTX_1080_TI)
    [grows, _] = [wrong for wrong in found.wrongs if "lanes" in wrong.reason or "parts of its tile" in wrong.reason]
    assert grows.are.tolist() == [False, True], "rows of 16 lanes lie above each other"
    plan = split_plan(pipeline_of([out], (512, 64)), (4, 32), (2, 4), 5)
    [kernel] = lowered_kernels(pipeline_of([out], (512, 64)), plan, "cuda")
    assert found.shared[0] == kernel.local_bytes


def test_candidates_for_warps_have_each_fraction_once() -> None:
    found = split_candidates((2832, 4256), GTX_1080_TI)
    assert found.tenths is not None
    of_eight = {n for p, n in zip(found.points[-1], found.tenths, strict=True) if p == 8}
    assert sorted(in_registers(8, int(n)) for n in of_eight) == list(range(9))
    assert {n for p, n in zip(found.points[-1], found.tenths, strict=True) if p == 1} == {0}
    rows = replace(GTX_1080_TI, rows_in_warps=False)
    assert (split_candidates((2832, 4256), rows).block[-1] % 32 == 0).all(), "OpenCL says nothing of rows"


@pytest.mark.parametrize("extents", [(4096,), (2832, 4256), (3, 500, 700), (2, 8, 24)])
def test_all_candidates_share_a_tile_as_in_generated_code(extents: tuple[int, ...]) -> None:
    for given in (candidates(extents, GTX_1080_TI), split_candidates(extents, GTX_1080_TI)):
        blocks = [tuple(map(int, block)) for block in given.block.T]
        assert blocks and all(sub_group(block) for block in blocks), "whole warps"
        assert [tuple(map(int, team)) for team in sharing_threads(given.block, "sub-group").T] == [
            sub_group(block) for block in blocks]  # fmt: skip


def test_the_tile_of_a_warp_is_that_of_the_papers_example() -> None:
    """Section 4: T = (8, 4, 1) and B = (16, 8, 1), x first, make warps of (16, 2, 1) lanes and tiles of (128, 8, 1)."""
    given = Configurations(column((1, 4, 8)), column((1, 8, 16)))
    team, tiles, where = tiles_of(given, "sub-group", (3, 2832, 4256))
    assert team[:, 0].tolist() == [1, 2, 16] and tiles[:, where[0]].tolist() == [1, 8, 128]


def test_what_a_block_shares_overlaps_less_than_what_warps_do() -> None:
    levels: tuple[Level, ...] = ("block", "sub-group", "thread")
    found = [weighed(replace(PUBLISHED, level=level), (1, 1, 8), (1, 4, 64)).overlap[0] for level in levels]
    assert found == [pytest.approx(2 / 512), pytest.approx(2 / 256), pytest.approx(2 / 8)]


def test_transactions_are_counted_per_warp() -> None:
    """Three rows of 32 + 2 / 8 neighbours, 4 bytes each, in segments of 32 bytes; 8 iterations and some overlap."""
    found = weighed(PUBLISHED, (1, 1, 8), (1, 4, 64))
    assert found.terms[0][0] == pytest.approx(50 * 3 * 4 * 258 / 32)


def test_too_much_shared_memory_is_impossible() -> None:
    found = weighed(PUBLISHED, (1, 32, 32), (1, 4, 64))
    assert not found.possible[0]


def test_candidates_fit_the_device() -> None:
    found = candidates((3, 2832, 4256), GTX_1080_TI)
    threads = found.block.prod(axis=0)
    assert (threads <= 512).all() and (threads % 32 == 0).all()
    assert (found.points[0] * found.block[0] == 4).all(), "all three colours"
    assert (candidates((2832, 4256), CPU).block == 1).all()


@pytest.mark.parametrize("device", [GTX_1080_TI, CPU])
def test_rows_inside_a_thread_may_be_longer_than_all_other_tiles(device: CostDevice) -> None:
    """Threads of arrays of four dimensions compute whole rows, unless host loops run the outermost one."""
    found = candidates((2, 1, 3, 100_000), device)
    assert (found.tile[-1] == 100_000).all() and found.tile.shape[1]


def flow(body: str, declarations: str) -> Dataflow:
    return dataflow(program_of(scop(body, declarations)))


def test_data_that_decide_about_places_are_refused() -> None:
    found = flow(
        "int t[24]; for (i = 0; i < 24; i++) t[i] = in[i] * 2; for (i = 0; i < 24; i++) out[i] = t[u[i] % 24];",
        "int in[24], out[24]; unsigned char u[24];",
    )
    assert "data decide which elements of `t`" in refusal(Group(found, "out", ("t",)))
    assert refusal(Group(found, "out")) == ""


def test_diagonals_are_refused() -> None:
    found = flow(
        "int t[48]; for (i = 0; i < 48; i++) t[i] = in[i] * 2;"
        "for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) B[i][j] = t[i + j];",
        "int in[48], B[8][8];",
    )
    assert "several of its dimensions" in refusal(Group(found, "B", ("t",)))


def test_reductions_share_no_kernel() -> None:
    found = flow(
        "int t[8]; for (i = 0; i < 8; i++) t[i] = 0; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) "
        "t[i] += B[i][j]; for (i = 0; i < 8; i++) out[i] = t[i] * 2;",
        "int out[8], B[8][8];",
    )
    assert "`t` is a reduction" in refusal(Group(found, "out", ("t",)))


def test_what_is_written_where_data_say_is_no_stage_of_a_model() -> None:
    found = dataflow(pipeline_program("bilateral_grid"))
    assert [node.array for node in found.nodes if node.refusal] == ["histogram"]
