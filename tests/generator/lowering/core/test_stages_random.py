"""Random pipelines, random places for their stages, random kernels: what they compute is what the pipeline says.

Kernels run in Python, threads in random order, every access checked. Integers are compared with the numpy interpreter
and with the program in its original order, real numbers (residues there: exact) with the latter.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.expr import names_of
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.tree import Band, Sequence
from generator.polyhedral.memory.boxes import stage_boxes
from generator.polyhedral.memory.entries import STEP
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.pipelines.sections import SectionKernel, kernels_of
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import reordered
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.slow import few
from tests.support.stages import SMALL, Case, any_plan, case, offered_plans, values_of

FORESEEN = ("barrier would stand", "loops do not run what they should")
QUICK, BLOCKS, IN_BLOCK = 12, 10, 60


@lru_cache(maxsize=QUICK)
def pipeline(seed: int) -> tuple[Case, tuple[Plan, ...]]:
    """A pipeline with plans: of the space, and such as no space offers."""
    found, rng = case(seed), np.random.default_rng((3, seed))  # 3: the first with which all that is wanted below occurs
    plans = offered_plans(found.program, SMALL, 2, seed)
    for _ in range(2):
        try:
            plans.append(any_plan(found.program, rng))
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), illegal
    return found, tuple(plans)


def check(seed: int) -> None:
    """All plans of a pipeline."""
    found, plans = pipeline(seed)
    original = run_original(found.program)
    for name, values in found.results.items():
        np.testing.assert_array_equal(values, values_of(original, name, found.program))
    for plan in plans:
        try:
            memory = run_plan(found.program, plan, np.random.default_rng(seed))
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), (seed, plan.to_json(), illegal)
            continue
        assert not differences(found.program, memory, original), (seed, plan.to_json())


@pytest.mark.parametrize("seed", few(range(QUICK), 1))
def test_plans_of_random_pipelines_are_right(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_many_plans_of_random_pipelines_are_right(block: int) -> None:
    for seed in range(QUICK + block * IN_BLOCK, QUICK + (block + 1) * IN_BLOCK):
        check(seed)
        pipeline.cache_clear()


@pytest.mark.slow
def test_these_plans_reach_what_may_go_wrong() -> None:
    seen: Counter[str] = Counter()
    for seed in range(QUICK):
        found, plans = pipeline(seed)
        for plan in plans:
            seen.update(features(found.program, plan))
    wanted = (
        "inline",
        "block",
        "updated inline",
        "updated block",
        "block in block",
        "inline in block",
        "block in inline",
        "several kernels",
        "read by data",
        "uint8",
        "float",
        "reduction",
        "together",
        "block for several",
        "steps",
        "rows stay",
        "stays whole",
        "tuple inline",
        "tuple block",
        "lines block",
    )
    assert [words for words in wanted if not seen[words]] == [], seen


def rings(kernel: SectionKernel, plan: KernelPlan) -> set[str]:
    """What becomes of the boxes of a block that walks."""
    part = reordered(kernel.part, plan.order)
    found = set()
    for number, point in enumerate(fill_points(kernel.section.program, part)):
        for box in stage_boxes(kernel.section.program, part, plan.tile, 1, number, plan.walk) if point.computed else ():
            whole = box.slides is not None and STEP not in names_of(box.corner[box.slides])
            found.add("rows do not stay" if box.slides is None else "stays whole" if whole else "rows stay")
    return found


def features(program: Program, plan: Plan) -> set[str]:
    """What a plan does with stages."""
    found: set[str] = set()
    assert isinstance(plan.schedule, Stages)
    found |= {"reduction"} if plan.schedule.reductions else set()
    computing: Counter[str] = Counter()
    for kernel in kernels_of(program, plan.schedule):
        if plan.kernel(kernel.statements).walk:
            found |= {"steps", *rings(kernel, plan.kernel(kernel.statements))}
        stages = {stage.array: stage for stage in kernel.section.program.stages}
        computing.update(list(stages))
        stored = {program.statement(name).body.target.array for name in kernel.part.statements}
        if len(stored) > 1:
            found |= {"together"}
            common = [reached(kernel.section.program, (name,)) for name in kernel.part.statements]
            found |= {"block for several" for stage in stages.values()
                      if stage.where == "block" and sum(stage.array in some for some in common) > 1}
            found |= {"sum together"} if isinstance(kernel.part.tree, Sequence) and any(
                isinstance(child, Band) for child in kernel.part.tree.children) else set()
        for stage in stages.values():
            if any(step.condition is not None or step.statement.body.guard is not None for step in stage.steps):
                found |= {f"conditional {stage.where}"}
            found |= {f"lines {stage.where}"} if stage.lines else set()
            found |= {f"tuple {stage.where}"} if len(stage.arrays) > 1 else set()
            found |= {stage.where, *([f"updated {stage.where}"] if len(stage.steps) > 1 else [])}
            found |= {{"unsigned char": "uint8", "float": "float"}.get(program.array(stage.array).type, "other type")}
            read = {a.array for step in stage.steps for a in step.statement.accesses} & set(stages) - {stage.array}
            found |= {f"{stages[array].where} in {stage.where}" for array in read}
        found |= {"read by data"} if stages and any("table" in name or "bins" in name for name in stages) else set()
    found |= {"several kernels"} if any(count > 1 for count in computing.values()) else set()
    return found
