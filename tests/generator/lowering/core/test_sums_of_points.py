"""Points of a thread inside the sums of inline stages: the same results, one step of all sums at a time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from antune import halide as hl
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.frontend_py import problem as pipelines
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program, Where
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from tests.support.cuda_compiler import check_spills
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.stages import SMALL, case, offered_plans
from tests.support.targets import CPU, HOPPER
from tests.support.watched_gpu import WatchedGpu

FEW = 3
WEIGHTED = Stages((("total", "inline"),))


def weighted(terms: int = 4, by_row: bool = False, width: int = 20) -> Program:
    """Sums of weighted columns, or with `by_row` of as many terms as the row has."""
    x, y, out, total = hl.Var("x"), hl.Var("y"), hl.Func("out"), hl.Func("total")
    image, weights, r = hl.ImageParam(hl.Int(32), 2, "image"), hl.ImageParam(hl.Int(32), 1, "weights"), hl.RDom(
        [(0, terms)], "r")
    if by_row:
        r.where(r.x <= y)
    total[x, y] = 0
    total[x, y] += weights[r.x] * image[r.x, y] * x
    out[x, y] = total[x, y] + 1
    return pipelines.program_of([out], [width, 6])


def plan_of(program: Program, tile: tuple[int, ...], block: tuple[int, ...], schedule: Stages = WEIGHTED,
            registers: bool = False) -> Plan:
    [shape] = kernel_shapes(program, schedule, LANGUAGES["opencl"])
    return Plan(schedule, (KernelPlan(shape.statements, tile, block, points_inside=True, registers=registers),))


def text_of(program: Program, plan: Plan) -> str:
    return lower(program, plan, CPU).source.partition("__kernel")[2]


@pytest.mark.parametrize(("tile", "block"), [((2, 20), (1, 5)), ((6, 8), (2, 2)), ((4, 8), (4, 1)), ((4, 16), (1, 4))])
def test_results_stay(tile: tuple[int, int], block: tuple[int, int]) -> None:
    """20 x 6 points: some tiles are partial."""
    program = weighted()
    plan = plan_of(program, tile, block)
    memory = run_plan(program, plan, np.random.default_rng(1))
    assert "total_0_points" in text_of(program, plan)
    assert not differences(program, memory, run_original(program))


def test_all_sums_take_a_step_together() -> None:
    text = text_of(weighted(), plan_of(weighted(), (2, 16), (1, 4)))
    before, _, inside = text.partition("for (int r0_0 = 0; r0_0 <= 3; ++r0_0)")
    assert "int total_0_points[2][4];" in before
    step, _, behind = inside.partition("total_0_points[y_point][x_point] += ")
    assert step.count("for (int") == 2 and "#pragma unroll 4" in step
    assert "out[" in behind


def test_points_that_do_not_exist_are_left_to_loops_around_sums() -> None:
    text = text_of(weighted(), plan_of(weighted(), (2, 16), (1, 4)))
    assert text.count("if (") == 1 and " else {" in text and text.count("r0_0 <= 3") == 2
    whole = text_of(weighted(), plan_of(weighted(), (2, 20), (1, 5)))
    assert "if (" not in whole and whole.count("r0_0 <= 3") == 1


def test_of_many_points_the_outer_loops_stay_outside() -> None:
    text = text_of(weighted(), plan_of(weighted(), (6, 20), (1, 2)))
    assert "total_0_points[10];" in text
    assert text.index("int y_point") < text.index("int r0_0") < text.index("+= ")
    assert "_points" not in text_of(weighted(), plan_of(weighted(), (6, 64), (1, 1))), "20 of 64 are too many, too"


def test_sums_whose_length_depends_on_the_point_are_left_alone() -> None:
    program = weighted(by_row=True)
    plan = plan_of(program, (6, 4), (1, 4))
    assert not differences(program, run_plan(program, plan, np.random.default_rng(1)), run_original(program))


@pytest.mark.parametrize(("terms", "tile", "block", "offered"), [
    (16, (2, 16), (1, 4), True), (15, (2, 16), (1, 4), False), (16, (1, 16), (1, 16), False),
    (16, (2, 64), (1, 1), False)], ids=["long sums", "short sums", "one point", "many points in a row"])
def test_when_it_is_offered(terms: int, tile: tuple[int, int], block: tuple[int, int], offered: bool) -> None:
    program = weighted(terms, width=70)
    [shape] = kernel_shapes(program, WEIGHTED, LANGUAGES["opencl"])
    made = nearest(KernelPlan(shape.statements, tile, block, points_inside=True), Known(shape, CPU, True))
    assert shape.summed == terms
    assert (made.tile, made.points_inside) == (tile, offered)


def nested(rng: np.random.Generator) -> list[hl.Func]:
    """Sums of products with sums, of stages with borders, with and without conditions."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(32), 2, "image")
    near, far = hl.RDom([(0, int(rng.integers(2, 4)))], "near"), hl.RDom(
        [(0, int(rng.integers(2, 5))), (0, int(rng.integers(1, 3)))], "far")
    inner, outer, out = hl.Func("inner"), hl.Func("outer"), hl.Func("out")
    edge = hl.BoundaryConditions.repeat_edge(image)
    if rng.integers(2):
        far.where(far.x + far.y < 3)
    inner[x, y] = y
    inner[x, y] += edge[x + near.x, y] * (near.x + 1)
    outer[x, y] = inner[x, y]
    outer[x, y] += inner[far.x, y + far.y] * hl.select(x > far.y, image[x, y], far.x)
    out[x, y] = outer[x, y] - inner[x, y] if rng.integers(2) else outer[x, y]
    return [out]


