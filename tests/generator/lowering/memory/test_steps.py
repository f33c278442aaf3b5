"""Blocks that walk down their tiles: they keep the rows of stages that the next step needs, and compute each once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from antune import halide as hl
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.analysis.stage_work import stage_work
from generator.nest import Level
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.memory.boxes import stage_boxes
from generator.polyhedral.pipelines.sections import kernels_of
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import LANGUAGES, Target
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import TARGET, lowered_kernels, run_plan
from tests.support.slow import few, in_turn

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
WIDTH, HEIGHT = 37, 26


def image() -> hl.ImageParam:
    return hl.ImageParam(hl.UInt(8), 2, "image")


def chain() -> Program:
    """Two stencils, one after the other."""
    source, one, two, out = image(), hl.Func("one"), hl.Func("two"), hl.Func("out")
    one[x, y] = hl.u16(source[x, y]) * 3 + hl.u16(source[x + 1, y])
    two[x, y] = one[x, y - 1] + one[x, y] * 5 + one[x, y + 1]
    out[x, y] = two[x, y] - two[x + 1, y + 1] + one[x, y]
    return pipeline_program([out], [WIDTH, HEIGHT])


BOTH = Stages((("one", "block"), ("two", "block")))


def plan(program: Program, tile: tuple[int, ...], block: tuple[int, ...], walk: int, schedule: Stages = BOTH,
         level: Level = "block") -> Plan:
    (kernel,) = kernels_of(program, schedule)
    return Plan(schedule, (KernelPlan(kernel.statements, tile, block, walk=walk, level=level),))


def check(program: Program, found: Plan) -> None:
    memory = run_plan(program, found, np.random.default_rng(1))
    assert not differences(program, memory, run_original(program)), found.to_json()


@in_turn
@pytest.mark.parametrize(("tile", "block", "walk", "level"), few([
    ((8, 16), (1, 8), 2, "block"), ((6, 8), (3, 4), 3, "block"), ((5, 5), (5, 5), 5, "block"),
    ((16, 64), (4, 2), 2, "thread"), ((16, 64), (1, 64), 2, "sub-group"), ((8, 64), (1, 1), 1, "block"),
    ((8, 16), (1, 4), 1, "block"), ((12, 16), (2, 8), 4, "block"), ((32, 16), (1, 16), 1, "block"),
], 5))
def test_what_blocks_that_walk_compute_is_right(tile: tuple[int, ...], block: tuple[int, ...], walk: int,
                                                level: Level) -> None:
    check(chain(), plan(chain(), tile, block, walk, level=level))


def test_every_row_is_computed_once() -> None:
    """By a block with all rows, so that no tiles overlap."""
    program = chain()
    whole = stage_work(program, plan(program, (32, 64), (1, 1), 1), LANGUAGES["opencl"])
    for works in whole.values():
        assert {array: work.times for array, work in works.items()} == {"one": 1, "two": 1}
        assert [work.box[0] for work in works.values()] == [4, 2], "a step of one row needs so many of each"
    apart = stage_work(program, plan(program, (1, 64), (1, 1), 0), LANGUAGES["opencl"])
    for works in apart.values():
        assert works["one"].times > 3.5 and works["two"].times > 1.9


def test_the_box_of_a_step_is_small_whatever_the_tile() -> None:
    program = chain()
    bytes_of = {rows: lower(program, plan(program, (rows, 64), (1, 1), 1), TARGET).kernels[0].local_bytes
                for rows in (4, 16)}
    assert bytes_of[4] == bytes_of[16] < lower(
        program, plan(program, (4, 64), (1, 1), 0), TARGET).kernels[0].local_bytes


def test_rows_that_move_along_two_dimensions_are_computed_anew() -> None:
    source, one, out = image(), hl.Func("one"), hl.Func("out")
    one[x, y] = hl.u16(source[x, y]) * 3
    out[x, y] = one[x + y, y] + one[x + y + 1, y + 1]
    program = pipeline_program([out], [9, 12])
    schedule = Stages((("one", "block"),))
    (kernel,) = kernels_of(program, schedule)
    (box,) = stage_boxes(kernel.section.program, kernel.part, (6, 4), 1, 0, 2)
    assert box.slides is None
    check(program, plan(program, (6, 4), (1, 2), 2, schedule))


def test_what_no_step_moves_is_computed_once() -> None:
    source, row, out = image(), hl.Func("row"), hl.Func("out")
    row[x] = hl.u16(source[x, 0]) * 3
    out[x, y] = row[x] + row[x + 1] + hl.u16(source[x, y])
    program, schedule = pipeline_program([out], [WIDTH, 16]), Stages((("row", "block"),))
    found = plan(program, (16, 64), (1, 1), 1, schedule)
    check(program, found)
    (works,) = stage_work(program, found, LANGUAGES["opencl"]).values()
    assert works["row"].times == 1


def test_stages_at_other_scales_slide_too() -> None:
    source, small, wide, out = image(), hl.Func("small"), hl.Func("wide"), hl.Func("out")
    small[x, y] = hl.u16(source[2 * x, 2 * y]) + hl.u16(source[2 * x + 1, 2 * y + 1])
    wide[x, y] = hl.u16(source[x, y]) * 7
    out[x, y] = small[x // 2, y // 2] + small[x // 2 + 1, y // 2 + 1] + wide[x, 2 * y] + wide[x, 2 * y + 1]
    program, schedule = pipeline_program([out], [15, 14]), Stages((("small", "block"), ("wide", "block")))
    for tile, block, walk in (((8, 16), (1, 1), 1), ((6, 16), (1, 4), 3), ((16, 4), (2, 2), 4)):
        check(program, plan(program, tile, block, walk, schedule))


def test_kernels_of_three_dimensions_walk_along_y() -> None:
    source, one, out = hl.ImageParam(hl.UInt(8), 3, "image"), hl.Func("one"), hl.Func("out")
    one[x, y, c] = hl.u16(source[x, y, c]) * 3
    out[x, y, c] = one[x, y, c] + one[x, y + 1, c] + one[x + 1, y, 0]
    program, schedule = pipeline_program([out], [9, 12, 3]), Stages((("one", "block"),))
    for tile, block in (((4, 8, 16), (1, 1, 1)), ((1, 6, 8), (1, 2, 4)), ((2, 4, 4), (2, 2, 2))):
        check(program, plan(program, tile, block, 2, schedule))


@pytest.mark.parametrize("name", few(["w", "b0", "Exists", "antune_step", "q0", "h0", "implies"], 3))
def test_a_loop_around_launches_may_have_any_name(name: str) -> None:
    """Corners of boxes have its number beside those of the steps, or of the tiles of a sum; so have isl's texts."""
    launch, r = hl.Var(name), hl.RDom([(0, 8)], "r")
    source, one, near, out = hl.ImageParam(hl.UInt(8), 4, "image"), hl.Func("one"), hl.Func("near"), hl.Func("out")
    one[x, y, c, launch] = hl.u16(source[x, y, c, launch]) * 3
    near[x, y, c, launch] = one[x, y, c, launch] + one[x, y + 1, c, launch]
    out[x, y, c, launch] = hl.u16(0)
    out[x, y, c, launch] += near[x + r, y, c, launch] * hl.u16(r + 1)
    program, tile, block = pipeline_program([out], [9, 6, 2, 3]), (2, 4, 8), (1, 2, 4)
    steps, tiles = KernelPlan((), tile, block, walk=2), KernelPlan((), tile, block, inner_tile=4)
    for inside, sizes in (("one", steps), ("near", tiles)):
        schedule = Stages(((inside, "block"),), launches=True)
        found = Plan(schedule, tuple(replace(sizes, statements=k.statements) for k in kernels_of(program, schedule)))
        lowered = lower(program, found, TARGET)
        assert any(kernel.outer for kernel in lowered_kernels(program, found)) and f"{inside}_here[" in lowered.source
        check(program, found)


