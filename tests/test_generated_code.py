"""Generated code computes what the original program computes: random plans of every source, on a real device."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import get_args

import pytest

from experiments.options import Budget, LevelName, RunOptions
from experiments.parts import PARTS
from explorer.registry import make_explorer
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Timed
from runners.base import Job, Limits
from runners.registry import open_runner
from tests.support_slow import few
from tests.support_suite import ALL_NAMES, NAMES, ODD_SIZES, problem

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)
SIZES: dict[str, dict[str, tuple[str, ...]]] = {"odd": ODD_SIZES, "mini": dict.fromkeys(NAMES, ("MINI_DATASET",)),
         "float": {name: (*sizes, "DATA_TYPE_IS_FLOAT") for name, sizes in ODD_SIZES.items()}}


def has_intel() -> bool:
    """Whether the extra `intel` is installed."""
    return any(d.name == "intel-opencl-rt" for d in distributions())


FORESEEN = ("barrier would stand", "loops do not run what they should")
"""What may be wrong with a plan that a space offers."""


def lowered(program: Program, plan: Plan, target: Target) -> Variant | None:
    """The code of a plan of a space; None where something foreseen is wrong with it."""
    try:
        return lower(program, plan, target)
    except IllegalPlan as illegal:
        if any(words in str(illegal) for words in FORESEEN):
            return None
        raise


def random_plans(program: Program, target: Target, level: LevelName, count: int, seed: int) -> list[Plan]:
    """Plans drawn uniformly, decision by decision, from the space of a level."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level)
    space = PARTS.make_space(program, target, options)
    return [walk.plan for walk in make_explorer("random", space, seed).ask(count)]


def failures(found: Problem, device: str, count: int, seed: int, folder: Path) -> Sequence[str]:
    """Evaluate the default plan and `count` random ones of every level; what went wrong, in words.

    A plan may turn out to put a barrier under a condition (the spaces try that for typical sizes only), or to have loops
    that would not run what they should, which is noticed.
    """
    runner = open_runner(found, device, LIMITS, folder)
    try:
        target = runner.device.target
        plans: list[Plan] = [default_plan(found.program, target)]
        for level in get_args(LevelName):
            plans += random_plans(found.program, target, level, count, seed)
        outcomes = dict(runner.evaluate([Job(n, plan) for n, plan in enumerate(plans)]))
    finally:
        runner.close()
    assert len(outcomes) == len(plans)
    return [f"{plans[n].to_json()}: {outcome}" for n, outcome in outcomes.items()
            if not isinstance(outcome, Timed) and not any(words in outcome.message for words in FORESEEN)]


@pytest.mark.parametrize("name", few(ALL_NAMES, NAMES[::3]))
def test_random_plans(name: str, tmp_path: Path) -> None:
    assert not failures(problem(name, ODD_SIZES[name]), "pocl", 1, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_thirty_random_plans(name: str, sizes: str, tmp_path: Path) -> None:
    assert not failures(problem(name, SIZES[sizes][name]), "pocl", 30, 2, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
@pytest.mark.parametrize("name", ALL_NAMES)
def test_thirty_random_plans_on_intel(name: str, tmp_path: Path) -> None:
    assert not failures(problem(name, ODD_SIZES[name]), "intel", 30, 3, tmp_path)
