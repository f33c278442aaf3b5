"""The plans that a search starts from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from explorer.registry import make_explorer
from generator.lowering import lower
from generator.lowering.default import default_plan
from generator.lowering.shapes import kernel_shapes
from generator.lowering.starts import start_plans
from generator.target import Target
from graph.o1 import make_o1_space, preferences_of
from graph.optimization_graph import OptimizationGraph
from graph.policies import prefer, uniform
from tests.support_suite import NAMES, ODD_SIZES, TARGET, problem

CPU = replace(TARGET, shares_host_cores=True, max_threads=4096, max_block=(4096, 4096, 4096), local_bytes=1 << 18)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", [TARGET, CPU], ids=["GPU", "CPU"])
def test_they_are_legal_and_in_the_space(name: str, target: Target) -> None:
    program = problem(name, ODD_SIZES[name]).program
    space = make_o1_space(partial(kernel_shapes, program), target)
    for plan in (*start_plans(program, target), default_plan(program, target)):
        assert lower(program, plan, target).kernels
        walk = OptimizationGraph().walk(space, prefer(preferences_of(plan), uniform(np.random.default_rng(0))))
        assert walk is not None
        assert walk.plan == plan


def test_the_colony_asks_them_first_and_random_search_does_not() -> None:
    program = problem("gemm", ODD_SIZES["gemm"]).program
    space = make_o1_space(partial(kernel_shapes, program), CPU)
    plans = start_plans(program, CPU)
    starts = [preferences_of(plan) for plan in plans]
    assert [walk.plan for walk in make_explorer("colony", space, 0, starts).ask(5)][:3] == list(plans)
    assert make_explorer("random", space, 0, starts).ask(5) == make_explorer("random", space, 0).ask(5)
