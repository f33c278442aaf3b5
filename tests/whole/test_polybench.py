"""All 30 PolyBench programs, end to end: read, scheduled, generated, run on PoCL and compared with the original."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.usual import usual_plan
from runners.base import Limits
from tests.support.devices import check_plans, device_named
from tests.support.slow import few
from tests.support.suite import ALL_NAMES, TARGET, polybench_program, problem

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)
MINI = ("MINI_DATASET",)
# Some of what the eight of NAMES lack: three dimensions, integers and `?:`.
QUICK = ("heat-3d", "nussinov")
FLOAT = "DATA_TYPE_IS_FLOAT"
# Rounding errors decide what these compute: the last columns of gramschmidt, which has fewer rows than columns, are
# what rounding left of zero; durbin's matrix is nearly singular.
UNDETERMINED = ("durbin", "gramschmidt")


@pytest.mark.parametrize("name", few(ALL_NAMES, (*QUICK, "gemm", "lu")))
def test_kernels_by_the_default_plan(name: str) -> None:
    program = polybench_program(name, MINI)
    variant = lower(program, default_plan(program, TARGET), TARGET)
    covered = {statement for kernel in variant.kernels for statement in kernel.statements}
    assert covered == {statement.name for statement in program.statements}
    assert all(kernel.local_bytes <= TARGET.local_bytes for kernel in variant.kernels)


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
                                  for name in ALL_NAMES])
def test_the_default_plan_is_right_on_pocl(name: str, tmp_path: Path) -> None:
    check_default_plan(name, MINI)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_NAMES)
def test_the_default_plan_is_right_at_the_next_size(name: str, tmp_path: Path) -> None:
    check_default_plan(name, ("SMALL_DATASET",))


@pytest.mark.parametrize("size", ["MINI_DATASET", pytest.param("SMALL_DATASET", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", few(UNDETERMINED, 1))
def test_the_default_plan_is_right_in_float(name: str, size: str, tmp_path: Path) -> None:
    check_default_plan(name, (size, FLOAT))


def check_default_plan(name: str, defines: tuple[str, ...]) -> None:
    found = problem(name, defines)
    device = device_named("pocl")
    check_plans(device, found, [choose(found.program, device.target) for choose in (usual_plan, default_plan)])
