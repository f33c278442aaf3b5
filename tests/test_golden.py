"""The generated text, kept under version control so that a change shows in review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from generator.explain import host_lines
from generator.lowering import lower
from generator.lowering.default import default_plan
from generator.plan import Plan
from tests.support_suite import NAMES, ODD_SIZES, TARGET, problem


@pytest.mark.parametrize("name", NAMES)
def test_default_plan_text(name: str, golden: Callable[[str, str], None]) -> None:
    program = problem(name, ODD_SIZES[name]).program
    variant = lower(program, default_plan(program, TARGET), TARGET)
    host = "".join(f"// host: {line}\n" for line in host_lines(variant.host))
    golden(f"{name}.cl", host + variant.source)


@pytest.mark.parametrize("name", ["gemm", "mvt"])
def test_unshared_unrolled_text(name: str, golden: Callable[[str, str], None]) -> None:
    program = problem(name, ODD_SIZES[name]).program
    plan = default_plan(program, TARGET)
    kernels = tuple(replace(k, shared=False, inner_tile=1, unroll=4) for k in plan.kernels)
    golden(f"{name}-unshared.cl", lower(program, Plan(plan.schedule, kernels), TARGET).source)


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d"])
def test_same_plan_same_text_in_any_order(name: str) -> None:
    """Lowering keeps no state: other plans in between change nothing."""
    program = problem(name, ODD_SIZES[name]).program
    plan = default_plan(program, TARGET)
    other = Plan(plan.schedule, tuple(replace(k, shared=False, inner_tile=1) for k in plan.kernels))
    first = lower(program, plan, TARGET)
    lower(program, other, TARGET)
    assert lower(program, plan, TARGET) == first
