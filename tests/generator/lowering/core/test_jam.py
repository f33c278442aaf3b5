"""Rows of points inside the loop over columns: the same results, one vector loop, rows unrolled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from antune import halide as hl
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.frontend_py import problem as pipelines
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.nest import Level
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages
from generator.target import Target
from graph.reaching import walk_to
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.slow import few
from tests.support.stages import SMALL, case, offered_plans
from tests.support.suite import TARGET
from tests.support.targets import CPU
from tests.support.teams import chain, chain_plan

INTEL = replace(CPU, intel_cpu=True, local_bytes=1 << 18)
FEW, SEEDS = 3, 40
OPTIONS = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")


def jammed(tile: tuple[int, int], block: tuple[int, int], walk: int = 0, level: Level = "block",
           registers: bool = False) -> Plan:
    plan = chain_plan(level, tile, block)
    return replace(plan, kernels=(replace(plan.kernels[0], walk=walk, jam=True, registers=registers),))


@pytest.mark.parametrize(
    ("tile", "block", "walk", "level"),
    few([((4, 64), (1, 1), 0, "block"), ((8, 64), (1, 1), 4, "block"), ((8, 32), (1, 4), 2, "block"),
     ((8, 64), (2, 32), 4, "block"), ((4, 8), (1, 4), 2, "thread")], 3,
        ["whole tile", "steps", "threads along x", "threads along both", "tiles of threads"]),
)
def test_results_stay(tile: tuple[int, int], block: tuple[int, int], walk: int, level: Level) -> None:
    """70 x 9 points: the last tile along both dimensions is partial."""
    memory = run_plan(chain(), jammed(tile, block, walk, level), np.random.default_rng(1))
    assert not differences(chain(), memory, run_original(chain()))


def ran(seed: int) -> int:
    """Run plans of a random pipeline with rows together, and return the number of those that are possible."""
    found, count = case(seed), 0
    original = run_original(found.program)
    for plan in offered_plans(found.program, SMALL, 2, seed):
        together = replace(plan, kernels=tuple(replace(kernel, jam=len(kernel.tile) > 1, registers=False, streamed=())
                                               for kernel in plan.kernels))
        try:
            memory = run_plan(found.program, together, np.random.default_rng(seed))
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in ("rows together", "loops do not run what they should",
                                                           "barrier would stand")), (seed, together.to_json(), illegal)
            continue
        assert not differences(found.program, memory, original), (seed, together.to_json())
        count += 1
    return count


def test_random_pipelines_stay_right() -> None:
    assert sum(map(ran, range(FEW))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, SEEDS))
def test_many_random_pipelines_stay_right(seed: int) -> None:
    ran(seed)


def test_the_loop_over_columns_is_the_innermost_that_stays() -> None:
    text = lower(chain(), jammed((8, 128), (1, 1), 4), INTEL).source
    columns, rows = text.index("int x_point"), text.index("int y_point")
    assert columns < rows and "for" not in text[rows:].partition("\n")[2]
    assert "#pragma unroll 1\n" in text[:columns].rpartition("}")[2]
    assert "#pragma unroll 4\n" in text[columns:rows]


@pytest.mark.parametrize(
    ("plan", "words"),
    [(jammed((1, 64), (1, 1)), "a thread has 1 rows at once; use 2 to 64"),
     (jammed((8, 64), (8, 8)), "a thread has 1 rows at once"),
     (jammed((128, 64), (1, 1)), "a thread has 128 rows at once"),
     (jammed((4, 64), (1, 1), registers=True), "leave out `registers`")],
    ids=["one row", "a row per thread", "too many", "registers"],
)
def test_what_cannot_be_is_refused(plan: Plan, words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        lower(chain(), plan, INTEL)


def test_rows_that_threads_do_not_have_are_refused() -> None:
    """Two rows for two threads."""
    x, y, image, out = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("out")
    out[x, y] = image[x, y] + image[x, y + 1]
    plan = Plan(Stages(()), (KernelPlan(("S0",), (8, 64), (2, 1), jam=True),))
    with pytest.raises(IllegalPlan, match=r"rows together of S0: .* at most one row per thread; .* leave out `jam`"):
        lower(pipelines.program_of([out], [70, 2]), plan, INTEL)


@pytest.mark.parametrize(
    ("rows", "tile", "block", "target", "offered"),
    [(16, (4, 64), (1, 1), INTEL, True), (16, (8, 64), (2, 8), INTEL, True), (18, (4, 64), (1, 1), INTEL, False),
     (16, (16, 64), (1, 1), INTEL, False), (16, (4, 64), (4, 1), INTEL, False), (16, (4, 64), (1, 64), INTEL, False),
     (16, (4, 64), (1, 1), TARGET, False)],
    ids=["4 rows", "2 threads, 4 rows each", "the last tile has 2 rows", "too many", "one row", "one column", "GPU"],
)
def test_it_is_offered_where_every_thread_has_a_few_whole_rows(
    rows: int, tile: tuple[int, int], block: tuple[int, int], target: Target, offered: bool
) -> None:
    x, y, image, out = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("out")
    out[x, y] = image[x, y] + image[x, y + 1]
    (shape,) = kernel_shapes(pipelines.program_of([out], [70, rows]), Stages(()), target.language)
    wanted = KernelPlan(shape.statements, tile, block, jam=True)
    made = nearest(wanted, Known(shape, target, True))
    assert (made.tile, made.jam) == (tile, offered)


def test_searches_on_cpus_start_with_rows_of_steps_together() -> None:
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    before, out = hl.Func("before"), hl.Func("out")
    before[x, y] = image[x, y] * 2.0
    out[x, y] = before[x, y] + before[x + 1, y + 1]
    for rows, walk in ((256, 4), (255, 0)):
        program, schedule = pipelines.program_of([out], [512, rows]), Stages((("before", "block"),))
        plans = [plan for plan in start_plans(program, INTEL, schedule) if plan.kernels[0].jam]
        assert [plan.kernels[0].walk for plan in plans] == [walk] * bool(walk)
        space = make_reachable_space(program, INTEL, OPTIONS)
        assert [walk_to(space, plan).plan for plan in plans] == plans
