"""Copies inside several loops, together with prologues, swizzled and padded rows, and rows of points together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, For, walk
from generator.plan import KernelPlan, Plan
from generator.problem import Problem, program_of
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.memory import Memory
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_kernel, run_plan
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

TEXT = """
static float Y[5][8], V[8], W[2][3][12][8], X[6][3][12];
int main(void) {
  float a = 1.5f;
  for (int i = 0; i < 6; i++) for (int q = 0; q < 3; q++) for (int k = 0; k < 12; k++)
    X[i][q][k] = (i * 5 + q * 3 + k) % 7 - 3;
  for (int p = 0; p < 2; p++) for (int q = 0; q < 3; q++) for (int k = 0; k < 12; k++) for (int j = 0; j < 8; j++)
    W[p][q][k][j] = (p + q * 5 + k * 3 + j * 2) % 9 - 4;
#pragma scop
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 8; j++) {
      Y[i][j] = V[j];
      for (int p = 0; p < 2; p++)
        for (int q = 0; q < 3; q++)
          for (int k = 0; k < 12; k++)
            Y[i][j] += a * X[i + p][2 - q][k] * W[p][q][k][j];
    }
#pragma endscop
  return (int)Y[3][3];
}
"""
"""A convolution whose factors are multiplied by a scalar."""

KERNEL = KernelPlan(("S0", "S1"), (8, 8), (2, 4), shared=True, inner_tile=8, depth=2)
LATER: Mapping[str, Any] = {"ahead": True, "asynchronous": True, "registers": True, "points_inside": True}
CHANGES: tuple[Mapping[str, Any], ...] = (
    {"prologue": True, "padding": 1},
    {"swizzled": ("W", "X"), "vector": 4, "run": 2},
    {"jam": True, "prologue": True, "swizzled": ("X",), "ahead": True, "vector": 2},
    {**LATER, "prologue": True, "padding": 4, "vector": 4},
    {**LATER, "prologue": True, "swizzled": ("W", "X"), "vector": 4, "run": 2},
    {"jam": True, "padding": 2, "depth": 1, "points_inside": True},
    {"prologue": True, "swizzled": ("W",), "depth": 1, "inner_tile": 4, "ahead": True},
)
PLANS = 150
TOGETHER = ("prologue", "swizzled", "jam", "padding")
REFUSALS = ("barrier", "is unrolled completely", "swizzled rows of S0, S1", "rows together of S0, S1")


@lru_cache
def found() -> Problem:
    return read_untimed(write_c(TEXT), Compilation(), None, None, {}, 0)


@lru_cache
def right() -> tuple[Program, Memory]:
    program = program_of(found().subject)
    return program, run_original(program)


def plan_of(changes: Mapping[str, Any]) -> Plan:
    return Plan(ScheduleChoice(), (replace(KERNEL, **changes),))


def takes_effect(changes: Mapping[str, Any]) -> bool:
    """Whether the kernel has what it should: also no copies are left out silently."""
    program, _ = right()
    [kernel] = lowered_kernels(program, plan_of(changes), "cuda")
    boxes = [box for box in kernel.shared if isinstance(box, CopiedBox)]
    stored = [node for node in walk(kernel.body) if isinstance(node, Assign)]
    loops = [node for node in walk(kernel.body) if isinstance(node, For)]
    return ({box.array for box in boxes} == {"W", "X"}
            and any(box.operation for box in boxes) == changes.get("prologue", False)
            and ("'^'" in repr(stored)) == bool(changes.get("swizzled"))
            and all(box.sizes[-1] == box.box[-1] + changes.get("padding", 0) for box in boxes)
            and any(loop.points == 4 for loop in loops) >= changes.get("jam", False)
            and any(loop.note.startswith("values of q") for loop in loops) == (changes.get("depth", 2) == 2))


@pytest.mark.parametrize("changes", few(CHANGES, 3))
def test_in_python(changes: Mapping[str, Any]) -> None:
    """All threads in random order between barriers, with every read of a copy compared with what it should be."""
    program, original = right()
    memory = run_plan(program, plan_of(changes), np.random.default_rng(1), target=HOPPER)
    assert takes_effect(changes) and not differences(program, memory, original)


@pytest.mark.slow
def test_random_plans_in_python() -> None:
    seen, (program, original) = Counter[str](), right()
    for seed in range(PLANS):
        rng = np.random.default_rng(seed)
        kernel = random_kernel(("S0", "S1"), 2, rng)
        kernel = replace(kernel, shared=True, exchange=False, depth=int(rng.integers(3)),
                         inner_tile=int(rng.choice([2, 4, 8])), prologue=bool(rng.integers(2)),
                         asynchronous=kernel.ahead and bool(rng.integers(2)))
        if rng.integers(2):
            kernel = replace(kernel, padding=0, swizzled=(("W",), ("X",), ("W", "X"))[int(rng.integers(3))])
        if rng.integers(3) == 0:
            kernel = replace(kernel, jam=True, registers=False)
        plan = Plan(ScheduleChoice(), (kernel,))
        try:
            memory = run_plan(program, plan, rng, target=HOPPER)
        except IllegalPlan as refused:
            assert any(words in str(refused) for words in REFUSALS), (plan.to_json(), refused)
            continue
        assert not differences(program, memory, original), plan.to_json()
        seen["right"] += 1
        seen.update(name for name in TOGETHER if kernel.depth and getattr(kernel, name))
    assert seen["right"] > PLANS // 3 and min(seen[name] for name in TOGETHER) > PLANS // 30, seen


@pytest.mark.slow
def test_no_races(watched_gpu: WatchedGpu) -> None:
    """On the stand-in driver."""
    watched_gpu.check(found(), list(map(plan_of, CHANGES)))


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["pocl", pytest.param("intel", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))])
def test_on_cpus(selector: str) -> None:
    check_plans(device_named(selector), found(), [plan_of(changes) for changes in CHANGES if not changes.get(
        "asynchronous")])
