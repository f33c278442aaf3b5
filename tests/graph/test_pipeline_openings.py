"""Where a search begins to compute the stages of image pipelines, and the kernels that it begins with on CPUs."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from antune import halide as hl
from experiments.search.spaces import make_reachable_space
from experiments.search.starts import starts
from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.frontend_py import problem as pipelines
from generator.frontend_py.problem import program_of as pipeline_of
from generator.lowering import lower
from generator.lowering.heuristics.starts import start_plans
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.program import Program
from generator.target import Target
from graph.reaching import walk_to
from graph.stage_costs import GPU as GPU_WEIGHTS
from graph.stage_costs import cheaply_inlined, costs_of, exchanged
from graph.stage_openings import all_inlined, openings
from tests.support.slow import few
from tests.support.space_plans import FORESEEN
from tests.support.suite import TARGET, pipeline_program, small_problem
from tests.support.targets import HOPPER

OPTIONS = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")
CPU = replace(TARGET, shares_host_cores=True, local_bytes=256 * 1024)


def program_of(name: str) -> Program:
    return small_problem(pipeline(name))[0].program


def test_stencils_are_computed_in_blocks_and_products_where_they_are_read() -> None:
    _, _, stencils, *_, root = openings(stage_facts(program_of("harris")), CPU, computed_arrays(program_of("harris")))
    assert not root.computed
    assert [array for array, place in stencils.computed if place == "block"] == ["gray", "ix", "iy"]


def test_a_blurred_grid_where_data_choose_is_not_computed_for_each_element() -> None:
    """`interpolated` is read once, the blurred grid eight times per element, at a level that data choose."""
    program = program_of("bilateral_grid")
    facts, arrays = stage_facts(program), computed_arrays(program)
    for target in (CPU, TARGET):
        first = dict(openings(facts, target, arrays)[0].computed)
        assert first.get("interpolated") == "inline" and "blur_y" not in first


def test_tables_are_computed_once_and_looked_up_once_per_element() -> None:
    """`curve` has 1024 elements; at medium size, data choose among them a million times. A stencil reads `curved`."""
    program = pipeline_program("camera_pipe", "medium")
    facts, arrays = stage_facts(program), computed_arrays(program)
    on_cpu, on_gpu = ([dict(one.computed) for one in openings(facts, target, arrays)] for target in (CPU, TARGET))
    assert [one.get("curve", "root") for one in on_cpu] == ["root"] * 4
    assert [one.get("curve", "root") for one in on_gpu] == ["root", "inline", "inline", "inline", "root"]
    assert (on_cpu[2]["curved"], on_gpu[2]["curved"]) == ("block", "inline")
    assert "curved" not in on_gpu[1], "exchanged: values of the table are computed once per element, without a launch"


@pytest.mark.parametrize(("calls", "target", "size"), [
    (2, CPU, (64, 64)), (20, CPU, (64, 64)), (2, HOPPER, (2048, 2048)), (20, HOPPER, (2048, 2048))])
def test_what_all_rows_read_is_computed_once_if_an_element_takes_long(
        calls: int, target: Target, size: tuple[int, int]) -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image, row, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("row"), hl.Func("out")
    value = hl.f32(x)
    for _ in range(calls):
        value = hl.exp(hl.sin(value)) + 1.0
    row[x] = value
    out[x, y] = image[x, y] * row[x]
    program = pipeline_of([out], size, "test")
    found = openings(stage_facts(program), target, computed_arrays(program))
    places = {dict(one.computed).get("row", "root") for one in found}
    assert places == ({"root"} if calls > 2 else {"inline", "root"}), "the last one has a kernel per stage"


def test_cpus_begin_with_what_costs_less_than_to_store_it() -> None:
    """Medium size, Intel's runtime, 2 cores of an Intel Xeon, best of the kernels of a placement: histogram_equalize
    takes 1.10 ms so, at least 1.44 ms with others (2026-11-29).
    """
    program = pipeline_program("histogram_equalize", "medium")
    first = openings(stage_facts(program), CPU, computed_arrays(program))[0]
    assert first.computed == (("cb", "inline"), ("cr", "inline"), ("equal", "inline"))


@pytest.mark.parametrize(("name", "begins"), [("blur", True), ("harris", False), ("camera_pipe", False)])
def test_all_stages_are_inlined_only_where_that_costs_little(name: str, begins: bool) -> None:
    """Each element of a chain of stencils would compute all of the stencils before."""
    program = pipeline_program(name, "medium")
    facts, arrays = stage_facts(program), computed_arrays(program)
    assert (all_inlined(facts, CPU, arrays) in openings(facts, CPU, arrays)) == begins


def test_gpus_store_the_levels_of_a_pyramid_and_inline_what_is_pointwise() -> None:
    """Each level is read nine times per element of the next one, and so costs more to compute again than to load."""
    program = pipeline_program("interpolate")
    first = openings(stage_facts(program), HOPPER, computed_arrays(program))[0]
    inlined = dict(first.computed)
    assert set(inlined.values()) == {"inline"}
    assert {"repeat_edge", "down_0", "up_0", "up_0_x", "filled_0"} <= inlined.keys()
    for level in range(1, 9):
        assert not {f"down_{level}", f"down_{level}_x"} <= inlined.keys()


def test_gpus_also_start_with_stages_of_a_pyramid_exchanged() -> None:
    """Collapsed levels are stored instead of their two addends: 188 us instead of 218 us (pyramid_blend, H200)."""
    program = pipeline_program("pyramid_blend")
    first, second = ({array for array, _ in one.computed}
                     for one in openings(stage_facts(program), HOPPER, computed_arrays(program))[:2])
    assert first - second >= {"collapsed_1", "collapsed_2"}
    assert second - first >= {"mixed_1", "up_1", "mixed_2", "up_2"}


def test_gpus_exchange_nothing_where_that_is_no_gain() -> None:
    facts, arrays = stage_facts(program_of("harris")), computed_arrays(program_of("harris"))
    sizes = {one.array: one.extents for one in arrays}
    inlined = cheaply_inlined(facts, sizes, GPU_WEIGHTS)
    assert exchanged(facts, sizes, GPU_WEIGHTS, inlined) == inlined


def test_gpus_compute_a_few_stencils_of_a_chain_in_a_block() -> None:
    """All 31 would overlap by 62 elements on each side of a tile, which no shared memory holds."""
    program = pipeline_program("stencil_chain")
    stencils = openings(stage_facts(program), HOPPER, computed_arrays(program))[1]
    stages = [dict(stencils.computed).get(f"stage_{number}", "root") for number in range(1, 32)]
    assert stages == ["block", *["root", "block", "block"] * 10]


def test_gpus_sum_up_a_histogram_before_the_scan_that_reads_it() -> None:
    """In the scan, which is one thread, it would be summed up for each element."""
    program = pipeline_program("histogram_equalize")
    for one in openings(stage_facts(program), HOPPER, computed_arrays(program)):
        assert "histogram" not in dict(one.computed)


def test_gpus_update_histograms_in_parallel_in_copies_per_block() -> None:
    program = pipeline_program("histogram_equalize")
    space = make_reachable_space(program, HOPPER, OPTIONS)
    first, *others = (walk.plan for walk in starts(program, HOPPER, OPTIONS, space, ()))
    assert first.scheduled.reductions == ("S2", "S4")
    (histogram,), (summed,) = ([k for k in first.kernels if name in k.statements] for name in ("S2", "S4"))
    assert histogram.combine == "private" and prod(histogram.tile) > prod(histogram.block)
    assert summed.registers and summed.order == (1, 0), "neighbouring threads sum up neighbouring elements"
    (image,) = (kernel for kernel in first.kernels if "S10" in kernel.statements)
    assert image.run == image.vector == image.tile[-1] // image.block[-1] == 4, "four bytes per thread"
    assert "*(uchar4 *)" in lower(program, first, HOPPER).source
    assert any(not plan.scheduled.reductions for plan in others)


def test_a_clamped_image_is_no_box() -> None:
    places = dict(openings(stage_facts(program_of("unsharp")), CPU, computed_arrays(program_of("unsharp")))[2].computed)
    assert places["repeat_edge"] == "inline"
    assert (places["gray"], places["blur_y"]) == ("block", "block")


def test_bands_hold_all_colours_and_whole_rows_as_far_as_there_is_room() -> None:
    program = program_of("unsharp")
    schedule = openings(stage_facts(program), CPU, computed_arrays(program))[2]
    steps, band = (found.kernels[-1] for found in start_plans(program, CPU, schedule)[:2])
    assert (steps.tile, steps.walk) == ((4, 2, 64), 1), "four parts for each core"
    assert (band.tile, band.block) == ((4, 32, 64), (1, 1, 1)), "3 colours, 20 rows of 36 elements"
    small = replace(CPU, local_bytes=4096)
    narrow = start_plans(program, small, schedule)[1].kernels[-1]
    assert prod(narrow.tile) < prod(band.tile)
    assert all(lower(program, found, small).kernels for found in start_plans(program, small, schedule)[:2])


def test_steps_hold_all_colours_of_whole_rows_of_a_large_image() -> None:
    """One colour per block computes the grey values three times."""

    def sharper() -> hl.Func:
        x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
        image, gray, out = hl.ImageParam(hl.Float(32), 3, "image"), hl.Func("gray"), hl.Func("out")
        gray[x, y] = image[x, y, 0] + image[x, y, 1] + image[x, y, 2]
        out[x, y, c] = image[x, y, c] * (gray[x, y] + gray[x, y + 1])
        out.bound(c, 0, 3)
        return out

    program = pipelines.program_of([sharper()], [1536, 2560, 3])
    schedule = openings(stage_facts(program), CPU, computed_arrays(program))[1]
    plan = next(plan for plan in start_plans(program, CPU, schedule) if plan.kernels[-1].walk)
    assert plan.kernels[-1].tile == (4, 32, 2048)
    assert walk_to(make_reachable_space(program, CPU, OPTIONS), plan).plan == plan


def test_gpus_also_start_with_tiles_of_warps_half_in_registers() -> None:
    program = program_of("harris")
    schedule = openings(stage_facts(program), HOPPER, computed_arrays(program))[2]
    plan = start_plans(program, HOPPER, schedule)[-1]
    tenths = [kernel.in_registers for kernel in plan.kernels if kernel.level == "sub-group"]
    assert tenths == [3], "1 of 2 points"
    assert lower(program, plan, HOPPER).kernels
    found = walk_to(make_reachable_space(program, HOPPER, OPTIONS), plan)
    assert found.plan == plan
    without = start_plans(program, replace(HOPPER, sub_group=0), schedule)
    assert not any(kernel.in_registers for one in without for kernel in one.kernels)


@pytest.mark.parametrize("name", few([p.name for p in PIPELINES if p.name not in ("nl_means", "local_laplacian")], 1))
def test_every_start_can_be_generated(name: str) -> None:
    program = program_of(name)
    for schedule in dict.fromkeys(openings(stage_facts(program), CPU, computed_arrays(program))):
        try:
            plans = start_plans(program, CPU, schedule)
            for plan in plans:
                assert lower(program, plan, CPU).kernels
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in ("cannot wait", *FORESEEN)), illegal


def test_costs_do_not_depend_on_those_asked_for_before() -> None:
    """What is needed of a stage is kept by the stages behind it that are inlined."""
    facts = stage_facts(program_of("local_laplacian"))
    extents = {one.array: one.extents for one in computed_arrays(program_of("local_laplacian"))}
    names, rng, kept = [one.array for one in facts], np.random.default_rng(0), costs_of(facts, extents, GPU_WEIGHTS)
    found = []
    for share in (0.1, 0.3, 0.5):
        for _ in range(12):
            inlined = frozenset(name for name in names if rng.random() < share)
            found.append(kept.of(inlined))
            assert found[-1] == costs_of(facts, extents, GPU_WEIGHTS).of(inlined)
    assert len(set(found)) > 2
