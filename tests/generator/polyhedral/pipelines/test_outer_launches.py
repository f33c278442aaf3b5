"""Four parallel loops: the outermost one may run around launches, so that threads run along rows; on CPUs for sums."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.reading import read_program
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from graph.deep import MOST_LAUNCHES
from graph.reaching import NotOnOffer, walk_to
from graph.stage_openings import openings
from runners.host_program import launches
from tests.support.devices import check_plans, device_named
from tests.support.programs import program_of, scop
from tests.support.suite import pipeline_program, small_problem
from tests.support.targets import CPU, HOPPER

OPTIONS = RunOptions("", Compilation(), Budget(1), space="pipeline")


def test_gpus_start_with_threads_along_channels() -> None:
    program = pipeline_program("conv_layer")
    found = openings(stage_facts(program), HOPPER, computed_arrays(program))
    assert all(schedule.launches for schedule in found)
    product, relu = kernel_shapes(program, Stages(launches=True), LANGUAGES["cuda"])
    assert product.extents == relu.extents == (80, 100, 128) and product.kept == ((0, 1, 2),)
    _, plan, *_ = start_plans(program, HOPPER, Stages(launches=True))
    assert plan.kernels[0].registers and plan.kernels[0].vector == 4
    assert "float4" in lower(program, plan, HOPPER).source
    assert plan_from_json(plan.to_json()) == plan and "launches" not in Plan(Stages(), ()).to_json()
    assert walk_to(make_reachable_space(program, HOPPER, OPTIONS), plan).plan == plan


@pytest.mark.parametrize(("name", "summed"), [("conv_layer", True), ("bilateral_grid", False), ("nl_means", False)])
def test_cpus_start_with_sums_of_many_terms_in_registers(name: str, summed: bool) -> None:
    one = pipeline(name)
    program = read_program(one.file, Compilation(), dict(one.parameters_at("medium")))
    found = openings(stage_facts(program), CPU, computed_arrays(program))
    assert {schedule.launches for schedule in found} == {summed}
    if summed:
        kept = [(kernel.registers, kernel.block) for schedule in found
                for plan in start_plans(program, CPU, schedule) for kernel in plan.kernels if "S1" in kernel.statements]
        assert (True, (1, 1, 32)) in kept, "32 channels side by side, each with several points in registers"
        plan = start_plans(program, CPU, found[0])[0]
        assert walk_to(make_reachable_space(program, CPU, OPTIONS), plan).plan == plan


def test_it_computes_the_same_in_a_launch_of_all_images() -> None:
    found, _ = small_problem(pipeline("conv_layer"))
    kernel = KernelPlan(("S0", "S1"), (1, 4, 8), (1, 2, 4), registers=True, points_inside=True, run=2, unroll=2)
    plan = Plan(Stages(launches=True), (kernel, replace(kernel, statements=("S2",), registers=False,
                                                        points_inside=False)))
    device = device_named("pocl")
    assert len(list(launches(lower(found.program, plan, device.target)))) == 2, "two kernels, two images in each"
    check_plans(device, found, [plan])


@pytest.mark.parametrize(("images", "side", "first", "offered"), [
    (1, 128, True, True), (MOST_LAUNCHES, 128, True, True), (4, 8, False, True),
    (MOST_LAUNCHES + 1, 128, False, False)])
def test_small_images_and_thousands_of_images_are_not_launched_one_by_one(
    images: int, side: int, first: bool, offered: bool
) -> None:
    """A search does not begin with such launches (`first`); MOST_LAUNCHES bounds those that are `offered`."""
    loops = f"for (int n = 0; n < {images}; n++) for (int c = 0; c < 4; c++) for (int i = 0; i < {side}; i++) " \
            f"for (int j = 0; j < {side}; j++) "
    shape = f"[{images}][4][{side}][{side}]"
    program = program_of(scop(f"{loops}t[n][c][i][j] = 2 * a[n][c][i][j];\n{loops}o[n][c][i][j] = t[n][c][i][j] + 1;",
                              f"float a{shape}, t{shape}, o{shape};"))
    found = openings(stage_facts(program), HOPPER, computed_arrays(program))
    assert {schedule.launches for schedule in found} == {first}
    space = make_reachable_space(program, HOPPER, OPTIONS)
    (plan, *_) = start_plans(program, HOPPER, Stages(launches=True))
    if offered:
        assert walk_to(space, plan).plan == plan
    else:
        with pytest.raises(NotOnOffer):
            walk_to(space, plan)
