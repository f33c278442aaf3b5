"""Plans that differ only in padding, swizzled rows, the order of blocks or asynchronous copies share the loops of a
kernel; each kernel is the one that is made without sharing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.lowering.core import kernel
from generator.lowering.core.assemble import lowered_program
from generator.lowering.core.same_loops import of_same_loops
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from tests.support.suite import polybench_program, small_problem
from tests.support.targets import HOPPER


def versions(one: KernelPlan) -> list[KernelPlan]:
    """`one` with longer rows, also such that threads copy fewer elements at once, or with swizzled rows."""
    found = [replace(one, padding=1), replace(one, padding=4), replace(one, columns=not one.columns),
             replace(one, asynchronous=one.ahead)]
    return found + ([replace(one, swizzled=("A",))] if one.shared else [])


def compared(program: Program, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> list[KernelPlan]:
    """Compare the kernels of all versions of a plan with one kernel; return the versions."""
    [one] = plan.kernels

    def made() -> list[str]:  # kernels are compared by identity, their text by all fields
        kernel.lower_part.cache_clear()
        return [str(lowered_program(program, replace(plan, kernels=(other,)), LANGUAGES["cuda"]).kernels[0])
                for other in versions(one)]

    shared = made()
    with monkeypatch.context() as patched:
        patched.setattr(kernel, "of_same_loops", lambda given: given)
        patched.setattr(kernel, "with_padding", lambda boxes, _: tuple(boxes))
        assert shared == made()
    kernel.lower_part.cache_clear()
    return versions(one)


def test_copies_are_the_same_as_without_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = polybench_program("gemm", ("SMALL_DATASET", "DATA_TYPE_IS_FLOAT"))
    plan = next(one for one in start_plans(program, HOPPER) if one.kernels[0].shared and one.kernels[0].vector == 4)
    made = compared(program, plan, monkeypatch)
    assert len({of_same_loops(one) for one in made}) == 2, "padding 1 changes what a thread copies at once"


@pytest.mark.parametrize("warps", [False, True])
def test_stages_in_blocks_and_warps_are_the_same_as_without_sharing(warps: bool,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    program = small_problem(pipeline("blur"))[0].program
    plans = start_plans(program, HOPPER, Stages((("blur_x", "block"),)))
    plan = next(one for one in plans if bool(one.kernels[0].in_registers) == warps)
    assert len({of_same_loops(one) for one in compared(program, plan, monkeypatch)}) == 1
