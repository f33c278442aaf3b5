"""Loops whose bounds are data: what they compute is what C computes, whatever the data are; what cannot be a fold is
refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.errors import InputError
from generator.expr import Fold
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.expansion import expand
from generator.problem import Problem
from tests.support.devices import check_default_plan
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import in_turn
from tests.support.space_plans import failures
from tests.support.suite import TARGET

PROGRAM = """#include <complex.h>
#include <stdio.h>
#define N 67
#define M 9
#define MOST (N * 12)
struct pair { float re, im; };
static int row[N + 1], col[MOST], length[N], count[N], best[N], deg[N];
static double val[MOST], x[N], y[N], z[N], diag[N], B[N][M], C[N][M], flat[N * M], total;
static float f[MOST], g[N];
static unsigned long first[N + 1];
static double complex w[MOST], cx[N], cy[N];
static struct pair p[MOST], q[N];

int main(void)
{
  int at = 0, c = 0;
  for (int i = 0; i < N; i++) {
    row[i] = at;
    first[i] = (unsigned long)at;
    for (int k = 0; k < i * i % 12; k++) {
      col[at] = (i * 31 + k * 17) % N;
      val[at] = (at * 37 % 23) - 11.5;
      f[at] = (float)(at % 7) - 2.25f;
      w[at] = val[at] + I * f[at];
      p[at].re = f[at];
      p[at].im = 1.5f;
      at++;
    }
    length[i] = at - row[i];
    deg[i] = at - row[i];
    x[i] = (i * 29 % 13) - 6;
    y[i] = i % 5;
    cx[i] = x[i] + I;
    for (int j = 0; j < M; j++) B[i][j] = flat[i * M + j] = (i * 17 + j * 29) % 13 - 6;
  }
  row[N] = at;
  first[N] = (unsigned long)at;
  (void)c;
#pragma scop
BODY
#pragma endscop
  printf("%f\\n", y[0] + z[1] + diag[2] + C[3][4] + best[5] + count[6] + total
    + g[7] + creal(cy[8]) + q[9].re + deg[1] + flat[3]);
  return 0;
}
"""
EACH = "for (int i = 0; i < N; i++) "
ROW = "for (int k = row[i]; k < row[i + 1]; k++) "

BODIES = {
    "spmv": EACH + ROW + "y[i] += val[k] * x[col[k]];",
    "local sum": EACH + "{ double s = 0; " + ROW + "{ int c = col[k]; double v = val[k]; s += v * x[c]; } z[i] = s; }",
    "variable of the function": EACH + "{ z[i] = 0; " + ROW + "{ c = col[k]; z[i] += val[k] * x[c]; } }",
    "float": EACH + "{ g[i] = 0; " + ROW + "g[i] += f[k] * x[col[k]]; }",
    "lengths": EACH
    + "{ double s = 1; for (int k = 0; k < length[i]; k++) s *= 1 + 0.01 * val[row[i] + k]; z[i] = s; }",
    "unsigned long": EACH + "for (unsigned long k = first[i]; k < first[i + 1]; k++) y[i] += val[k];",
    "backwards by two": EACH + "for (int k = row[i + 1] - 1; k >= row[i]; k -= 2) y[i] -= val[k] * x[col[k]];",
    "and the data": EACH + "for (int k = row[i]; k < row[i + 1] && val[k] < 8; k++) count[i]++;",
    "diagonal and rest": EACH
    + "{ double s = 0, d = 1; "
    + ROW
    + "{ if (col[k] == i) d = val[k]; else s += val[k] * x[col[k]]; } "
    "z[i] = (y[i] - s) / d; diag[i] = d; }",
    "greatest": EACH + "{ double m = -1e9; " + ROW + "if (val[k] > m) m = val[k]; z[i] = m; }",
    "last": EACH + ROW + "best[i] = col[k];",
    "twice": EACH + ROW + "{ y[i] += val[k]; y[i] *= 0.5; }",
    "two results": EACH + ROW + "{ y[i] += val[k]; count[i] += val[k] > 0 ? 1 : 2; }",
    "chain": EACH + ROW + "z[i] = diag[i] = val[k];",
    "conditions in conditions": EACH
    + ROW
    + "{ double v = val[k]; if (v > 0) { double u = v * x[col[k]]; if (u > v) y[i] += u; else y[i] -= v; } "
    "else if (col[k] < i) z[i] += x[col[k]]; }",
    "continue": EACH + ROW + "{ if (col[k] == i) continue; y[i] += val[k]; }",
    "under a condition": EACH + "if (x[i] > 0) " + ROW + "y[i] += val[k];",
    "matrix": EACH + ROW + "for (int j = 0; j < M; j++) C[i][j] += val[k] * B[col[k]][j];",
    "matrix with variables": EACH
    + ROW
    + "{ double v = val[k]; int c = col[k]; for (int j = 0; j < M; j++) C[i][j] += v * B[c][j]; }",
    "matrix in one dimension": EACH + ROW + "for (int j = 0; j < M; j++) flat[i * M + j] += val[k] * B[col[k]][j];",
    "two steps away": EACH + ROW + "for (int l = row[col[k]]; l < row[col[k] + 1]; l++) y[i] += val[k] * val[l];",
    "sum inside": EACH
    + ROW
    + "{ double d = 0; for (int j = 0; j < M; j++) d += B[i][j] * B[col[k]][j]; z[i] += val[k] * d; }",
    "product of a sum": EACH + ROW + "{ for (int j = 0; j < M; j++) y[i] += B[col[k]][j]; y[i] *= 0.25; }",
    "a condition on a sum inside": EACH
    + ROW
    + "{ int n = 0; for (int l = row[col[k]]; l < row[col[k] + 1]; l++) if (col[l] == i) n++; "
    "if (n) count[i] += n; }",
    "loop in a branch": EACH + ROW + "if (val[k] > 0) for (int j = 0; j < M; j++) y[i] += B[col[k]][j];",
    "all rows": EACH + ROW + "total += val[k];",
    "complex": EACH + ROW + "cy[i] += w[k] * cx[col[k]];",
    "structures": EACH + ROW + "{ q[i].re += p[k].re; q[i].im += p[k].im * p[k].re; }",
    "function": EACH + ROW + "y[i] += fmax(val[k], x[col[k]]);",
    "whole sweep": "for (int t = 0; t < 3; t++) { "
    + EACH
    + "{ double s = 0; "
    + ROW
    + "s += val[k] * x[col[k]]; z[i] = s; } "
    + EACH
    + "x[i] = 0.01 * z[i]; }",
    "depends on another": EACH + ROW + "{ count[i]++; y[i] += val[k] * count[i]; }",
    "place of the greatest": EACH + "{ double m = -1e9; " + ROW + "if (val[k] > m) { m = val[k]; best[i] = col[k]; } }",
    "both at once": EACH + ROW + "{ double t = y[i]; y[i] = z[i] + 1; z[i] = 0.5 * t + val[k]; }",
    "changes its bounds": EACH
    + "for (int k = row[i]; k < row[i] + deg[i]; k++) if (deg[i] > 3) deg[i]--; else y[i] += val[k];",
    "bounded by a sum inside": EACH
    + ROW
    + "{ int n = 0; for (int l = row[col[k]]; l < row[col[k] + 1]; l++) n += col[l] % 2; "
    "for (int m = 0; m < n; m++) y[i] += val[k] * m; }",
    "a sum inside twice": EACH
    + ROW
    + "{ double d = 0; for (int j = 0; j < M; j++) d += B[col[k]][j]; y[i] += d * d; z[i] -= d; d *= 2; "
    "if (d > 3) for (int j = 0; j < M; j++) y[i] += d * B[i][j]; }",
    "carried in a variable": "double s = 0, u = 3; " + EACH + ROW + "{ s += 0.01 * val[k]; u = s; y[i] += s; }",
    "break": EACH + ROW + "{ if (col[k] % 7 == 3) { z[i] = val[k]; break; } y[i] += val[k]; }",
    "break in both parts": EACH
    + ROW
    + "{ if (val[k] > 5) { z[i] = 1; break; } else { y[i] += 1; if (val[k] < -5) break; } count[i]++; }",
    "break inside": EACH
    + ROW
    + "for (int l = row[col[k]]; l < row[col[k] + 1]; l++) { if (col[l] % 5 == 1) break; y[i] += val[l]; }",
    "neighbour's row": EACH + "if (i > 0) for (int k = row[i - 1]; k < row[i]; k++) y[i] += val[k] * y[i - 1] * 0.01;",
}

REFUSED = {
    "elements of the loop": (EACH + ROW + "val[k] *= x[i];", "writes elements of `val` that depend on its iterations"),
    "scatter": (EACH + ROW + "y[col[k]] += val[k];", "writes elements of `y` that depend on its iterations"),
    "neighbours": (
        EACH + ROW + "{ y[i] += val[k]; z[i] += y[(i + 1) % N]; }",
        "uses several elements of `y`, which it changes",
    ),
    "changes its iterator": (EACH + ROW + "{ y[i] += val[k]; k++; }", "the iterator is changed inside its loop"),
    "while": (EACH + ROW + "{ while (y[i] > 1) y[i] /= 2; }", "such a loop holds assignments, `if`/`else` and loops"),
}


def captured(body: str, folder: Path) -> Problem:
    return read_untimed(
        write_c(
            PROGRAM.replace("BODY", body).replace("#include <stdio.h>", "#include <math.h>\n#include <stdio.h>"), folder
        ),
        Compilation(),
        None,
        None,
        {},
        0,
    )


@in_turn
def test_default_plans_on_pocl(tmp_path: Path) -> None:
    """One of three, in a program together; `-m slow` checks each of them alone."""
    found = captured("\n".join(list(BODIES.values())[::3]), tmp_path)
    check_default_plan(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_random_plans_on_pocl(name: str, tmp_path: Path) -> None:
    found = captured(BODIES[name], tmp_path)
    assert any(isinstance(statement.body.value, Fold) for statement in found.program.statements)
    assert failures(found, "pocl", 3, 1) == []


MODELLED = "int row[8], idx[20]; double A[7][5], B[7][5], x[20], y[8];"
FROM_TO = "for (k = row[i] % 5; k < row[i + 1] % 12; k++) "
MODELS = {
    "sums": "for (i = 0; i < 7; i++) { double s = 0; " + FROM_TO + "s += x[idx[k] % 20]; y[i] = s; }",
    "a break": "for (i = 0; i < 7; i++) " + FROM_TO + "{ if (idx[k] % 7 > 4) break; y[i] += x[k]; }",
    "a matrix": "for (i = 0; i < 7; i++) " + FROM_TO + "for (j = 0; j < 5; j++) A[i][j] += x[k] * B[idx[k] % 7][j];",
}


@pytest.mark.parametrize("name", MODELS)
def test_every_thread_of_a_gpu_computes_its_own(name: str) -> None:
    made = expand(program_of(scop(MODELS[name], MODELLED)))
    plan = default_plan(made, TARGET)
    assert all(kernel.tile for kernel in plan.kernels)  # parallel loops
    for seed in range(4):
        assert not differences(made, run_plan(made, plan, np.random.default_rng(seed)), run_original(made))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    body, essence = REFUSED[name]
    with pytest.raises(InputError) as caught:
        captured(body, tmp_path)
    assert essence in str(caught.value) and caught.value.location is not None
