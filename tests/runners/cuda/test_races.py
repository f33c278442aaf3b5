"""CUDA text run with its threads in any order: no races, no barrier that some threads miss; and both are found."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.values.options import LevelName
from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from metrics.outcome import LaunchFailed, Timed
from runners.base import DeviceInfo
from tests.support.cuda_double import UNUSABLE, found_in, measured
from tests.support.edits import edited, replaced
from tests.support.shuffles import by_shuffles
from tests.support.slow import counted, few
from tests.support.space_plans import random_plans
from tests.support.stages import offered_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, problem, small_problem
from tests.support.teams import TIMES, time_problem

pytestmark = pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
QUICK = ("gemm",)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with what reaches the double, and what it finds."""
    monkeypatch.setenv("CUDA_DOUBLE_LOG", str(tmp_path / "calls"))
    return tmp_path / "calls"


@pytest.mark.parametrize(("name", "count"), counted(ALL_NAMES, QUICK, 1, 5))
def test_random_plans_have_no_races(name: str, count: int, watched_gpu: DeviceInfo, said: Path, tmp_path: Path,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    found = problem(name, ODD_SIZES[name])
    monkeypatch.setenv("CUDA_DOUBLE_SEED", "7")
    plans = [default_plan(found.program, watched_gpu.target)]
    for level in get_args(LevelName):
        plans += random_plans(found.program, watched_gpu.target, level, count, 5)
    check(found, watched_gpu, plans, said, tmp_path)


def check(found: Problem, watched_gpu: DeviceInfo, plans: list[Plan], said: Path, folder: Path) -> None:
    """All plans are right, and nothing is found wrong."""
    results = measured(found, watched_gpu, plans, folder / "work")
    wrong = {n: outcome for n, outcome in results.items() if not isinstance(outcome, Timed)}
    assert not wrong and not found_in(said), (wrong, found_in(said))


@pytest.mark.parametrize("name", few([program.name for program in PIPELINES], ("blur",)))
def test_stages_in_blocks_have_no_races(name: str, watched_gpu: DeviceInfo, said: Path, tmp_path: Path) -> None:
    found, target = small_problem(pipeline(name))[0], watched_gpu.target
    plans = []
    for plan in offered_plans(found.program, target, 3, 5):
        with suppress(IllegalPlan):
            lower(found.program, plan, target)
            plans.append(plan)
    assert plans, "all were refused"
    check(found, watched_gpu, plans, said, tmp_path)


@pytest.mark.parametrize("name", few(TIMES, ("jacobi-2d",)))
def test_tiles_of_warps_have_no_races(name: str, watched_gpu: DeviceInfo, said: Path, tmp_path: Path) -> None:
    found, plan = time_problem(name, "sub-group", *TIMES[name])
    check(found, watched_gpu, [plan], said, tmp_path)
    change = partial(edited, partial(replaced, "__syncwarp();", "", 0))
    assert isinstance(measured(found, watched_gpu, [plan], tmp_path / "wrong", change)[0], LaunchFailed)
    assert "race in shared memory" in "".join(found_in(said))


def in_shared_memory(target: Target) -> tuple[Problem, Plan]:
    found = problem("gemm", ODD_SIZES["gemm"])
    plan = default_plan(found.program, target)
    kernels = tuple(replace(k, tile=(8, 16), block=(4, 8), shared=True, inner_tile=4, cache="shared")
                    for k in plan.kernels)
    return found, replace(plan, kernels=kernels)


@pytest.mark.parametrize(("old", "new", "number", "expected"), few([
    ("__syncthreads();", "", 0, "race in shared memory"),
    ("__syncthreads();", "", 1, "race in shared memory"),
    ("__syncthreads();", "if (k_tile < 13 || t0 < 2) __syncthreads();", 1, "diverges at a barrier"),
    ("16 * b1 + t1 + 8 * j_point] +=", "t1 + 8 * j_point] +=", 0, "race in global memory"),
    ("__syncthreads();", "if (t0 < 2) return; __syncthreads();", 1, "diverges at a barrier"),
    ("8 * b0 + t0 + 4", "8 * b0 + t0 + 3", 1, "race in global memory"),
], 3))
def test_faults_are_found(old: str, new: str, number: int, expected: str, watched_gpu: DeviceInfo, said: Path,
                          tmp_path: Path) -> None:
    found, plan = in_shared_memory(watched_gpu.target)
    change = partial(edited, partial(replaced, old, new, number))
    results = measured(found, watched_gpu, [plan], tmp_path / "work", change)
    assert isinstance(results[0], LaunchFailed), results
    assert expected in "".join(found_in(said))


def test_lanes_that_miss_a_shuffle_are_found(watched_gpu: DeviceInfo, said: Path, tmp_path: Path) -> None:
    found = problem("mvt", ODD_SIZES["mvt"])
    plan = by_shuffles(found, ScheduleChoice(reductions=reducible(found.program)))
    assert isinstance(measured(found, watched_gpu, [plan], tmp_path / "right")[0], Timed) and not found_in(said)
    change = partial(edited, partial(replaced, "__shfl_xor_sync(0xffffffffu", "__shfl_xor_sync(0xffffu", 0))
    assert isinstance(measured(found, watched_gpu, [plan], tmp_path / "wrong", change)[0], LaunchFailed)
    assert "without some lanes" in "".join(found_in(said))
