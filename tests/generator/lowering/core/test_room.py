"""Room in shared memory: what is on offer fits the device, and what would mean nothing is not on offer, or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antune import halide as hl
from generator.decisions.base import Known
from generator.decisions.deciding import decide, nearest
from generator.errors import IllegalPlan
from generator.frontend_py.problem import program_of as pipeline_of
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.core.later import MOST_UNROLLED
from generator.nest import Assign, For, Level, walk
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.target import LANGUAGES, Target
from tests.support.lanes import split_plan, three_stages
from tests.support.plans import lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.targets import CPU, HOPPER
from tests.support.teams import time_problem

PRODUCT = "for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) for (k = 0; k < {n}; k++) A[i][j] += B[i][k] * C[k][j];"
SHARED = KernelPlan(("S0",), (32, 32), (8, 32), shared=True, inner_tile=8, ahead=True, asynchronous=True)


def shape_of(program: Program, schedule: Schedule) -> KernelShape:
    [shape] = kernel_shapes(program, schedule, LANGUAGES["cuda"])
    return shape


def product(n: int = 64, kind: str = "float") -> Program:
    return program_of(scop(PRODUCT.format(n=n), f"{kind} A[64][64], B[64][64], C[64][64];"))


def with_room(size: int) -> Target:
    return replace(HOPPER, local_bytes=size)


@pytest.mark.parametrize("padding", [0, 1])
def test_fractions_on_offer_fit_the_device(padding: int) -> None:
    """To the byte: with one less the fraction is not on offer. All in shared memory does not fit in either case."""
    program = three_stages(512, 64).program
    plan = split_plan(program, (8, 32), (1, 4), 2)
    plan = replace(plan, kernels=(replace(plan.kernels[0], padding=padding),))
    shape = shape_of(program, plan.scheduled)
    [kernel] = lowered_kernels(program, plan, "cuda")
    for size, offered in ((kernel.local_bytes, True), (kernel.local_bytes - 1, False)):
        found = nearest(plan.kernels[0], Known(shape, with_room(size), True))
        assert (found == plan.kernels[0]) == offered
        assert lower(program, Plan(plan.schedule, (found,)), with_room(size)).kernels


def test_the_room_of_warps_is_more_than_that_of_the_rough_box_at_an_edge() -> None:
    """A short array: what stages have of it fits a box that is as long as it; lanes have whole sub-tiles."""
    program = three_stages(40, 3).program
    plan = split_plan(program, (4, 32), (2, 4), 3)
    shape = shape_of(program, plan.scheduled)
    room = shape.lane_room((2, 128), (1, 32), 1, 0)
    assert room is not None and room.bytes > shape.shared_bytes((2, 128), 1)


def test_private_updates_leave_room_for_second_buffers() -> None:
    """A histogram of the elements of a product, in one kernel."""
    body = "for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) { A[i][j] = 0; for (k = 0; k < 64; k++)"
    program = program_of(scop(f"{body} A[i][j] += B[i][k] * C[k][j]; H[b[i][j]] += A[i][j]; }}",
                              "float A[64][64], B[64][64], C[64][64], H[256]; unsigned char b[64][64];"))  # fmt: skip
    schedule = ScheduleChoice(reductions=("S2",))
    shape = shape_of(program, schedule)
    wanted = replace(SHARED, statements=shape.statements, combine="private")
    plan = nearest(wanted, Known(shape, HOPPER, True))
    assert plan == wanted
    copies, others = (
        shape.shared_bytes(plan.tile, plan.inner_tile, copies=one, private=True) for one in (True, False)
    )
    needed = 2 * copies - others
    for size, offered in ((needed, True), (needed - 1, False)):
        found = nearest(plan, Known(shape, with_room(size), True))
        assert found.asynchronous and (found.combine == "private") == offered
        assert lower(program, Plan(schedule, (found,)), with_room(size)).kernels


def test_arrays_without_a_copy_take_no_room() -> None:
    """An inner tile fits that would not, were both operands copied; to the byte."""
    program, plan = product(), replace(SHARED, uncopied=("B",), inner_tile=32, ahead=False, asynchronous=False)
    shape = shape_of(program, ScheduleChoice())
    [kernel] = lowered_kernels(program, Plan(ScheduleChoice(), (plan,)), "cuda")
    for size, offered in ((kernel.local_bytes, True), (kernel.local_bytes - 1, False)):
        found = nearest(plan, Known(shape, with_room(size), True))
        assert (found == plan) == offered and found.uncopied == ("B",)
        assert lower(program, Plan(ScheduleChoice(), (found,)), with_room(size)).kernels


def test_tiles_of_warps_leave_room_for_the_parts_of_sums() -> None:
    """Columns are added up by warps, which compute what they read: doubles, so that a part takes 8 bytes. With one byte
    less, a tile of the block still fits.
    """
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(64), 2, "image")
    one, out, r = hl.Func("one"), hl.Func("out"), hl.RDom([(0, 64)], name="r")
    one[x, y] = image[x, y] * 2.0
    out[x] = hl.f64(0)
    out[x] += one[x, r] + one[x + 1, r]
    program, schedule = pipeline_of([out], [256]), Stages((("one", "block"),), ("S2",))
    plan = KernelPlan(("S0", "S2"), (8, 64), (4, 32), level="sub-group", combine="shared")
    rest = KernelPlan(("S1",), (32,), (32,))
    [shape] = (one for one in kernel_shapes(program, schedule, LANGUAGES["cuda"]) if one.computes)
    needed = max(kernel.local_bytes for kernel in lowered_kernels(program, Plan(schedule, (plan, rest)), "cuda"))
    for size, level in ((needed, "sub-group"), (needed - 1, "block")):
        found = nearest(plan, Known(shape, with_room(size), True))
        assert (found.combine, found.level) == ("shared", level)
        assert lower(program, Plan(schedule, (found, rest)), with_room(size)).kernels


X, Y = hl.Var("x"), hl.Var("y")
ONE = Stages((("one", "block"),))


def stencil() -> Program:
    """A stage of which a point of the result needs four rows and two columns."""
    image, one, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("one"), hl.Func("out")
    one[X, Y] = image[X, Y] * 2.0
    out[X, Y] = one[X, Y] + one[X + 1, Y + 3]
    return pipeline_of([out], [256, 128])


def same_rows() -> Program:
    """A stage of which each row of the result needs the same five rows."""
    image, one, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("one"), hl.Func("out")
    one[X, Y] = image[X, Y] * 2.0
    out[X, Y] = one[X, 0] + one[X + 1, 1] + one[X, 2] + one[X, 4] + image[X, Y]
    return pipeline_of([out], [256, 128])


def coarse() -> Program:
    """Two planes of a stage with an eighth of the rows: with two rows per step, it moves in every fourth step only."""
    image, one, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("one"), hl.Func("out")
    plane = hl.Var("plane")
    one[X, Y, plane] = image[X, Y] * hl.f32(plane)
    out[X, Y] = sum(one[X // 8, Y // 8 + row, row % 2] for row in range(6))
    return pipeline_of([out], [256, 128])


@pytest.mark.parametrize(
    ("program", "order", "tile"),
    [(stencil(), (), (32, 32)), (stencil(), (1, 0), (32, 32)), (stencil(), (), (8, 32)), (stencil(), (1, 0), (8, 32)),
     (coarse(), (), (32, 32)), (coarse(), (), (8, 32)),
     (same_rows(), (), (32, 32)), (same_rows(), (), (8, 32)), (same_rows(), (1, 0), (32, 32))],
)  # fmt: skip
def test_the_room_of_a_sliding_window_is_what_it_takes(
    program: Program, order: tuple[int, ...], tile: tuple[int, ...]
) -> None:
    """Also where a tile is a single step, or a stage stays where it is: then the first dimension has the ring."""
    shape = shape_of(program, ONE)
    for rows in (2, 8):
        plan = KernelPlan(shape.statements, tile, (1, 32), order=order, walk=rows)
        [kernel] = lowered_kernels(program, Plan(ONE, (plan,)), "cuda")
        assert shape.ordered(order).walking(rows).shared_bytes(tile, 1) == kernel.local_bytes


@pytest.mark.parametrize(("rows", "level"), [(32, "sub-group"), (16, "block")])
def test_tiles_of_warps_have_two_steps_to_go(rows: int, level: Level) -> None:
    """As tiles of blocks have: a block of two rows of warps has two such tiles, one below the other."""
    program = stencil()
    shape = shape_of(program, ONE)
    plan = KernelPlan(shape.statements, (rows, 64), (2, 32), walk=8, level="sub-group")
    found = nearest(plan, Known(shape, HOPPER, True))
    assert found == replace(plan, level=level)


@pytest.mark.parametrize(("rows", "level"), [(16, "thread"), (8, "block")])
def test_tiles_of_threads_have_two_steps_to_go(rows: int, level: Level) -> None:
    """Of eight rows of a block's tile a thread has four."""
    program = stencil()
    shape = shape_of(program, ONE)
    plan = KernelPlan(shape.statements, (rows, 32), (2, 32), walk=4, level="thread")
    found = nearest(plan, Known(shape, with_room(1 << 20), True))
    assert (found.tile, found.block, found.walk, found.level) == (plan.tile, plan.block, 4, level)


