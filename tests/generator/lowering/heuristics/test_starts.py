"""The plans that a search starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

import pytest

from antune import halide as hl
from experiments.search.paddings import with_fewest_conflicts
from experiments.search.parts import PARTS
from experiments.values.options import Budget, LevelName, RunOptions
from explorer.registry import make_explorer
from generator.frontend_c.source import Compilation
from generator.frontend_py import problem as pipelines
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.even_rows import even_size
from generator.lowering.heuristics.few_rows import STEP_POINTS, few_rows
from generator.lowering.heuristics.starts import default_partition, start_plans, unrated_plan, vectors_plan
from generator.nest import For, walk
from generator.schedules.partition import Partition
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target
from graph.o1 import make_o1_space
from graph.reaching import walk_to
from tests.support.plans import lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.space_plans import first_walks
from tests.support.suite import NAMES, ODD_SIZES, TARGET, polybench_program
from tests.support.targets import CPU


def sums_of_neighbours() -> hl.Func:
    x, y, r, before, after = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 9)]), hl.Func("before"), hl.Func("after")
    before[x, y] = hl.f32(x * y)
    after[x, y] = 0.0
    after[x, y] += before[x, y + r] * 0.5
    return after


def differences() -> hl.Func:
    x, y, before, after = hl.Var("x"), hl.Var("y"), hl.Func("before"), hl.Func("after")
    before[x, y] = hl.f32(x * y)
    after[x, y] = before[x, y + 1] - before[x, y]
    return after


@pytest.mark.parametrize("name", few(NAMES, ("gemm", "mvt")))
@pytest.mark.parametrize("target", [TARGET, CPU], ids=["GPU", "CPU"])
def test_they_are_legal_and_in_the_space(name: str, target: Target) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    space = make_o1_space(partial(kernel_shapes, program), target)
    for plan in (*start_plans(program, target), default_plan(program, target)):
        assert lower(program, plan, target).kernels
        assert walk_to(space, plan).plan == plan


@pytest.mark.parametrize("units", few([1, 2, 4, 32], (1, 32)))
def test_cpus_start_with_about_one_part_of_whole_rows_per_core(units: int) -> None:
    program = polybench_program("jacobi-2d", ("N=1300", "TSTEPS=4"))
    _, slabs, *_ = start_plans(program, replace(CPU, compute_units=units))
    for kernel in slabs.kernels:
        assert kernel.block == (1, 1) and kernel.tile[1] == 2048
        assert kernel.tile[0] == 32 or kernel.tile[0] <= 1300 / units < 2 * kernel.tile[0], "2048 x 32 points at most"


@pytest.mark.parametrize(("stage", "summed"), [(sums_of_neighbours, True), (differences, False)])
def test_cpus_run_sums_of_neighbours_side_by_side_in_an_early_plan(stage: Callable[[], hl.Func], summed: bool) -> None:
    """Blocks that compute another stage: with sums, the second plan has a thread per point."""
    program = pipelines.program_of([stage()], [64, 48])
    _, second, *_ = start_plans(program, CPU, Stages((("before", "block"),)))
    assert any(prod(kernel.block) > 1 for kernel in second.kernels) == summed


def planes() -> hl.Func:
    x, y, z, c, inner = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c"), hl.Func("planes")
    inner[x, y, z, c] = hl.f32(x + y * z - c)
    return inner


def summed_planes() -> hl.Func:
    x, y, z, r, inner = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.RDom([(0, 9)]), hl.Func("summed")
    inner[x, y, z] = 0.0
    inner[x, y, z] += hl.f32(x + y * z) * hl.f32(r.x)
    return inner


def sums_in_rows() -> hl.Func:
    x, y, z, c, r, inner = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c"), hl.RDom([(0, 3)]), hl.Func("summed")
    inner[x, y, z, c] = 0.0
    inner[x, y, z, c] += hl.f32(x + y * z - c) * hl.f32(r.x)
    return inner


@pytest.mark.parametrize(("stage", "inside"), [(planes, ["x"]), (sums_in_rows, ["x", "r0"])])
def test_cpus_run_rows_of_a_fourth_dimension_inside_the_points_of_a_thread(stage: Callable[[], hl.Func],
                                                                            inside: list[str]) -> None:
    """Outside, a thread would write one element of each row, then the next one of each."""
    program = pipelines.program_of([stage()], [64, 12, 10, 8])
    (shape,) = kernel_shapes(program, Stages())
    assert shape.sequential and not shape.steps
    for plan in start_plans(program, CPU, Stages()):
        assert not any(kernel.points_inside for kernel in plan.kernels)
        (kernel,) = lowered_kernels(program, plan)
        loops = [node.iterator for node in walk(kernel.body) if isinstance(node, For)]
        assert loops[-len(inside):] == inside


def test_cpus_take_the_steps_of_sums_for_all_points_together() -> None:
    program = pipelines.program_of([summed_planes()], [64, 12, 10])
    slabs = start_plans(program, CPU, Stages())[1]
    assert all(kernel.points_inside for kernel in slabs.kernels)


def binned() -> hl.Func:
    x, y, z, r, counts = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.RDom([(0, 9)]), hl.Func("counts")
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    counts[x, y, z] = 0
    counts[x, y, hl.i32(image[x, y, r] % 8)] += 1
    return counts


def test_few_points_at_once_update_memory_on_cpus() -> None:
    """Each step of a histogram reads and writes what all points of a thread count; sums are kept in registers."""
    program = pipelines.program_of([binned()], [256, 300, 8])
    slabs = start_plans(program, CPU, Stages())[1]
    assert [kernel.tile for kernel in slabs.kernels if kernel.points_inside] == [(STEP_POINTS // 256, 256)]
    summed = pipelines.program_of([summed_planes()], [256, 300, 8])
    (kernel,) = start_plans(summed, CPU, Stages())[1].kernels
    assert kernel.points_inside and prod(kernel.tile) > STEP_POINTS


def test_whole_rows_are_updated_at_once() -> None:
    (shape,) = [one for one in kernel_shapes(pipelines.program_of([binned()], [256, 300, 8]), Stages()) if one.steps]
    assert few_rows([128, 4 * STEP_POINTS], shape) == [1, 4 * STEP_POINTS]
    assert few_rows([4, 256], shape) == [4, 256]


def counted(rows: bool) -> hl.Func:
    """How often numbers occur in each row or column of an image."""
    x, y, r, counts = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 300)]), hl.Func("counts")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    counts[x, y] = 0
    counts[hl.i32((image[r, y] if rows else image[y, r]) % 8), y] += 1
    return counts


@pytest.mark.parametrize("rows", [True, False])
def test_cpus_count_what_is_in_rows_row_after_row_and_what_is_in_columns_together(rows: bool) -> None:
    program = pipelines.program_of([counted(rows)], [8, 768])
    (shape,) = [one for one in kernel_shapes(program, Stages()) if one.sequential]
    assert shape.own_rows is rows and shape.steps is not rows
    for make in (vectors_plan, unrated_plan):
        kernel = make(program, replace(CPU, compute_units=2), Stages()).kernel(shape.statements)
        assert kernel.points_inside is not rows
        assert kernel.tile == ((128,) if rows else (256,)), "three blocks of 256 rows take two cores as long as four"


@pytest.mark.parametrize(("extents", "least"), [((100, 2), 32), ((3, 100), 32), ((5, 5), 32), ((2, 3), 8)])
def test_blocks_have_threads_enough_and_fit_the_device(extents: tuple[int, int], least: int) -> None:
    """Thin arrays, which have a warp's points at least or fewer; a device that allows few threads along y and x."""
    rows, columns = extents
    body = f"for (i = 0; i < {rows}; i++) for (j = 0; j < {columns}; j++) for (k = 0; k < 9; k++)"
    program = program_of(scop(f"{body} A[i][j] += B[i][k] * C[k][j];", "float A[100][100], B[100][9], C[9][100];"))
    small = replace(TARGET, max_threads=64, max_block=(16, 4, 1))
    for target in (TARGET, small):
        for plan in (*start_plans(program, target), default_plan(program, target)):
            for kernel in plan.kernels:
                assert kernel.block[-1] <= target.max_block[0] and kernel.block[0] <= target.max_block[1]
                assert prod(kernel.block) <= target.max_threads
                assert target is small or prod(kernel.block) >= least, plan


