"""Multiplications and additions are not fused where a driver gets that wrong (`generator/emit/contraction.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import in_turn
from tests.support.suite import TARGET

PROGRAM = """#include <stdio.h>
static float A[20][30], B[8][20][30], alpha = 0.3333f;
int main(void)
{
  for (int j = 0; j < 20; j++) for (int k = 0; k < 30; k++) A[j][k] = (j * 7 + k * 3) % 11;
#pragma scop
  for (int i = 0; i < 8; i++) for (int j = 0; j < 20; j++) for (int k = 0; k < 30; k++) B[i][j][k] = VALUE;
#pragma endscop
  printf("%f", B[3][4][5]);
  return 0;
}
"""
CONVERTED = "(A[j][k] - i * 0.3333f) + i * 0.3333f"
PRAGMA = "#pragma OPENCL FP_CONTRACT OFF"


def captured(value: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("VALUE", value), folder), Compilation(), None, None, {}, 0)


def planned(found: Problem, shared: bool) -> Plan:
    (shape,) = kernel_shapes(found.program, ScheduleChoice())
    return Plan(ScheduleChoice(), (KernelPlan(shape.statements, (4, 4, 16), (4, 2, 16), shared=shared),))


@in_turn
@pytest.mark.parametrize(("value", "shared", "there"), [
    (CONVERTED, True, True), ("A[j][k] * (float)(i + 1) + A[j][k]", True, True),
    (CONVERTED, False, False), ("A[j][k] * alpha + A[j][k]", True, False),
    ("i == 0 ? A[j][k] * alpha : A[j][k] * 0.5f + alpha", True, False),
    (f"{CONVERTED} > 3 ? 1 : 2", True, True)])
def test_only_kernels_with_barriers_and_converted_indices(
    value: str, shared: bool, there: bool, tmp_path: Path
) -> None:
    found = captured(value, tmp_path)
    source = lower(found.program, planned(found, shared), TARGET).source
    assert ("barrier(" in source) == shared
    assert (PRAGMA in source) == there


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
@pytest.mark.parametrize("value", [CONVERTED, f"{CONVERTED} > 3 ? 1 : 2"])
def test_a_converted_thread_index_is_right_on_intel(value: str, tmp_path: Path) -> None:
    found = captured(value, tmp_path)
    (outcome,) = outcomes_of(device_named("intel"), found, [planned(found, shared=True)])
    assert isinstance(outcome, Timed), outcome.message