def ahead(program: Program, plan: KernelPlan, target: Target = HOPPER) -> tuple[bool, bool]:
    """Whether tiles ahead are on offer, and asynchronous ones."""
    found = nearest(plan, Known(shape_of(program, ScheduleChoice()), target, True))
    assert found.shared and found.inner_tile == plan.inner_tile
    return found.ahead, found.asynchronous


def test_tiles_ahead_are_on_offer_where_there_is_a_next_tile() -> None:
    assert ahead(product(), SHARED) == (True, True)
    assert ahead(product(8), SHARED) == (False, False), "one tile has no next one"
    assert ahead(product(kind="short"), SHARED) == (True, False), "no copies of 2 bytes go on by themselves"
    assert ahead(product(kind="short"), replace(SHARED, vector=2)) == (True, True)
    sums = "for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) A[i][j] = B[i][j] + B[i + 1][j] + C[j][i];"
    program = program_of(scop(sums, "float A[64][64], B[65][64], C[64][64];"))
    assert ahead(program, replace(SHARED, inner_tile=1)) == (False, False), "no loop runs inside a thread"


def test_tiles_ahead_are_not_on_offer_beside_stages() -> None:
    """What a block computes for a tile stands between the copies and the barrier."""
    x, y, image, weights = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(
        hl.Float(32), 2, "weights")  # fmt: skip
    one, out, r = hl.Func("one"), hl.Func("out"), hl.RDom([(0, 64)], name="r")
    one[x, y] = image[x, y] * 2.0
    out[x, y] = hl.f32(0)
    out[x, y] += one[x, y] * image[x + r, y] * weights[r, x]
    program = pipeline_of([out], [256, 64])
    schedule = split_plan(program, (4, 32), (2, 2), 0).scheduled
    shape = shape_of(program, schedule)
    found = nearest(replace(SHARED, statements=shape.statements), Known(shape, HOPPER, True))
    assert found.shared and found.inner_tile == 8 and not found.ahead


