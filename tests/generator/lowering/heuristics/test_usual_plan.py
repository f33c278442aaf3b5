"""The default plan by kind of device: one thread per block on CPUs, PPCG's choice on GPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.search.parts import PARTS
from experiments.suites.polybench import program_file
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.usual import usual_plan
from generator.polyhedral.dependences.expansion import expand
from generator.schedules.stages import Stages
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import TARGET, polybench_program
from tests.support.targets import HOPPER

CPU = replace(TARGET, shares_host_cores=True, compute_units=2)


@pytest.mark.parametrize("name", few(["gemm", "atax", "cholesky", "jacobi-2d", "heat-3d"], 3))
def test_a_block_has_one_thread_on_a_cpu(name: str) -> None:
    program = polybench_program(name)
    plan = usual_plan(program, CPU)
    assert all(set(kernel.block) <= {1} and not kernel.shared for kernel in plan.kernels)
    assert "barrier" not in lower(program, plan, CPU).source
    assert plan != default_plan(program, CPU)
    assert usual_plan(program, HOPPER) == default_plan(program, HOPPER)


def test_a_matrix_multiplication_keeps_vectors_in_registers() -> None:
    program = polybench_program("gemm")
    *_, update = usual_plan(program, CPU).kernels
    assert update.registers and update.tile == (4, 16) and update.points_inside
    assert "antune_vector(16)" in lower(program, usual_plan(program, CPU), CPU).source


MATRICES = """for (b = 0; b < 99; b++) for (k = 0; k < 8; k++) for (i = k + 1; i < 8; i++) {
  M[b][i][k] /= M[b][k][k];
  for (j = k + 1; j < 8; j++) M[b][i][j] -= M[b][i][k] * M[b][k][j];
}"""
PLANES = """for (b = 0; b < 99; b++) for (k = 0; k < 8; k++) for (i = k + 1; i < 8; i++) {
  P[i][k][b] /= P[k][k][b];
  for (j = k + 1; j < 8; j++) P[i][j][b] -= P[i][k][b] * P[k][j][b];
}"""
SUMS = """for (b = 0; b < 99; b++) {
  double t = 0;
  for (j = 0; j < 64; j++) t += M[b][j / 8][j % 8] * x[j];
  y[b] = t;
}"""
POINTS_INSIDE = {
    MATRICES: False,
    PLANES: True,
    SUMS: False,
    "for (b = 0; b < 99; b++) for (i = 1; i < 8; i++) M[b][0][0] += M[b][1][i] / x[i];": True,
    "for (b = 0; b < 99; b++) for (i = 1; i < 8; i++) M[b][0][i] += 0.5 * M[b][0][i - 1];": True,
}


@pytest.mark.parametrize("text", POINTS_INSIDE)
def test_points_far_from_each_other_run_one_by_one_on_a_cpu(text: str) -> None:
    program = expand(program_of(scop(text, "double M[99][8][8], P[8][8][99], x[64], y[99]; int b;")))
    plan = usual_plan(program, CPU)
    assert [kernel.points_inside for kernel in plan.kernels] == [POINTS_INSIDE[text]]


def test_filters_along_rows_stay_in_vectors_of_rows() -> None:
    """Each element follows from the previous ones of its row, which variables hold."""
    plan = usual_plan(polybench_program("deriche"), CPU)
    filters = [kernel for kernel in plan.kernels if {"S16", "S24"} & {*kernel.statements}]
    assert len(filters) == 2 and all(kernel.points_inside for kernel in filters)


def test_where_it_is_illegal_the_default_plan_is_that_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    program = polybench_program("gemm")
    default = default_plan(program, CPU)
    wrong = replace(default, kernels=tuple(replace(k, tile=(7, 7), block=(2, 2)) for k in default.kernels))
    monkeypatch.setattr("generator.lowering.heuristics.usual.vectors_plan", lambda *_: wrong)
    assert usual_plan(program, CPU) == default


def test_the_plan_of_gpus_is_another_one_on_cpus_only() -> None:
    program = polybench_program("mvt")
    options = RunOptions(str(program_file("mvt")), Compilation(), Budget(evaluations=1))
    assert PARTS.gpu_plan(program, HOPPER, options) is None
    assert (
        PARTS.gpu_plan(program, CPU, options) == default_plan(program, CPU) != PARTS.default_plan(program, CPU, options)
    )


def test_pipelines_begin_stage_by_stage() -> None:
    from experiments.suites.image_pipelines import pipeline
    from generator.reading import read_problem

    one = pipeline("blur")
    program = read_problem(Path(one.file), Compilation(), None, None, dict(one.parameters_at("small")), 0).program
    plan = usual_plan(program, CPU, Stages())
    assert plan.schedule == Stages() and {size for kernel in plan.kernels for size in kernel.block} == {1}