def test_the_colony_asks_them_first_and_random_search_does_not() -> None:
    program = polybench_program("gemm", ODD_SIZES["gemm"])
    space = make_o1_space(partial(kernel_shapes, program), CPU)
    plans = start_plans(program, CPU)
    starts = [walk_to(space, plan) for plan in plans]
    assert [walk.plan for walk in make_explorer("colony", space, 0, starts).ask(5)][:len(plans)] == list(plans)
    assert make_explorer("random", space, 0, starts).ask(5) == make_explorer("random", space, 0).ask(5)


@pytest.mark.parametrize("name", few(["gemm", "atax", "jacobi-2d"], 1))
def test_the_o2_level_starts_from_what_the_scheduler_brings_together(name: str) -> None:
    program = polybench_program(name)
    schedule = first_walks(program, "o2")[0].schedule
    assert isinstance(schedule, Partition)
    assert [group.statements for group in schedule.groups] == [
        group.statements for group in default_partition(program).groups
    ]


@pytest.mark.parametrize("name", few(["jacobi-2d", "fdtd-2d", "heat-3d"], 1))
def test_sweeps_start_apart_and_in_parallel(name: str) -> None:
    """Brought together they would be a launch per point: not even a random walk asks for that."""
    program = polybench_program(name)
    for plan in first_walks(program, "o2"):
        if isinstance(plan.schedule, Partition):
            assert all(len(kernel.statements) == 1 for kernel in plan.kernels)
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o2")
    for asked in make_explorer("random", PARTS.make_space(program, CPU, options), 0).ask(30):
        shapes = kernel_shapes(program, asked.plan.scheduled)
        assert all(min(shape.extents, default=0) > 2 for shape in shapes), asked.plan.schedule


