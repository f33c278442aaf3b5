"""Plans with stages of several levels in one kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from generator.errors import IllegalPlan
from generator.nest import Level, Levels
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import SectionKernel, kernels_of
from generator.polyhedral.pipelines.whole import made_from
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.stages import any_plan

OUTER: dict[Level, tuple[Level, ...]] = {"thread": ("block", "sub-group"), "sub-group": ("block",), "block": ()}
"""The levels around each level, from the outside."""


def leveled(program: Program, schedule: Stages, kernel: KernelPlan, **more: object) -> Plan:
    """Return a plan in which all kernels that compute stages are like `kernel`, with `levels` among `more`."""
    plain = replace(kernel, level="block", levels=())
    return Plan(schedule, tuple(
        replace(kernel if computes(one) else plain, statements=one.statements, **(more if computes(one) else {}))  # type: ignore[arg-type]  # names of fields
        for one in kernels_of(program, schedule)))


def computes(one: SectionKernel) -> bool:
    """Return whether blocks of the kernel compute stages."""
    return bool(made_from(one.section.program, one.part.statements))


def random_levels(one: SectionKernel, level: Level, rng: np.random.Generator) -> Levels:
    """Return random levels around `level` for some stages, none inside of those of its readers."""
    known, found = made_from(one.section.program, one.part.statements), dict[str, Level]()
    for outer in reversed(OUTER[level]):
        for name in known:
            if rng.integers(2):
                found |= dict.fromkeys(known[name], outer)
    return tuple(sorted(found.items()))


def random_leveled(program: Program, rng: np.random.Generator, level: Level) -> Plan:
    """Return random stages in kernels of odd sizes whose tiles have this level. Raises IllegalPlan."""
    plan = any_plan(program, rng)
    kernels = []
    for one in kernels_of(program, plan.scheduled):
        kernel = plan.kernel(one.statements)
        if not computes(one) or not kernel.block:
            kernels.append(kernel)
            continue
        kernel = replace(kernel, level=level)
        inside = "sub-group" if level == "thread" and rng.integers(2) else level
        if inside == "sub-group":
            points = [t // b for t, b in zip(kernel.tile, kernel.block, strict=True)]
            block = (*(1,) * (len(points) - 1), 32 * int(rng.integers(1, 3)))
            tile = tuple(b * p for b, p in zip(block, points, strict=True))
            kernel = replace(kernel, block=block, tile=tile, walk=1 if kernel.walk else 0)
        levels = random_levels(one, level, rng)
        if inside != "sub-group" and level == "thread":
            levels = tuple((name, "block") for name, _ in levels)
        walk = 1 if kernel.walk else 0
        kernels.append(replace(kernel, levels=levels, walk=walk))
    if not any(kernel.levels for kernel in kernels):
        raise IllegalPlan("no stage has a level of its own")
    return replace(plan, kernels=tuple(kernels))
