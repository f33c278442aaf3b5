"""How often random plans for a GPU have parts of warps' tiles in registers, and whether these can be made."""

from __future__ import annotations

from functools import partial

import pytest

from explorer.registry import make_explorer
from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import Plan
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.program import Program
from graph.pipeline import make_pipeline_space
from tests.support.hybrids import hybrid_problem
from tests.support.slow import few
from tests.support.targets import HOPPER


def with_warps(program: Program, count: int) -> list[Plan]:
    """Those of so many random plans with tiles of warps."""
    shapes = partial(kernel_shapes, program, dialect="cuda")
    space = make_pipeline_space(shapes, stage_facts(program), HOPPER)
    plans = [walk.plan for walk in make_explorer("random", space, 1).ask(count)]
    return [plan for plan in plans if any(kernel.level == "sub-group" for kernel in plan.kernels)]


@pytest.mark.parametrize("name", few(("unsharp", "harris", "camera_pipe", "pyramid_blend"), 1))
def test_a_search_meets_tiles_partly_in_registers(name: str) -> None:
    """At least a tenth of the plans with tiles of warps (it is more than a quarter)."""
    plans = with_warps(hybrid_problem(name).program, 120)
    hybrid = [plan for plan in plans if any(kernel.in_registers for kernel in plan.kernels)]
    assert len(plans) > 12 and len(hybrid) > 0.1 * len(plans)
    assert len({kernel.in_registers for plan in hybrid for kernel in plan.kernels}) > 3


@pytest.mark.slow
def test_few_of_them_are_refused() -> None:
    """Less than one of a hundred."""
    program, refused = hybrid_problem("unsharp").program, list[str]()
    plans = [plan for plan in with_warps(program, 700) if any(kernel.in_registers for kernel in plan.kernels)]
    for plan in plans:
        try:
            lower(program, plan, HOPPER)
        except IllegalPlan as error:
            refused.append(str(error))
    assert len(plans) > 60 and len(refused) < 0.01 * len(plans), refused
