"""A pipeline with stages in boxes, and stencils with several time steps per launch, with tiles of blocks, sub-groups or
threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from antune import halide as hl
from generator.frontend_py.problem import program_of as pipeline_program
from generator.nest import Level
from generator.plan import KernelPlan, Plan
from generator.polyhedral.time.time_steps import required_time_loop
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from tests.support.suite import ODD_SIZES, problem

LEVELS: tuple[Level, ...] = ("sub-group", "thread")
TIMES = {
    "jacobi-1d": ((128,), (64,)),
    "jacobi-2d": ((8, 64), (2, 32)),
    "heat-3d": ((2, 4, 32), (1, 2, 32)),
    "fdtd-2d": ((6, 32), (3, 32)),
}
"""Tiles and blocks of whole sub-groups."""


def chain() -> Program:
    """Return three stages that read their neighbours in both dimensions."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    one, two, out = hl.Func("one"), hl.Func("two"), hl.Func("out")
    one[x, y] = image[x, y] + image[x + 1, y + 1]
    two[x, y] = one[x, y] * 3 - one[x + 2, y]
    out[x, y] = two[x, y] + two[x, y + 1] + one[x + 1, y]
    return pipeline_program([out], [70, 9])


def chain_plan(level: Level, tile: tuple[int, int] = (8, 64), block: tuple[int, int] = (4, 32)) -> Plan:
    """Return a plan with both stages in boxes."""
    names = tuple(sorted(s.name for s in chain().statements))
    return Plan(Stages((("one", "block"), ("two", "block"))), (KernelPlan(names, tile, block, level=level),))


def time_problem(name: str, level: Level, tile: Sequence[int], block: Sequence[int],
                 steps: int = 3) -> tuple[Problem, Plan]:
    """Return a stencil, and a plan with `steps` of its time steps per launch."""
    found = problem(name, ODD_SIZES[name])
    assert len(required_time_loop(found.program).extents) == len(tile)
    names = tuple(sorted(s.name for s in found.program.statements))
    return found, Plan(TimeTiles(steps), (KernelPlan(names, tuple(tile), tuple(block), level=level),))
