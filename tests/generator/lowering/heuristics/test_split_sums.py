"""Few sums on GPUs: start plans split them over many threads, unless their order is fixed."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, LevelName, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import Plan
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
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
H200 = replace(HOPPER, compute_units=132)
BINS = "for (int i = 0; i < 100000; i++) h[idx[i]] += x[i];"


def first(body: str, strict_float: bool, level: LevelName = "o1") -> Plan:
    options = RunOptions("", Compilation(), Budget(1), level=level, strict_float=strict_float)
    walk, *_ = PARTS.starts(program_of(scop(body, DECLARATIONS)), HOPPER, options)
    return walk.plan


@in_turn
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


@in_turn
@pytest.mark.parametrize("body", few([TOGETHER, TURNED, UPDATED], 2))
def test_statements_that_pass_over_the_same_elements_share_a_kernel(body: str) -> None:
    """A kernel each read the matrix twice."""
    plan = first(body, False, "o2")
    (kernel,) = plan.kernels
    assert kernel.statements == ("S0", "S1") and len(kernel.tile) == 2
    source = lower(program_of(scop(body, DECLARATIONS)), plan, HOPPER).source
    assert source.count("(const float4 *)&A[") == 1 and "atomicAdd" in source


@pytest.mark.parametrize("body", [TOGETHER, TURNED, UPDATED])
def test_a_block_combines_its_rows_before_it_updates_columns(body: str) -> None:
    """Each row of threads updated the sums of all columns: at 2000 x 2000, a million atomic updates took 25 us."""
    source = lower(program_of(scop(body, DECLARATIONS)), plan := first(body, False, "o2"), HOPPER).source
    (kernel,) = plan.kernels
    assert kernel.block == (8, 32) and "float float_parts[8][128];" in source
    assert source.count("__syncthreads()") == 1


@in_turn
@pytest.mark.parametrize(("size", "tile"), few(
    [(400, (16, 128)), (8192, (128, 256)), (2000, (64, 128))], 2))
def test_blocks_are_as_large_as_leaves_work_for_all_multiprocessors(size: int, tile: tuple[int, ...]) -> None:
    text = (f"for (int i = 0; i < {size}; i++) for (int j = 0; j < {size}; j++) {{"
            " w[i] += A[i][j] * x[j]; v[j] += z[i] * A[i][j]; }")
    arrays = f"float A[{size}][{size}], v[{size}], w[{size}], x[{size}], z[{size}];"
    options = RunOptions("", Compilation(), Budget(1), level="o2")
    plans = [walk.plan for walk in PARTS.starts(program_of(scop(text, arrays)), H200, options)]
    together = [plan.kernels[0].tile for plan in plans if len(plan.kernels) == 1 and len(plan.kernels[0].tile) == 2]
    assert together == [tile, (tile[0], 2 * tile[1])]


def test_a_sum_that_needs_another_has_a_kernel_of_its_own() -> None:
    assert [one.statements for one in first(AFTERWARDS, False, "o2").kernels] == [("S0",), ("S1",)]
