"""Plans from the spaces of all levels: random ones, those a colony begins with, and what a device says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from experiments.search.parts import PARTS
from experiments.values.options import Budget, LevelName, RunOptions
from explorer.registry import make_explorer
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named
from tests.support.targets import CPU

FORESEEN = ("barrier would stand", "loops do not run what they should")


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


def failures(found: Problem, selector: str, count: int, seed: int) -> Sequence[str]:
    """Evaluate the default plan and `count` random ones of every level; what went wrong, in words.

    A plan may turn out to put a barrier under a condition (the spaces try that for typical sizes only), or to have
    loops that would not run what they should, which is noticed.
    """
    device = device_named(selector)
    plans: list[Plan] = [default_plan(found.program, device.target)]
    for level in get_args(LevelName):
        plans += random_plans(found.program, device.target, level, count, seed)
    return [f"{plan.to_json()}: {outcome}"
            for plan, outcome in zip(plans, outcomes_of(device, found, plans), strict=True)
            if not isinstance(outcome, Timed) and not any(words in outcome.message for words in FORESEEN)]


def first_walks(program: Program, level: LevelName, target: Target = CPU) -> list[Plan]:
    """The plans of the walks that a colony begins with."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level)
    space, starts = PARTS.make_space(program, target, options), PARTS.starts(program, target, options)
    return [walk.plan for walk in PARTS.make_explorer("colony", space, 0, starts).ask(len(starts))]
