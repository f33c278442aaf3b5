"""Start plans for pipelines on GPUs: kernels that an H200 ran faster than others, and the facts that lead to them."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of, sizes_of
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.filling import filling
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.program import Program, Where
from generator.schedules.stages import Stages
from tests.support.slow import few, in_turn
from tests.support.suite import pipeline_program, small_problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

H200 = replace(HOPPER, compute_units=132)
CONV = Stages(launches=True)
EDGE: tuple[str, Where] = ("repeat_edge", "inline")
UNSHARP = Stages((("blur_x", "inline"), ("blur_y", "block"), ("ratio", "inline"), EDGE, ("sharpen", "inline")))
PLACES = {"conv_layer": CONV, "stencil_chain": Stages((EDGE,)), "unsharp": UNSHARP}


def plans_of(program: Program, schedule: Stages) -> list[Plan]:
    """The start plans of a schedule, as far as a search offers them."""
    shapes = kernel_shapes(program, schedule, H200.language)
    return [replace(plan, kernels=tuple(nearest(plan.kernel(shape.statements), Known(shape, H200, True))
                                        for shape in shapes))
            for plan in start_plans(program, H200, schedule)]


def kernels_of(name: str, statement: str) -> list[KernelPlan]:
    """The kernels with a statement in the start plans of a pipeline of full size; a chain has two stages."""
    given = pipeline(name)
    parameters = dict(given.parameters_at("full")) | ({"stages": 2} if name == "stencil_chain" else {})
    plans = plans_of(program_of(load_pipeline(given.file, parameters), sizes_of(parameters), name), PLACES[name])
    return [kernel for plan in plans for kernel in plan.kernels if statement in kernel.statements]


def test_threads_with_rows_of_a_stencil_have_one_column() -> None:
    """12.2 us per stage instead of 15.5 us (H200); with one row per thread, two columns are better: 15.1, not 27.7."""
    points, below, *_ = kernels_of("stencil_chain", "S2")
    assert (points.tile, points.block, points.run) == ((8, 64), (8, 32), 2)
    assert below == KernelPlan(("S2",), (8, 64), (1, 64), unroll=8)


def test_other_threads_with_rows_store_whole_words() -> None:
    """camera_pipe reads three rows at most: its start plan with two columns took 106 us, the best of all."""
    below = plans_of(pipeline_program("camera_pipe"), Stages())[1]
    assert {(kernel.tile[-1], kernel.run) for kernel in below.kernels} >= {(128, 2), (256, 4)}


def test_tiles_of_a_convolution_have_rows_of_two_neighbours() -> None:
    """13 tiles of 8 columns cover an image's 100, 7 of 16 compute 112: 435 us instead of 532 us (H200)."""
    found = [kernel for kernel in kernels_of("conv_layer", "S1") if kernel.asynchronous]
    assert found == [KernelPlan(
        ("S0", "S1"), (2, 8, 128), (1, 2, 32), shared=True, inner_tile=16, unroll=4, points_inside=True, registers=True,
        run=4, vector=4, ahead=True, asynchronous=True, depth=2)]


@pytest.mark.parametrize("extents", [(150, 140, 160), (64, 64, 64), (8, 4096, 4096)])
def test_tiles_are_flat_where_others_are_not_clearly_better(extents: tuple[int, ...]) -> None:
    """A gain of 1 % (150 x 140 x 160) is less than the error of the model."""
    assert all(tile[0] == block[0] == 1 for tile, block in filling(extents, H200))


def test_a_thread_has_all_colours_if_its_block_computes_what_they_share() -> None:
    points, below, *_ = kernels_of("unsharp", "S6")
    assert (points.tile, points.block) == ((4, 8, 32), (1, 8, 32))
    assert (below.tile, below.block, below.unroll) == ((4, 8, 64), (1, 1, 64), 8)


def test_a_thread_has_one_colour_if_its_block_computes_a_stage_for_each() -> None:
    schedule = replace(UNSHARP, computed=(("gray", "inline"), ("repeat_edge", "block")))
    kernels = plans_of(pipeline_program("unsharp"), schedule)[0].kernels
    assert [kernel.tile[0] for kernel in kernels if len(kernel.tile) == 3] == [1]


@in_turn
@pytest.mark.parametrize("name", few(sorted(PLACES), ("unsharp",)))
def test_such_plans_are_right_in_cuda(name: str, watched_gpu: WatchedGpu) -> None:
    """In small sizes, no multiple of the tiles."""
    found = small_problem(pipeline(name))[0]
    plans = plans_of(found.program, PLACES[name])[1:3]
    assert any(prod(kernel.tile) > prod(kernel.block) for plan in plans for kernel in plan.kernels)
    watched_gpu.check(found, plans)
