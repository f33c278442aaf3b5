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
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from tests.support.edits import edited, replaced
from tests.support.programs import scop, write_c
from tests.support.reading import read_untimed
from tests.support.shuffles import by_shuffles
from tests.support.slow import counted, few, of_today
from tests.support.space_plans import random_plans
from tests.support.stages import offered_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, problem, small_problem
from tests.support.teams import TIMES, time_problem
from tests.support.watched_gpu import WatchedGpu

PIPELINE_NAMES = tuple(program.name for program in PIPELINES)


@pytest.mark.parametrize(("name", "count"), counted(ALL_NAMES, of_today(ALL_NAMES), 1, 5))
def test_random_plans_have_no_races(name: str, count: int, watched_gpu: WatchedGpu) -> None:
    found = problem(name, ODD_SIZES[name])
    plans = [default_plan(found.program, watched_gpu.target)]
    for level in get_args(LevelName):
        plans += random_plans(found.program, watched_gpu.target, level, count, 5)
    watched_gpu.check(found, plans)


@pytest.mark.parametrize("name", few(PIPELINE_NAMES, of_today(PIPELINE_NAMES)))
def test_stages_in_blocks_have_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    found, target = small_problem(pipeline(name))[0], watched_gpu.target
    plans = []
    for plan in offered_plans(found.program, target, 3, 5):
        with suppress(IllegalPlan):
            lower(found.program, plan, target)
            plans.append(plan)
    assert plans, "all were refused"
    watched_gpu.check(found, plans)


@pytest.mark.parametrize("name", few(TIMES, ("jacobi-2d",)))
def test_tiles_of_warps_have_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    found, plan = time_problem(name, "sub-group", *TIMES[name])
    watched_gpu.check(found, [plan])
    watched_gpu.check_fault(found, plan, "race in shared memory", "__syncwarp();")


def in_shared_memory(target: Target) -> tuple[Problem, Plan]:
    found = problem("gemm", ODD_SIZES["gemm"])
    plan = default_plan(found.program, target)
    kernels = tuple(replace(k, tile=(8, 16), block=(4, 8), shared=True, inner_tile=4, cache="shared")
                    for k in plan.kernels)
    return found, replace(plan, kernels=kernels)


@pytest.mark.parametrize(("old", "new", "number", "expected"), few([
    ("__syncthreads();", "", 0, "race in shared memory"),
    ("__syncthreads();", "if (k_tile < 13 || t0 < 2) __syncthreads();", 1, "diverges at a barrier"),
    ("__syncthreads();", "", 1, "race in shared memory"),
    ("16 * b1 + t1 + 8 * j_point] +=", "t1 + 8 * j_point] +=", 0, "race in global memory"),
    ("__syncthreads();", "if (t0 < 2) return; __syncthreads();", 1, "diverges at a barrier"),
    ("8 * b0 + t0 + 4", "8 * b0 + t0 + 3", 1, "race in global memory"),
], 2))
def test_faults_are_found(old: str, new: str, number: int, expected: str, watched_gpu: WatchedGpu) -> None:
    watched_gpu.check_fault(*in_shared_memory(watched_gpu.target), expected, old, new, number)


HISTOGRAM = scop("for (i = 0; i < 13; i++) for (j = 0; j < 21; j++) h[b[i][j] % 16] += 1;",
                 "int h[16]; unsigned char b[13][21];")
EARLY = ("__shared__ int turns; if (atomicAdd(&turns, 1) == 0) for (int e = 0; e < 16; ++e) if (h_block[e] < 0) "
         "return; antune_add_int(&")
"""The thread that runs first reads all of the copy, before any update."""


def histogram(folder: Path, tile: tuple[int, int], block: tuple[int, int]) -> tuple[Problem, Plan]:
    """Return `HISTOGRAM`, and a plan with a copy of the histogram per block."""
    found = read_untimed(write_c(HISTOGRAM, folder), Compilation(), None, None, {}, 1)
    kernel = KernelPlan(("S0",), tile, block, combine="private")
    return found, Plan(ScheduleChoice(reductions=("S0",)), (kernel,))


@pytest.mark.parametrize(("old", "new", "number", "words"), few([
    ("__syncthreads();", "", 1, "race in shared memory"),
    ("antune_add_int(&", EARLY, 0, "reads what thread"),
    ("h[e0], h_block[e0]", "h[e0], h[e0] < 0 ? 0 : h_block[e0]", 0, "race in global memory"),
], 2))
def test_plain_reads_beside_atomic_updates_are_found(old: str, new: str, number: int, words: str, tmp_path: Path,
                                                     watched_gpu: WatchedGpu) -> None:
    """Whichever comes first; the copy of a block is read after the last update, and its updates do not race."""
    found, plan = histogram(tmp_path, (4, 8), (2, 4))
    watched_gpu.check(found, [plan])
    watched_gpu.check_fault(found, plan, words, old, new, number)


@pytest.mark.parametrize(("access", "words"), [
    ("if (h_block[0] < 0) return", "reads what thread 0 of block 0 writes"),
    ("atomicAdd(&h_block[0], 0)", "updates what thread 0 of block 0 writes"),
])
def test_a_barrier_of_a_warp_orders_nothing_of_another(access: str, words: str, tmp_path: Path,
                                                       watched_gpu: WatchedGpu) -> None:
    """All threads of a warp access a word, and after a barrier of their warp, thread 0 writes it: no race. If those of
    the second warp access it in between, each for itself, that is one.
    """
    found, plan = histogram(tmp_path, (4, 32), (2, 32))
    first, second = (f"if (t0 == {row}) {{ {access}; }} __syncwarp();" for row in (0, 1))
    barrier = "__syncthreads();"
    end = f"if (t0 + t1 == 0) h_block[0] = 0; {barrier}"
    watched_gpu.check(found, [plan], partial(edited, partial(replaced, barrier, f"{barrier} {first} {end}", 0)))
    watched_gpu.check_fault(found, plan, words, barrier, f"{barrier} {first} {second} {end}")


@pytest.mark.parametrize(("write", "byte", "words"), [
    ("h_block[0] = 0;", 3, "race in shared memory"),
    ("((unsigned char *)h_block)[3] = 0;", 3, "race in shared memory"),
    ("((unsigned short *)h_block)[0] = 0;", 3, ""),
    ("((unsigned char *)h_block)[1] = 0;", 0, ""),
])
def test_accesses_of_other_widths_to_a_word_are_found(write: str, byte: int, words: str, tmp_path: Path,
                                                      watched_gpu: WatchedGpu) -> None:
    """Thread 0 writes a word, or a part of it, and others read one of its bytes: a race if they have that in common."""
    found, plan = histogram(tmp_path, (4, 8), (2, 4))
    barrier = "__syncthreads();"
    read = f"if (((unsigned char *)h_block)[{byte}] == 255) return;"
    text = f"{barrier} if (t0 + t1 == 0) {{ {write} }} else {{ {read} }} {barrier}"
    if words:
        watched_gpu.check_fault(found, plan, words, barrier, text)
    else:
        watched_gpu.check(found, [plan], partial(edited, partial(replaced, barrier, text, 0)))


def test_lanes_that_miss_a_shuffle_are_found(watched_gpu: WatchedGpu) -> None:
    found = problem("mvt", ODD_SIZES["mvt"])
    plan = by_shuffles(found, ScheduleChoice(reductions=reducible(found.program)))
    watched_gpu.check(found, [plan])
    watched_gpu.check_fault(found, plan, "without some lanes", "__shfl_xor_sync(0xffffffffu",
                            "__shfl_xor_sync(0xffffu")
