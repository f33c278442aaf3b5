"""Generated code computes what the original program computes: random plans of every source, on a real device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import distributions
from pathlib import Path

import pytest

from explorer.registry import make_explorer
from generator.lowering.default import default_plan
from generator.lowering.shapes import kernel_shapes
from generator.plan import Plan
from generator.problem import Problem
from graph.o1 import make_o1_space
from metrics.outcome import Timed
from runners.base import Job, Limits
from runners.registry import open_runner
from tests.support_suite import NAMES, ODD_SIZES, problem

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)
SIZES: dict[str, dict[str, tuple[str, ...]]] = {"odd": ODD_SIZES, "mini": dict.fromkeys(NAMES, ("MINI_DATASET",)),
         "float": {name: (*sizes, "DATA_TYPE_IS_FLOAT") for name, sizes in ODD_SIZES.items()}}


def has_intel() -> bool:
    """Whether the extra `intel` is installed."""
    return any(d.name == "intel-opencl-rt" for d in distributions())


def failures(found: Problem, device: str, count: int, seed: int, folder: Path) -> Sequence[str]:
    """Evaluate the default plan and `count` random ones; what went wrong, in words."""
    runner = open_runner(found, device, LIMITS, folder)
    try:
        target = runner.device.target
        space = make_o1_space(partial(kernel_shapes, found.program), target)
        plans: list[Plan] = [default_plan(found.program, target)]
        plans += [walk.plan for walk in make_explorer("random", space, seed).ask(count)]
        outcomes = dict(runner.evaluate([Job(n, plan) for n, plan in enumerate(plans)], None))
    finally:
        runner.close()
    assert len(outcomes) == len(plans)
    return [f"{plans[n].to_json()}: {outcome}" for n, outcome in outcomes.items() if not isinstance(outcome, Timed)]


@pytest.mark.parametrize("name", NAMES)
def test_random_plans(name: str, tmp_path: Path) -> None:
    assert not failures(problem(name, ODD_SIZES[name]), "pocl", 3, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_thirty_random_plans(name: str, sizes: str, tmp_path: Path) -> None:
    assert not failures(problem(name, SIZES[sizes][name]), "pocl", 30, 2, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_thirty_random_plans_on_intel(name: str, tmp_path: Path) -> None:
    assert not failures(problem(name, ODD_SIZES[name]), "intel", 30, 3, tmp_path)
