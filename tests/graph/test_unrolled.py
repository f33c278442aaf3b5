"""On CPUs, only kernels with sums or other loops of the program are unrolled: factors would prevent vectors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.program import Program
from tests.support.stages import offered_plans
from tests.support.suite import TARGET, pipeline_program, polybench_program
from tests.support.targets import HOPPER

CPU = replace(TARGET, shares_host_cores=True, local_bytes=256 * 1024)


@pytest.mark.parametrize(("program", "some"), [
    (pipeline_program("harris"), False), (pipeline_program("unsharp"), False), (polybench_program("jacobi-2d"), False),
    (pipeline_program("nl_means"), True), (pipeline_program("histogram_equalize"), True),
    (polybench_program("gemm"), True)], ids=lambda one: getattr(one, "name", None))  # fmt: skip
def test_factors_are_offered_for_sums_and_updates(program: Program, some: bool) -> None:
    unrolled = [kernel for plan in offered_plans(program, CPU, 8, 0) for kernel in plan.kernels if kernel.unroll > 1]
    assert bool(unrolled) == some


def test_gpus_unroll_loops_over_points() -> None:
    plans = offered_plans(pipeline_program("harris"), HOPPER, 8, 0)
    assert any(kernel.unroll > 1 for plan in plans for kernel in plan.kernels)
