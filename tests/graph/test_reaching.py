"""Walks that reach a given plan exactly: every start of a search, and every plan of a space."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from experiments.search.parts import PARTS
from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import PIPELINES, Pipeline
from experiments.values.options import Budget, LevelName, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.plan import Plan
from generator.schedules.partition import Partition
from generator.target import Target
from graph.o1 import make_o1_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay, uniform
from graph.reaching import NotOnOffer, walk_to
from tests.support.slow import few
from tests.support.suite import NAMES, ODD_SIZES, TARGET, polybench_program, small_problem
from tests.support.targets import CPU, CUDA

LEVELS: tuple[LevelName, ...] = ("o1", "o2", "o3")
EVERYWHERE = [(name, level, target) for name in NAMES for level in LEVELS for target in (TARGET, CUDA, CPU)]


@pytest.mark.parametrize(
    ("name", "level", "target"),
    few(EVERYWHERE, (("2mm", "o1", CPU), ("jacobi-2d", "o2", TARGET), ("atax", "o3", CUDA))),
)
def test_every_start_is_reached_exactly(name: str, level: LevelName, target: Target) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    for space_name in ("wide", "paper"):
        options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level, space=space_name)
        space, starts = make_reachable_space(program, target, options), PARTS.starts(program, target, options)
        assert starts
        for start in starts:
            again = OptimizationGraph().walk(space, replay(start.choices, first))
            assert again == start == walk_to(space, start.plan)


@pytest.mark.parametrize(("pipeline", "target"), few(product(PIPELINES, (TARGET, CUDA, CPU)), tuple(
    zip(PIPELINES, (TARGET, CUDA, CPU), strict=False))), ids=lambda part: getattr(part, "name", None))
def test_every_start_of_a_pipeline_is_reached_exactly(pipeline: Pipeline, target: Target) -> None:
    options = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")
    program = small_problem(pipeline)[0].program
    space, starts = make_reachable_space(program, target, options), PARTS.starts(program, target, options)
    assert starts
    for start in starts:
        assert OptimizationGraph().walk(space, replay(start.choices, first)) == start == walk_to(space, start.plan)


@pytest.mark.parametrize(("name", "level"), few(product(
    ("gemm", "jacobi-2d", "mvt", "gemver", "seidel-2d", "atax", "2mm", "gesummv", "bicg", "fdtd-2d"), LEVELS,
), (("gemm", "o1"), ("jacobi-2d", "o2"), ("mvt", "o3"), ("jacobi-2d", "o1"))))
@pytest.mark.parametrize("count", few([5, 10], 1))
def test_every_plan_leads_back_to_a_walk(name: str, level: LevelName, count: int) -> None:
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level)
    space, graph = make_reachable_space(polybench_program(name, ODD_SIZES[name]), CPU, options), OptimizationGraph()
    for seed in range(count):
        walk = graph.walk(space, uniform(np.random.default_rng(seed)))
        assert walk is not None
        assert walk_to(space, walk.plan).plan == walk.plan


def test_a_plan_that_is_not_in_the_space_is_refused_by_the_name_of_the_decision() -> None:
    program = polybench_program("gemm", ODD_SIZES["gemm"])
    space = make_o1_space(partial(kernel_shapes, program), CPU)
    plan = start_plans(program, CPU)[0]
    (kernel, *others) = plan.kernels

    def refused(plan: Plan, essence: str) -> None:
        with pytest.raises(NotOnOffer, match=essence):
            walk_to(space, plan)

    for change, essence in (({"unroll": 3}, "unroll factor of S0 .*is 3; on offer: 1, 2, 4, 8"),
                            ({"exchange": True}, "exchange is True; on offer is False"),
                            ({"tile": (3,) * len(kernel.tile)}, "outer tile size x of S0 .*is 3; on offer: 8, ")):
        refused(replace(plan, kernels=(replace(kernel, **change), *others)), essence)
    refused(replace(plan, kernels=()), "x dimension of S0 .*is not settled by the plan")
    refused(replace(plan, schedule=Partition(())), "algorithm is not a decision of a Partition")
    refused(replace(plan, placement=(("A", "texture"),)), "plan.placement is .*'texture'")
