"""Code for Intel's CPU runtime avoids what its compiler gets wrong (`generator/emit/guards.py`,
`generator/emit/opaque.py`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator.emit.guards import with_first_barrier
from generator.emit.opaque import with_opaque_one
from generator.expr import Binary, Expr, Int, Load, Name, Unary
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import Assign, Barrier, If
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.suite import TARGET

MIRRORED = """#include <stdio.h>
static double A[60][41], B[61][64];
int main(void)
{
  for (int i = 0; i < 60; i++) for (int j = 0; j < 41; j++) A[i][j] = i * 41 + j;
#pragma scop
  for (int t = 1; t <= 60; t++)
    for (int i = 0; i < t; i++) B[t][i] = (B[t - 1][i + 1] + B[t - 1][i]) * 0.5 + A[t - i - 1][3];
#pragma endscop
  printf("%f", B[59][0]);
  return 0;
}
"""
T, C, ONE = Name("t0"), Name("c"), Name("antune_one")
TARGET_INTEL = replace(TARGET, intel_cpu=True)


def plus(left: Expr, right: Expr) -> Expr:
    return Binary("+", left, right)


def minus(left: Expr, right: Expr) -> Expr:
    return Binary("-", left, right)


@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_products_of_mirrored_indices_are_right_on_intel(tmp_path: Path) -> None:
    found = read_untimed(write_c(MIRRORED, tmp_path), Compilation(), None, None, {}, 0)
    (shape,) = kernel_shapes(found.program, ScheduleChoice())
    plan = Plan(ScheduleChoice(), (KernelPlan(shape.statements, (64,), (64,)),))
    assert "- antune_one" in lower(found.program, plan, TARGET_INTEL).source
    assert "antune_one" not in lower(found.program, plan, TARGET).source
    (outcome,) = outcomes_of(device_named("intel"), found, [plan])
    assert isinstance(outcome, Timed), outcome.message


@pytest.mark.parametrize(("value", "expected"), [
    (minus(minus(C, T), Int(1)), minus(minus(C, T), ONE)),
    (plus(minus(Int(-1), T), C), plus(minus(Unary("-", ONE), T), C)),
    (minus(C, plus(T, Int(1))), minus(C, plus(T, ONE))),
    (plus(minus(C, plus(T, Int(3))), Int(2)), plus(minus(C, plus(T, plus(Int(2), ONE))), Int(2))),
    (Binary("*", minus(minus(C, Binary("*", Int(2), T)), Int(1)), Int(7)),
     Binary("*", minus(minus(C, Binary("*", Int(2), T)), ONE), Int(7))),
    (minus(minus(C, T), Int(2)), None), (minus(minus(T, C), Int(1)), None), (minus(C, T), None)])
def test_a_complement_of_a_thread_index_is_not_written(value: Expr, expected: Expr | None) -> None:
    target = Load("A", (T,))
    (node,) = with_opaque_one((Assign(target, "", Load("B", (value,))),))
    assert node == Assign(target, "", Load("B", (value if expected is None else expected,)))


def test_conditions_on_threads_stand_behind_a_barrier() -> None:
    store = Assign(Load("A", (T,)), "", Int(1))
    guarded, free = If(Binary("<", T, C), (store,)), If(Binary("<", Name("b0"), C), (store,))
    assert with_first_barrier((guarded,)) == (Barrier(), guarded)
    assert with_first_barrier((free,)) == (free,)
    assert with_first_barrier((guarded, Barrier())) == (guarded, Barrier())
