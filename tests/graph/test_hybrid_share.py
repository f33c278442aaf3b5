"""How often random plans for a GPU have parts of warps' tiles in registers, and whether these can be made."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from experiments.search.parts import PARTS
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from explorer.registry import make_explorer
from generator.decisions.fractions import in_registers
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import Plan
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles
from generator.target import LANGUAGES, Target
from graph.pipeline import make_pipeline_space
from graph.reaching import walk_to
from tests.support.hybrids import hybrid_problem
from tests.support.slow import counted, few, in_turn
from tests.support.suite import pipeline_program, polybench_program
from tests.support.targets import HOPPER


def with_teams(program: Program, count: int, target: Target) -> list[Plan]:
    """Those of so many random plans with tiles of warps or threads."""
    shapes = partial(kernel_shapes, program, language=LANGUAGES["cuda"])
    space = make_pipeline_space(shapes, stage_facts(program), target)
    plans = [walk.plan for walk in make_explorer("random", space, 1).ask(count)]
    return [plan for plan in plans if any(kernel.level != "block" for kernel in plan.kernels)]


def with_warps(program: Program, count: int) -> list[Plan]:
    """Those of so many random plans with tiles of warps."""
    plans = with_teams(program, count, HOPPER)
    return [plan for plan in plans if any(kernel.level == "sub-group" for kernel in plan.kernels)]


@in_turn
@pytest.mark.parametrize(("name", "draws"), counted(("unsharp", "harris", "camera_pipe", "pyramid_blend"), 1, 40, 120))
def test_a_search_meets_tiles_partly_in_registers(name: str, draws: int) -> None:
    """At least a tenth of the plans with tiles of warps, at sizes at which lanes have several points along x."""
    plans = with_warps(pipeline_program(name, "medium"), draws)
    hybrid = [plan for plan in plans if any(kernel.in_registers for kernel in plan.kernels)]
    assert len(plans) > draws // 10 and len(hybrid) > 0.1 * len(plans)
    assert len({kernel.in_registers for plan in hybrid for kernel in plan.kernels}) > 3


STENCILS = {
    "jacobi-1d": ("TSTEPS=20", "N=2000"),
    "jacobi-2d": ("TSTEPS=20", "N=300"),
    "heat-3d": ("TSTEPS=20", "N=60"),
    "fdtd-2d": ("TMAX=20", "NX=200", "NY=300"),
}


@in_turn
@pytest.mark.parametrize(("name", "draws"), counted(STENCILS, ("jacobi-1d",), 30, 60))
def test_a_search_meets_time_steps_partly_in_registers(name: str, draws: int) -> None:
    """All of these plans can be made, and walks lead back to them."""
    program = polybench_program(name, STENCILS[name])
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o1")
    space = make_reachable_space(program, HOPPER, options)
    walks = [walk for walk in make_explorer("random", space, 1).ask(draws) if isinstance(walk.plan.schedule, TimeTiles)]
    warps = [walk for walk in walks if walk.plan.kernels[0].level == "sub-group"]
    hybrid = [walk for walk in warps if walk.plan.kernels[0].in_registers]
    assert warps and len(hybrid) > 0.1 * len(warps)
    for walk in hybrid:
        assert lower(program, walk.plan, HOPPER).kernels and walk_to(space, walk.plan).plan == walk.plan


STARTED = {**STENCILS, "heat-3d": (*STENCILS["heat-3d"], "DATA_TYPE_IS_FLOAT")}
"""Doubles of three dimensions need more than 64 registers at once, even one step and one of two points of a lane."""


@pytest.mark.parametrize("name", few(STARTED, ("jacobi-1d",)))
def test_searches_start_with_time_steps_half_in_registers(name: str) -> None:
    program = polybench_program(name, STARTED[name])
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o1")
    plans = [walk.plan for walk in PARTS.starts(program, HOPPER, options)]
    hybrid = [plan for plan in plans if isinstance(plan.schedule, TimeTiles) and plan.kernels[0].in_registers]
    assert hybrid and len({plan.schedule for plan in hybrid}) == len(hybrid)
    for plan in hybrid:
        (kernel,) = plan.kernels
        points = kernel.tile[-1] // kernel.block[-1]
        assert kernel.level == "sub-group" and in_registers(points, kernel.in_registers) == -(-points // 2)
        assert lower(program, plan, HOPPER).kernels
    without = PARTS.starts(program, replace(HOPPER, sub_group=0), options)
    assert not any(kernel.in_registers for walk in without for kernel in walk.plan.kernels)


SMALL_ROOM = replace(HOPPER, local_bytes=48 * 1024)
"""What GPUs give a block that asks for no more."""
DRAWN = [("harris", SMALL_ROOM, draws) for draws in (15, 20)]
DRAWN += [(name, target, 300) for name in ("harris", "unsharp") for target in (SMALL_ROOM, HOPPER)]


@in_turn
@pytest.mark.parametrize(("name", "target", "draws"), few(DRAWN, 1))
def test_none_of_them_is_refused(name: str, target: Target, draws: int) -> None:
    """Of the plans with tiles of warps or threads, in registers and not, also where a block has little room."""
    for program in (pipeline_program(name, "medium"), hybrid_problem(name).program):
        plans, refused = with_teams(program, draws, target), list[str]()
        for plan in plans:
            try:
                lower(program, plan, target)
            except IllegalPlan as error:
                refused.append(f"{error}: {plan.to_json()}")
        kernels = [kernel for plan in plans for kernel in plan.kernels]
        assert len(plans) > draws // 3 and not refused, refused
        assert {kernel.level for kernel in kernels} == {"block", "sub-group", "thread"}
        assert any(kernel.in_registers for kernel in kernels)