REFUSED = {
    "registers": (replace(KernelPlan((), (8, 16), (1, 1), walk=1), registers=True), "for a whole tile at once"),
    "copies": (replace(KernelPlan((), (8, 16), (1, 1), walk=1), shared=True), "for a whole tile at once"),
    "inner tiles": (replace(KernelPlan((), (8, 16), (1, 1), walk=1), inner_tile=4), "for a whole tile at once"),
    "no multiple": (KernelPlan((), (8, 16), (1, 1), walk=3), "its tile has 8 rows along y; use a multiple of 3"),
    "rows of threads": (KernelPlan((), (8, 16), (4, 1), walk=2), "block size 4 does not divide step or size 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_steps_that_do_not_fit_are_refused(case: str) -> None:
    kernel, words = REFUSED[case]
    program = chain()
    found = plan(program, (8, 16), (1, 1), 1)
    with pytest.raises(IllegalPlan, match=words):
        lower(program, Plan(BOTH, (replace(kernel, statements=found.kernels[0].statements),)), TARGET)


def test_a_row_has_no_rows_to_walk() -> None:
    source, one, out = hl.ImageParam(hl.UInt(8), 1, "image"), hl.Func("one"), hl.Func("out")
    one[x] = hl.u16(source[x]) * 3
    out[x] = one[x] + one[x + 1]
    program, schedule = pipeline_program([out], [WIDTH]), Stages((("one", "block"),))
    with pytest.raises(IllegalPlan, match="it has 1 parallel dimensions; 2 are needed"):
        lower(program, plan(program, (8,), (1,), 1, schedule), TARGET)


def test_sums_in_any_order_do_not_walk() -> None:
    source, one, out, r = image(), hl.Func("one"), hl.Func("out"), hl.RDom([(0, 3)], "r")
    one[x, y] = hl.u32(source[x, y]) * 3
    out[x, y] = hl.u32(0)
    out[x, y] += one[x + r, y]
    program = pipeline_program([out], [9, 12])
    schedule = Stages((("one", "block"),), ("S2",))
    found = kernels_of(program, schedule)
    with pytest.raises(IllegalPlan, match=r"its updates in any order \(S2\) are for a whole tile at once"):
        lower(program, Plan(schedule, tuple(KernelPlan(k.statements, (8,) * len(k.part.parallel),
                                                       (1,) * len(k.part.parallel), walk=4) for k in found)), TARGET)


def test_plans_say_how_blocks_walk() -> None:
    program = chain()
    found = plan(program, (8, 16), (1, 1), 2)
    assert plan_from_json(found.to_json()) == found
    assert "walk" not in plan(program, (8, 16), (1, 1), 0).to_json(), "stored plans have no such field"
    text = explain(program, found, Target("small", "opencl", 64, (64, 64, 64), 1 << 16, 4, True, True))
    assert "a block goes down its tile, 2 row(s) per step, and keeps rows that the next step needs" in text
    with pytest.raises(InputError, match=r"walk is -1; use 0 or a positive integer"):
        plan_from_json(found.to_json().replace('"walk":2', '"walk":-1'))


def test_a_single_row_is_kept_in_turn_at_two_places() -> None:
    """LLVM makes no vectors of loops along a row at a fixed place."""
    source, one, out = image(), hl.Func("one"), hl.Func("out")
    one[x, y] = hl.u16(source[x, y]) * 3
    out[x, y] = one[x, y] + one[x + 1, y]
    program, schedule = pipeline_program([out], [WIDTH, HEIGHT]), Stages((("one", "block"),))
    text = lower(program, plan(program, (8, 64), (1, 1), 1, schedule), TARGET).source
    assert f"one_here[{2 * (WIDTH + 1)}]" in text and "& 1) *" in text
