"""Conditions and subscripts that depend on data: whole programs, on a real device and compared with the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.problem import Problem
from metrics.outcome import Outcome, Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.space_plans import failures

PROGRAM = """#include <stdio.h>
#define N 61
#define M 37
static double x[N], y[N], A[N][M], B[N][M], m = -1;
static int idx[N], bin[N], h[N], k, flag[N];
static unsigned char byte[N];

int main(void)
{
  for (int i = 0; i < N; i++) {
    x[i] = (i * 37 % 23) - 11;
    y[i] = i % 5;
    idx[i] = (i * 31 + 7) % N;
    bin[i] = i * i % 11;
    flag[i] = i % 3 == 0;
    byte[i] = (unsigned char)(i * 41);
    for (int j = 0; j < M; j++) {
      A[i][j] = (i * 17 + j * 29) % 13 - 6;
      B[i][j] = i - j;
    }
  }
#pragma scop
BODY
#pragma endscop
  printf("%f\\n", x[0] + y[0] + A[0][0] + B[0][0] + h[0] + k + m + byte[0]);
  return 0;
}
"""
EACH = "for (int i = 0; i < N; i++) "
ALL = EACH + "for (int j = 0; j < M; j++) "

BODIES = {
    "histogram": EACH + "h[bin[i]]++;",
    "scatter": EACH + "y[idx[i]] = 2 * x[i];",
    "gather": EACH + "y[i] = x[idx[i]];",
    "gather twice": EACH + "y[i] += x[idx[idx[i]]] * A[idx[i]][i % M];",
    "row of a table": ALL + "B[i][j] = A[idx[i]][j];",
    "column of a table": ALL + "B[i][bin[j]] += A[i][j];",
    "byte as subscript": EACH + "h[byte[i] % N] += 1;",
    "product of iterators": ALL + "B[i][j] += x[i * j % N];",
    "threshold": ALL + "if (A[i][j] > 0) B[i][j] = 0;",
    "threshold in place": ALL + "if (A[i][j] < 0) A[i][j] = -A[i][j];",
    "both parts": ALL + "if (A[i][j] > x[i]) B[i][j] = A[i][j]; else B[i][j] += 1;",
    "part of the iterations": ALL + "if (i < j && A[i][j] > 0) B[i][j] = B[j][i]; else B[i][j] = 3;",
    "either": EACH + "if (i == 0 || x[i - 1] > 0) y[i] = 1; else y[i] = x[i - 1];",
    "affine parts behind": EACH + "if (flag[i] && i > 0) y[i] = x[i - 1];",
    "argmax": EACH + "if (x[i] > m) { m = x[i]; k = i; }",
    "maximum": EACH + "if (x[i] > m) m = x[i];",
    "count": EACH + "if (x[i] > 0) k++;",
    "loop in a branch": EACH + "if (flag[i]) for (int j = 0; j < M; j++) B[i][j] = A[i][j]; else { y[i] = x[i]; "
                               "for (int j = 1; j < M; j++) B[i][j] = B[i][j - 1]; }",
    "nested": ALL + "if (flag[i]) { B[i][j] = 1; if (A[i][j] > 0) B[i][j] = A[i][j]; else if (j > 3) A[i][j] = 0; } "
                    "else if (x[i] > y[i]) B[i][j] = -1;",
    "branch changes its condition": ALL + "if (A[i][j] > 0) { A[i][j] = -1; B[i][j] = 5; } else A[i][j] = 7;",
    "loop changes its condition": EACH + "if (x[i] > 0) for (int j = 0; j < M; j++) { B[i][j] = x[i]; x[i] -= 3; }",
    "changed inside and outside": EACH + "if (flag[i]) { if (x[i] > 0) { x[i] = -x[i]; flag[i] = 0; y[i] = 2; } "
                                         "else { flag[i] = 4; y[i] = 3; } h[i] = 1; }",
    "scalar of an iteration": EACH + "{ double t = y[i]; if (x[i] > 0) t = x[i]; for (int j = 0; j < M; j++) "
                                     "B[i][j] = t; }",
    "unsigned": "for (unsigned u = 0; u < N; u++) if (u - 3 < 9 && flag[u]) y[u] = x[(u - 1 + N) % N];",
    "between zero and one": EACH + "if (i > 0.5 * N) y[(int)(0.5 * i + 0.25)] = x[i];",
    "in a chosen value": EACH + "y[i] = flag[i] ? x[idx[i]] : idx[i];",
}


# The others differ from these in what the front end makes of them. tests/generator/frontend_c/test_conditions.py
# compares that with C on a simulated device.
QUICK = ("histogram", "threshold", "branch changes its condition", "unsigned")


def captured(name: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("BODY", BODIES[name]), folder), Compilation(), None, None, {}, 0)


def outcome_of(found: Problem, **changes: bool) -> Outcome:
    """Of the default plan, with `changes` in all of its kernels."""
    device = device_named("pocl")
    plan = default_plan(found.program, device.target)
    kernels = tuple(replace(kernel, **changes) for kernel in plan.kernels)  # type: ignore[arg-type]  # fields by name
    return outcomes_of(device, found, [replace(plan, kernels=kernels)])[0]


@in_turn
@pytest.mark.parametrize("name", few(QUICK, 2))
def test_default_plans_on_pocl(name: str, tmp_path: Path) -> None:
    outcome = outcome_of(captured(name, tmp_path))
    assert isinstance(outcome, Timed), outcome.message


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_random_plans_on_pocl(name: str, tmp_path: Path) -> None:
    assert failures(captured(name, tmp_path), "pocl", 2, 1) == []


def test_stores_by_atomic_exchange_keep_their_condition(tmp_path: Path) -> None:
    outcome = outcome_of(captured("threshold", tmp_path), exchange=True)
    assert isinstance(outcome, Timed), outcome.message


def test_registers_that_may_stay_unwritten(tmp_path: Path) -> None:
    outcome = outcome_of(captured("threshold", tmp_path), registers=True)
    assert isinstance(outcome, Timed), outcome.message
