"""Plans from the spaces of all levels: random ones, the first ones of a colony, and their results on a device."""

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
from metrics.outcome import Crashed, Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named
from tests.support.targets import CPU

FORESEEN = ("barrier would stand", "loops do not run what they should")


def lowered(program: Program, plan: Plan, target: Target) -> Variant | None:
    """Return the code of a plan of a space; None for a foreseen error."""
    try:
        return lower(program, plan, target)
    except IllegalPlan as illegal:
        if any(words in str(illegal) for words in FORESEEN):
            return None
        raise


def random_plans(program: Program, target: Target, level: LevelName, count: int, seed: int) -> list[Plan]:
    """Return plans drawn uniformly, decision by decision, from the space of a level."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level)
    space = PARTS.make_space(program, target, options)
    return [walk.plan for walk in make_explorer("random", space, seed).ask(count)]


def failures(found: Problem, selector: str, count: int, seed: int) -> Sequence[str]:
    """Evaluate the default plan and `count` random ones of every level; return all failures in words.

    A plan may put a barrier under a condition (the spaces test that for typical sizes only), or have incomplete loops,
    which is detected. PoCL's compiler crashes on some kernels (docs/compilers.md).
    """
    device = device_named(selector)
    plans: list[Plan] = [default_plan(found.program, device.target)]
    for level in get_args(LevelName):
        plans += random_plans(found.program, device.target, level, count, seed)
    return [f"{plan.to_json()}: {outcome}"
            for plan, outcome in zip(plans, outcomes_of(device, found, plans), strict=True)
            if not isinstance(outcome, Timed) and not any(words in outcome.message for words in FORESEEN)
            and not (device.target.pocl and isinstance(outcome, Crashed) and outcome.phase == "compile"
                     and "SIGSEGV" in outcome.message)]


def first_walks(program: Program, level: LevelName, target: Target = CPU) -> list[Plan]:
    """Return the plans of a colony's first walks."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level)
    space, starts = PARTS.make_space(program, target, options), PARTS.starts(program, target, options)
    return [walk.plan for walk in PARTS.make_explorer("colony", space, 0, starts).ask(len(starts))]