def ran(seed: int) -> int:
    """Run random plans of a random pipeline, and return the number of those with sums of points."""
    rng, count = np.random.default_rng(seed), 0
    size = [int(rng.integers(5, 12)), int(rng.integers(2, 5))]
    program = pipelines.program_of(nested(rng), size)
    original = run_original(program)
    places: tuple[Where, ...] = ("inline", "block")
    for inner in places:
        block = tuple(int(2 ** rng.integers(0, 3)) for _ in range(2))
        tile = tuple(size * int(2 ** rng.integers(0, 3)) for size in block)
        stages = Stages((("inner", inner), ("outer", "inline"), ("repeat_edge", "inline")))
        plan = plan_of(program, tile, block, stages, registers=bool(rng.integers(3) == 0))
        assert not differences(program, run_plan(program, plan, rng), original), (seed, plan.to_json())
        count += "_points[" in text_of(program, plan)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["inline", "block"])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_kernels_for_gpus(seed: int, inner: Where, watched_gpu: WatchedGpu) -> None:
    """They compile, and the stand-in finds no races; `inner` is in shared memory if a block computes it."""
    found = pipelines.problem_of(nested(np.random.default_rng(seed)), [22, 9], "sums", seed=seed)
    stages = Stages((("inner", inner), ("outer", "inline"), ("repeat_edge", "inline")))
    plans = [plan_of(found.program, tile, block, stages) for tile, block in (((4, 16), (2, 4)), ((3, 22), (1, 11)))]
    watched_gpu.check(found, plans)
    texts = [lower(found.program, plan, HOPPER).source for plan in plans]
    assert any("_points[" in text for text in texts)
    for text in texts:
        check_spills(text, (9, 0))


def test_random_sums_are_right() -> None:
    assert sum(map(ran, range(FEW))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_random_sums_are_right(block: int) -> None:
    assert sum(map(ran, range(FEW + 30 * block, FEW + 30 * (block + 1)))) > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_pipelines_stay_right(seed: int) -> None:
    found = case(seed)
    original = run_original(found.program)
    for plan in offered_plans(found.program, SMALL, 3, seed):
        inside = replace(plan, kernels=tuple(
            replace(kernel, points_inside=True, block=tuple(max(1, size // 4) for size in kernel.block))
            for kernel in plan.kernels))
        with suppress(IllegalPlan):
            memory = run_plan(found.program, inside, np.random.default_rng(seed))
            assert not differences(found.program, memory, original), (seed, inside.to_json())


def test_stages_of_blocks_are_those_of_the_launch() -> None:
    """The images' loop is around launches, and a box has the elements of one image."""
    d, x, y, n = (hl.Var(name) for name in "dxyn")
    image, r = hl.ImageParam(hl.Int(32), 4, "image"), hl.RDom([(0, 3)], "r")
    near, out = hl.Func("near"), hl.Func("out")
    near[d, x, y, n] = image[d, x, y, n] + image[d, x + 1, y, n]
    out[d, x, y, n] = 0
    out[d, x, y, n] += near[r.x, x, y, n] * d
    program = pipelines.program_of([out], [2, 4, 3, 3])
    plan = plan_of(program, (1, 2, 2), (1, 1, 2), Stages((("near", "block"),), launches=True))
    assert "near_here[1][1][2][3];" in text_of(program, plan)
    assert not differences(program, run_plan(program, plan, np.random.default_rng(1)), run_original(program))