@in_turn
@pytest.mark.parametrize(
    ("level", "target"), [("o2", CPU), ("o3", CPU), ("o2", TARGET)], ids=["o2 CPU", "o3 CPU", "o2 GPU"]
)
@pytest.mark.parametrize("name", few([*NAMES[::2], "fdtd-2d", "lu", *NAMES[1::2], "3mm", "heat-3d"], ("gemver",)))
def test_searches_for_schedules_begin_with_plans_for_the_kernels_of_their_first_ones(
        name: str, level: LevelName, target: Target) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    plans = first_walks(program, level, target)
    split = 0 if target is CPU else {"atax": 2, "bicg": 4, "gemver": 4, "gesummv": 1, "mvt": 4}.get(name, 0)
    assert [bool(plan.scheduled.reductions) for plan in plans[:split + 1]] == [True] * split + [False], (
        "GPUs first split products of matrices and vectors, those that share a matrix together")
    first = plans[split:]
    wanted = [with_fewest_conflicts(program, plan, target, True)
              for plan in start_plans(program, target, first[0].scheduled)]
    assert first[:len(wanted)] == wanted
    times = [plan for plan in plans if isinstance(plan.schedule, TimeTiles)]
    assert bool(times) == (name in ("jacobi-2d", "fdtd-2d", "heat-3d"))
    for plan in plans:
        assert lower(program, plan, target).kernels


@pytest.mark.parametrize(("extent", "size"), [(2560, 512), (1536, 2048), (4096, 2048), (3840, 2048), (2600, 256)])
def test_tiles_of_stages_share_a_row_evenly(extent: int, size: int) -> None:
    assert even_size(extent, 2048) == size
