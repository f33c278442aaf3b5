"""Few sums on GPUs: start plans split them over many threads, unless their order is fixed."""

from __future__ import annotations

from math import prod

import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, LevelName, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import Plan
from tests.support.programs import program_of, scop
from tests.support.targets import HOPPER

DECLARATIONS = "float A[300][512], x[100000], y[100000], v[512], z[300], w[300], h[16], s; int idx[100000];"
ONE = "for (int i = 0; i < 100000; i++) s += x[i] * y[i];"
ROWS = "for (int i = 0; i < 300; i++) for (int j = 0; j < 512; j++) w[i] += A[i][j] * x[j];"
TOGETHER = ("for (int i = 0; i < 300; i++) for (int j = 0; j < 512; j++) {"
            " w[i] += A[i][j] * x[j]; v[j] += z[i] * A[i][j]; }")
TURNED = ROWS + " for (int i = 0; i < 512; i++) for (int j = 0; j < 300; j++) v[i] += A[j][i] * z[j];"
UPDATED = ("for (int i = 0; i < 300; i++) for (int j = 0; j < 512; j++) A[i][j] += w[i] * x[j];"
           " for (int i = 0; i < 512; i++) for (int j = 0; j < 300; j++) v[i] += A[j][i] * z[j];")
AFTERWARDS = ROWS + " for (int i = 0; i < 300; i++) for (int j = 0; j < 512; j++) v[j] += A[i][j] * w[i];"
BINS = "for (int i = 0; i < 100000; i++) h[idx[i]] += x[i];"


def first(body: str, strict_float: bool, level: LevelName = "o1") -> Plan:
    options = RunOptions("", Compilation(), Budget(1), level=level, strict_float=strict_float)
    walk, *_ = PARTS.starts(program_of(scop(body, DECLARATIONS)), HOPPER, options)
    return walk.plan


@pytest.mark.parametrize("level", ["o1", "o3"])
@pytest.mark.parametrize("body", [ONE, ROWS, BINS])
def test_the_first_plan_splits_sums(body: str, level: LevelName) -> None:
    """A dot product, the longest sum of all, ran in one thread."""
    plan = first(body, False, level)
    (kernel,) = plan.kernels
    assert prod(kernel.block) >= 32 and kernel.combine == ("atomic" if body == BINS else "shuffle")
    source = lower(program_of(scop(body, DECLARATIONS)), plan, HOPPER).source
    assert "atomicAdd" in source and ("__shfl" in source) == (body != BINS)


@pytest.mark.parametrize("body", [ONE, ROWS, BINS])
def test_sums_in_a_fixed_order_are_not_split(body: str) -> None:
    plan = first(body, True)
    assert not getattr(plan.schedule, "reductions", ())
    assert "atomicAdd" not in lower(program_of(scop(body, DECLARATIONS)), plan, HOPPER).source


@pytest.mark.parametrize("body", [TOGETHER, TURNED, UPDATED])
def test_statements_that_pass_over_the_same_elements_share_a_kernel(body: str) -> None:
    """A kernel each read the matrix twice."""
    plan = first(body, False, "o2")
    (kernel,) = plan.kernels
    assert kernel.statements == ("S0", "S1") and len(kernel.tile) == 2
    source = lower(program_of(scop(body, DECLARATIONS)), plan, HOPPER).source
    assert source.count("(const float4 *)&A[") == 1 and "atomicAdd" in source


def test_a_sum_that_needs_another_has_a_kernel_of_its_own() -> None:
    assert [one.statements for one in first(AFTERWARDS, False, "o2").kernels] == [("S0",), ("S1",)]
