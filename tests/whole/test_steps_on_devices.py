"""Blocks that walk down their tiles: right on real devices, as CUDA text, without races."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from experiments.suites.image_pipelines import Pipeline, pipeline
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.stage_openings import openings
from runners.cuda.compiler import Nvrtc
from runners.races import check_races
from tests.support.bench import LIMITS
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans
from tests.support.edits import edited, without_barrier
from tests.support.runners import needed_device
from tests.support.slow import few
from tests.support.suite import TARGET, small_problem
from tests.support.targets import HOPPER

pytestmark = pytest.mark.usefixtures("optimized")

PROGRAMS = ("harris", "unsharp")


def walking(program: Program, target: Target, block: tuple[int, int], walk: int) -> Plan:
    """Stencils in blocks of so many threads that walk."""
    schedule = openings(stage_facts(program), target, computed_arrays(program))[2]
    plan = default_plan(program, target, choice=schedule)
    walkable = {shape.statements for shape in kernel_shapes(program, schedule, target.language) if shape.walkable}
    assert walkable
    kernels = tuple(replace(kernel, tile=(*(1,) * (len(kernel.tile) - 2), 4 * walk, 4 * block[1]), order=(), walk=walk,
                            block=(*(1,) * (len(kernel.tile) - 2), *block), shared=False, inner_tile=1)
                    if kernel.statements in walkable else kernel for kernel in plan.kernels)
    return replace(plan, kernels=kernels)


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize("name", few(PROGRAMS, 1))
def test_kernels_that_walk_are_right(name: str, platform: str) -> None:
    """Also with the two rows of a step together."""
    problem, device = small_problem(pipeline(name))[0], needed_device(platform)
    program, target = problem.program, device.target
    start = start_plans(program, target, openings(stage_facts(program), target, computed_arrays(program))[2])[0]
    assert any(kernel.walk for kernel in start.kernels)
    two = walking(program, target, (1, 16), 2)
    together = replace(two, kernels=tuple(replace(kernel, jam=kernel.walk > 0) for kernel in two.kernels))
    plans = [walking(program, target, (1, 16), 1), walking(program, target, (2, 8), 2), together]
    check_plans(device, problem, [start, *plans])


@pytest.mark.parametrize("name", PROGRAMS)
def test_cuda_text_of_kernels_that_walk_becomes_device_code(name: str) -> None:
    program = small_problem(pipeline(name))[0].program
    source = lower(program, walking(program, HOPPER, (1, 32), 1), HOPPER).source
    assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)


@pytest.mark.parametrize("barrier", few([0, 1], 1, ["before a step's points", "after them"]))
def test_steps_do_not_race(barrier: int) -> None:
    """Without either of its barriers, a step reads rows that are not there yet or are gone."""
    needed_device("Oclgrind")
    found = small_problem(Pipeline("blur", "", "19x9"))[0]
    schedule = Stages((("blur_x", "block"),))
    (kernel,) = kernels_of(found.program, schedule)
    plan = Plan(schedule, (KernelPlan(kernel.statements, (6, 8), (2, 4), walk=2),))
    assert check_races(found, plan, TARGET, LIMITS).clean
    report = check_races(found, plan, TARGET, LIMITS, partial(edited, partial(without_barrier, barrier)))
    assert {(finding.kind, finding.kernel) for finding in report.findings} == {("data race", "kernel0")}
