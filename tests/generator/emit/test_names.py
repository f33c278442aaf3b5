"""Programs whose arrays, scalars and iterators are called like words of device languages or like generated names."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.arithmetic import FUNCTIONS
from generator.emit.names import free_name, renamed, reserved
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering.core.assemble import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Placement, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from runners.base import Limits
from tests.support.devices import check_plans, device_named
from tests.support.plans import random_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.targets import CUDA

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)

LOOPS = "for (i = 0; i < 9; i++) for (j = 0; j < 8; j++) "
PROGRAMS = {
    "indices": ("double b0[9], t0[8], e0[9][8], b0_[9];", LOOPS + "b0[i] += t0[j] * e0[i][j] + b0_[i];"),
    "iterators": (
        "double A[9][9], t0_[9]; int t0, b0, e0;",
        """
      for (t0 = 0; t0 < 3; t0++) for (b0 = 1; b0 < 8; b0++) for (e0 = 1; e0 < 8; e0++)
        A[b0][e0] = A[b0][e0 - 1] + A[b0 - 1][e0] + t0_[e0];""",
    ),
    "opencl": (
        "float kernel[9], global[9], local[9][8], half, float4[8], image2d_t[8], uint, get_local_id[9];",
        LOOPS
        + """
      kernel[i] += (global[i] + half) * local[i][j] * float4[j] + image2d_t[j] * uint + get_local_id[i];""",
    ),
    "cuda": (
        "double threadIdx[9], texture[8], new[9][8], this, __shared__[8];",
        LOOPS
        + """
      threadIdx[i] += texture[j] * new[i][j] * this + __shared__[j];""",
    ),
    "functions": (
        "float min[9], exp[8], A[9][8], M_PI[9], barrier[8]; int sqrt, max;",
        """
      for (sqrt = 0; sqrt < 9; sqrt++) for (max = 0; max < 8; max++)
        min[sqrt] += expf(A[sqrt][max]) * exp[max] + sqrtf(M_PI[sqrt]) * barrier[max];""",
    ),
    "generated": (
        "double A[9][8], A_shared[8], A_here[9], A_0[8], kernel0[9], double_parts[9]; int A_1;",
        """
      for (A_1 = 0; A_1 < 9; A_1++) for (j = 0; j < 8; j++)
        kernel0[A_1] += A[A_1][j] * A_shared[j] + A_here[A_1] * A_0[j] + double_parts[A_1];""",
    ),
}


def plans_of(program: Program, count: int) -> list[Plan]:
    """The default plan and random ones."""
    rng, plans = np.random.default_rng(1), [default_plan(program, CUDA)]
    for _ in range(20 * count):
        try:
            plan = random_plan(program, rng)
            lower(program, plan, CUDA)
            plans.append(plan)
        except IllegalPlan:
            continue
        if len(plans) > count:
            break
    return plans


@in_turn
@pytest.mark.parametrize("name", few(PROGRAMS, 1))
def test_they_run_right_on_pocl(name: str, tmp_path: Path) -> None:
    declarations, body = PROGRAMS[name]
    found = read_untimed(write_c(scop(body, declarations), tmp_path), Compilation(), None, None, {}, 1)
    device = device_named("pocl")
    check_plans(device, found, [default_plan(found.program, device.target), *plans_of(found.program, 2)[1:]])


@in_turn
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", few(PROGRAMS, ["cuda"]))
def test_nvcc_accepts_them(name: str, tmp_path: Path) -> None:
    declarations, body = PROGRAMS[name]
    program = program_of(scop(body, declarations))
    placed = [array.name for array in program.arrays if array.role == "in" and array.extents]
    for number, plan in enumerate(plans_of(program, 2)):
        memory: Placement = "texture" if number % 2 else "constant"
        plan = replace(plan, placement=tuple((name, memory) for name in sorted(placed)))
        file = tmp_path / f"{name}{number}.cu"
        file.write_text(lower(program, plan, CUDA).source)
        result = subprocess.run(["nvcc", "-Werror", "all-warnings", "-cubin", "-o", str(file.with_suffix(".cubin")),
                                 str(file)], capture_output=True, text=True, check=False)
        assert result.returncode == 0, (result.stderr, file.read_text())


def test_other_names_stay_as_they_are() -> None:
    program = program_of(scop("for (i = 0; i < 8; i++) for (j = 0; j < 5; j++) x[i] += A[i][j] * s;"))
    source = lower(program, Plan(ScheduleChoice(), (KernelPlan(("S0",), (8,), (4,)),)), CUDA).source
    assert re.search(r"\(const double \*__restrict__ A, double \*__restrict__ x, const double s\)", source)


def test_functions_that_programs_may_call_are_reserved() -> None:
    assert all(reserved(function) for function in FUNCTIONS)
    assert not any(reserved(name) for name in ("A", "x", "tmp", "y1", "data", "b", "t", "e1x", "mean"))


def test_new_names_are_new() -> None:
    assert renamed(["A", "b0", "t0", "barrier"], {"A", "b0", "b0_"}) == {
        "b0": "b0__",
        "t0": "t0_",
        "barrier": "barrier_",
    }
    assert free_name("t0", {"t0_"}) == "t0__"


@given(
    st.from_regex(r"[A-Za-z_]\w{0,8}", fullmatch=True)
    | st.sampled_from(["M_PI", "__shared__", "_Bool", "kernel", "e3"]),
    st.sets(st.sampled_from(["M_PI_", "own_M_PI", "kernel_", "e3_", "own___shared__"])),
)
def test_there_is_a_free_name_for_every_name(name: str, taken: set[str]) -> None:
    found = free_name(name, taken)
    assert not reserved(found) and found not in taken
    assert found == name or reserved(name) or reserved(f"{name}_") or name in taken
