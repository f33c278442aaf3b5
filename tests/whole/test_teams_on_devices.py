"""Tiles of sub-groups and of threads on Intel's runtime, with results compared; their CUDA text becomes device code."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.suites.image_pipelines import Pipeline
from generator.lowering import lower
from generator.nest import Level
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.problem import Problem
from generator.schedules.stages import Stages
from metrics.outcome import Outcome, Timed
from runners.base import Limits
from runners.cuda.compiler import Nvrtc
from tests.support.bench import outcomes_of
from tests.support.cuda_compiler import translator
from tests.support.devices import device_named, has_intel
from tests.support.slow import few
from tests.support.suite import small_problem
from tests.support.targets import HOPPER
from tests.support.teams import LEVELS, TIMES, chain, chain_plan, time_problem

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)


@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", few(TIMES, ("jacobi-2d",)))
def test_time_steps_on_intel(level: Level, name: str, tmp_path: Path) -> None:
    assert isinstance(on_intel(*time_problem(name, level, *TIMES[name]), tmp_path), Timed)


def on_intel(found: Problem, plan: Plan, folder: Path) -> Outcome:
    [outcome] = outcomes_of(device_named("intel"), found, [plan])
    return outcome


@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("level", LEVELS)
def test_stages_on_intel(level: Level, tmp_path: Path) -> None:
    """Sub-groups of 32 really wait for themselves alone."""
    unsharp = small_problem(Pipeline("unsharp", "", "70x37"))[0]
    arrays = ("gray", "blur_y", "blur_x", "sharpen")
    schedule = Stages(
        tuple(sorted((array, "block") for array in arrays if array in {a.name for a in unsharp.program.arrays}))
    )
    kernels = tuple(
        sorted(
            (
                KernelPlan(
                    k.statements,
                    (*(1,) * (len(k.part.parallel) - 2), 8, 64),
                    (*(1,) * (len(k.part.parallel) - 2), 4, 32),
                    level=level,
                )
                for k in kernels_of(unsharp.program, schedule)
            ),
            key=lambda k: k.statements,
        )
    )
    assert isinstance(on_intel(unsharp, Plan(schedule, kernels), tmp_path), Timed)


@pytest.mark.parametrize("level", few(LEVELS, ("sub-group",)))
def test_cuda_text_becomes_device_code(level: Level) -> None:
    """A GPU's thread has registers for the boxes of one point and time step, in three dimensions not for these."""
    nvrtc, alone = translator(Nvrtc), level == "thread"
    for found, plan in ((chain(), chain_plan(level)), *((p.program, plan) for p, plan in (
            time_problem(name, level, block if alone else tile, block, 1 if alone else 3)
            for name, (tile, block) in TIMES.items() if not (alone and len(tile) == 3)))):
        assert nvrtc.translate(lower(found, plan, HOPPER).source, (9, 0))[0]
