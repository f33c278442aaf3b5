"""Loops over neighbours that stand in registers of a thread alone in its block: one vector for compilers that need to
be told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from generator.expr import Binary, Int, Load, Name
from generator.lowering import lower
from generator.lowering.core.vectors import is_vector
from generator.lowering.heuristics.starts import start_plans
from generator.nest import Assign, For
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.target import Dialect
from tests.support.devices import check_plans
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of, scop
from tests.support.runners import needed_device
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET, polybench_program, problem
from tests.support.targets import CPU

SIZES = ("NI=21", "NJ=37", "NK=9")


def gemm_plan(tile: tuple[int, int], block: tuple[int, int] = (1, 1)) -> Plan:
    """Results in registers, loops over them inside of the sum."""
    return Plan(ScheduleChoice(), (KernelPlan(("S0", "S1"), tile, block, points_inside=True, registers=True),))


def counted(count: int) -> For:
    return For("j", Int(0), Binary("<", Name("j"), Int(count)), 1, ())


def test_points_along_x_are_a_vector(golden: Callable[[str, str], None]) -> None:
    golden("vectors.cl", lower(polybench_program("gemm", SIZES), gemm_plan((4, 16)), TARGET).source)


@pytest.mark.parametrize(("tile", "block", "dialect", "found"), [
    ((4, 16), (1, 1), "opencl", "antune_vector(16)"), ((1, 4), (1, 1), "opencl", "antune_vector(4)"),
    ((4, 2), (1, 1), "opencl", "#pragma unroll 2"), ((2, 12), (1, 1), "opencl", "#pragma unroll 12"),
    ((4, 16), (1, 4), "opencl", "#pragma unroll 4"), ((4, 16), (1, 1), "cuda", "#pragma unroll 16")])
def test_what_is_no_vector_is_unrolled(
    tile: tuple[int, int], block: tuple[int, int], dialect: Dialect, found: str
) -> None:
    text = lower(polybench_program("gemm", SIZES), gemm_plan(tile, block), replace(TARGET, dialect=dialect)).source
    before = [
        line.strip()
        for line, loop in zip(text.splitlines(), text.splitlines()[1:], strict=False)
        if "for (int j_point" in loop
    ]
    assert found in before and ("antune_vector" in found) == any("antune_vector" in line for line in before)


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("A[k][j] * B[k]", True),
        ("A[k][j + 1] * B[j]", True),
        ("A[j][k]", False),
        ("A[k][2 * j]", False),
        ("A[k][31 - j]", False),
    ],
)
def test_only_neighbours_make_a_vector(term: str, found: bool) -> None:
    program = program_of(scop(f"for (int j = 0; j < 16; j++) for (int k = 0; k < 9; k++) x[j] += {term};",
                              "float x[16], A[32][33], B[33];"))
    plan = Plan(ScheduleChoice(), (KernelPlan(("S0",), (8,), (1,), points_inside=True, registers=True),))
    assert ("antune_vector(8)" in lower(program, plan, TARGET).source) == found
    assert not differences(program, run_plan(program, plan, np.random.default_rng(0)), run_original(program))


J = Name("j")


@pytest.mark.parametrize(
    ("target", "loop", "found"),
    [
        (Load("x", (J,)), counted(8), True),
        (Load("x", (Name("i"), J)), counted(8), True),
        (Load("x"), counted(8), False),
        (Load("x", (Int(0),)), counted(8), False),
        (Load("x", (J, Int(0))), counted(8), False),
        (Load("x", (Binary("min", J, Int(3)),)), counted(8), False),
        (Load("x", (Binary("min", J, Binary("*", Int(2), J)),)), counted(8), False),
        (Load("x", (J,)), replace(counted(8), step=2), False),
        (Load("x", (J,)), replace(counted(8), start=Int(1)), False),
        (Load("x", (J,)), counted(6), False),
        (Load("x", (J,)), replace(counted(8), condition=Binary("<=", J, Name("n"))), False),
    ],
)
def test_iterations_of_a_vector_write_neighbours(target: Load, loop: For, found: bool) -> None:
    """What all of them write is a sum, which compilers that are told to make a vector add in another order."""
    adds = replace(loop, body=(Assign(target, "+", Load("A", (Name("k"), J))),))
    assert is_vector(adds, 8) == found


def test_searches_on_cpus_begin_with_such_a_plan() -> None:
    program = polybench_program("gemm", SIZES)
    assert sum("antune_vector(16)" in lower(program, plan, CPU).source for plan in start_plans(program, CPU)) == 1


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize("kind", few(["float", "double", "int"], 1))
def test_devices_compute_what_c_does(kind: str, platform: str, tmp_path: Path) -> None:
    device = needed_device(platform)
    found = problem("gemm", (*SIZES, f"DATA_TYPE_IS_{kind.upper()}"))
    plans = [gemm_plan((4, 16)), gemm_plan((2, 32)), gemm_plan((8, 4)), gemm_plan((3, 12)), gemm_plan((1, 64))]
    check_plans(device, found, plans)
