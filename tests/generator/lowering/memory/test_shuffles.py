"""Reductions by shuffles within sub-groups of 32 run and are right, where a device with shuffles is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from metrics.outcome import Timed
from runners.base import Limits
from tests.support.bench import outcomes_of
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.reading import read_untimed
from tests.support.shuffles import by_shuffles
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, problem

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)
UPDATES = {"sum": "r[i] += A[i][j];", "difference": "r[i] -= A[i][j];", "product": "r[i] *= A[i][j];",
           "minimum": "r[i] = r[i] < A[i][j] ? r[i] : A[i][j];", "maximum": "r[i] = A[i][j] < r[i] ? r[i] : A[i][j];"}

pytestmark = pytest.mark.skipif(not has_intel(), reason="needs shuffles: the extra `intel` is not installed")


def evaluated(found: Problem, plan: Plan) -> str:
    """The source of a plan whose results are right on Intel's runtime."""
    device = device_named("intel")
    check_plans(device, found, [plan])
    return lower(found.program, plan, device.target).source


@in_turn
@pytest.mark.parametrize("kind", few(["float", "long", "double", "int", "unsigned int"], 2))
def test_every_operator_and_type(kind: str, tmp_path: Path) -> None:
    """A kernel per operator."""
    file, names = tmp_path / "rows.c", tuple(f"S{number}" for number in range(len(UPDATES)))
    updates = [update.replace("r[", f"{operator}[") for operator, update in UPDATES.items()]
    results = ", ".join(f"{kind} {operator}[n]" for operator in UPDATES)
    file.write_text(f"void rows(int n, int m, {kind} A[n][m], {results}) {{\n#pragma scop\n" + "".join(
        f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {update}\n" for update in updates)
        + "#pragma endscop\n}\n")
    found = read_untimed(file, Compilation(), None, None, {"n": 13, "m": 301}, 1)
    source = evaluated(found, by_shuffles(found, ScheduleChoice(reductions=names)))
    kernels = source.split("__kernel")[1:]
    assert len(kernels) == len(UPDATES)
    assert all("sub_group_shuffle_xor" in kernel for kernel in kernels)


@in_turn
def test_two_products_of_one_matrix_in_one_kernel(tmp_path: Path) -> None:
    """mvt, fused: rows are combined by shuffles, columns in shared memory."""
    found = problem("mvt", ODD_SIZES["mvt"])
    plan = by_shuffles(found, Partition((Group(("S0", "S1")),), reducible(found.program)))
    assert [len(kernel.tile) for kernel in plan.kernels] == [2]
    source = evaluated(found, plan)
    assert source.count("__kernel") == 1
    assert "sub_group_shuffle_xor" in source
    assert "double_parts[" in source


def test_a_device_without_shuffles_refuses_them(tmp_path: Path) -> None:
    found = problem("mvt", ODD_SIZES["mvt"])
    plan = by_shuffles(found, ScheduleChoice(reductions=reducible(found.program)))
    [outcome] = outcomes_of(device_named("pocl"), found, [plan])
    assert not isinstance(outcome, Timed)
    assert "shuffles" in outcome.message
