"""Random pipelines can be judged by cost models, and their random plans are legal and right."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.learning.collect import RANDOM
from experiments.learning.random_plans import random_plan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.problem import program_of
from generator.program import Program
from generator.reading import read_problem
from tests.support.slow import few
from tests.support.suite import TARGET


def random_program(seed: int) -> Program:
    parameters = {"seed": seed, "width": 40, "height": 24}
    return program_of(read_problem(RANDOM, Compilation(), None, None, parameters, 0, baselines=False).subject)


@pytest.mark.parametrize("seed", few(range(40), 1))
def test_random_plans_of_random_pipelines_can_be_generated(seed: int) -> None:
    program = random_program(seed)
    assert str(program) != str(random_program(seed + 1))
    assert not [node.array for node in dataflow(program).nodes if node.refusal]
    plans = [random_plan(program, TARGET, np.random.default_rng((seed, k))) for k in range(2)]
    found = [plan for plan in plans if plan is not None]
    assert found
    for plan in found:
        assert lower(program, plan, TARGET).kernels
    assert plans == [random_plan(program, TARGET, np.random.default_rng((seed, k))) for k in range(2)]