def test_asynchronous_copies_are_unrolled_at_most_8_times() -> None:
    program, plan = product(), replace(SHARED, tile=(64, 64), block=(1, 32), inner_tile=16)
    [kernel] = lowered_kernels(program, Plan(ScheduleChoice(), (plan,)), "cuda")
    loops = [node for node in walk(kernel.body) if isinstance(node, For)
             and any(isinstance(inner, Assign) and inner.later for inner in node.body)]  # fmt: skip
    assert {loop.unroll for loop in loops} == {MOST_UNROLLED}


SPLIT = {"shared": True, "uncopied": ("image",), "inner_tile": 4, "registers": True, "combine": "shared", "run": 2,
         "vector": 2, "ahead": True, "asynchronous": True, "points_inside": True}  # fmt: skip
TIMED = {**SPLIT, "walk": 4}


@pytest.mark.parametrize("name", SPLIT)
def test_plans_with_parts_in_registers_name_what_they_ignore(name: str) -> None:
    program = three_stages().program
    plan = split_plan(program, (2, 32), (4, 4), 5)
    wrong = replace(plan, kernels=(replace(plan.kernels[0], **{name: SPLIT[name]}),))  # type: ignore[arg-type]  # of any type
    with pytest.raises(IllegalPlan, match=rf"leave out `{name}`|want it ahead"):
        lower(program, wrong, HOPPER)


@pytest.mark.parametrize("name", TIMED)
def test_plans_of_several_time_steps_name_what_they_ignore(name: str) -> None:
    found, plan = time_problem("jacobi-1d", "sub-group", (128,), (64,))
    wrong = replace(plan, kernels=(replace(plan.kernels[0], **{name: TIMED[name]}),))  # type: ignore[arg-type]  # of any type
    with pytest.raises(IllegalPlan, match=rf"leave out `{name}`"):
        lower(found.program, wrong, HOPPER)


def test_besides_names_fields_that_are_not_the_default() -> None:
    plan = KernelPlan(("S0",), (32,), (32,), unroll=4, walk=2, level="thread")
    assert plan.besides() == ("walk", "unroll", "level")
    assert plan.besides("unroll", "level") == ("walk",)
    assert decide(Known(shape_of(product(), ScheduleChoice()), HOPPER, True), lambda q: q.options[0]).besides() == ()


def test_a_thread_of_a_gpu_keeps_no_more_than_its_registers() -> None:
    """Three columns of a thread need rows of four floats of the stage, and three rows more. CPUs have no such limit."""
    program = stencil()
    fits, too_large = (Plan(ONE, (KernelPlan(shape_of(program, ONE).statements, (rows, 96), (1, 32), level="thread"),))
                       for rows in (60, 61))  # fmt: skip
    assert lower(program, fits, HOPPER).kernels and lower(program, too_large, CPU).kernels
    with pytest.raises(IllegalPlan, match=r"keeps need 1024 bytes of registers; a thread of .* has at most 1020"):
        lower(program, too_large, HOPPER)
