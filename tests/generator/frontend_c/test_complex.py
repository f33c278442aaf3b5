"""Complex numbers in a SCoP: pairs of real ones, with the results that C has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from experiments.exports.write import export
from experiments.store import read_store
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.problem import Problem
from tests.support.devices import check_default_plan
from tests.support.exports import stored_run
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn

PROGRAM = """#include <complex.h>
#include <math.h>
#include <stdio.h>
#define N 24
typedef double complex wide;
static float complex a[N], b[N][N], c = 0.5f - 0.25f * I, total;
static wide d[N], e[N];
static float x[N];
static int next[N], escaped[N];
int main(void) {
  for (int i = 0; i < N; i++) {
    a[i] = (i % 7 - 3) * 0.5f + (i % 5 - 1.5f) * I; d[i] = i % 11 * 0.25 - 1.1 * I; x[i] = i % 3 - 0.75f;
    next[i] = (i * 5 + 1) % N;
    for (int j = 0; j < N; j++) b[i][j] = i * 0.1f - j * 0.2f * I;
  }
#pragma scop
BODY
#pragma endscop
  printf("%f\\n", crealf(a[1]) + cimag(e[2]) + x[3] + crealf(b[1][2]) + crealf(total));
  return 0;
}
"""
EACH = "for (int i = 0; i < N; i++) "
ACCEPTED = {
    "square and add": EACH + "a[i] = a[i] * a[i] + c;",
    "quotients": EACH + "{ e[i] = d[i] / (2.5 - d[i] * d[i]); a[i] = 1 / (a[i] + 3 * I); d[i] = d[i] / 3; }",
    "compound assignments": EACH
    + "{ a[i] *= a[i]; a[i] -= c * x[i]; a[i] /= 2 + 0.5f * I; a[i] += I; a[i] += a[i] * c; d[i] *= 2; }",
    "parts": EACH
    + "{ x[i] = crealf(a[i]) * cimagf(a[i] + c) + cabsf(a[i] * c); e[i] = conj(d[i]) * -d[i] + x[i]; x[i] += "
        "creal(I); }",
    "mixed widths": EACH + "{ e[i] = a[i] * d[i] + x[i]; a[i] = d[i] * d[i]; d[i] = x[i]; }",
    "real into complex": EACH + "{ a[i] = x[i]; e[i] = x[i] * I; }",
    "local variable": EACH
    + "{ float complex z = a[i]; z = z * z + c; z = z * z + c; escaped[i] = cabsf(z) > 2; a[i] = z - conjf(z); }",
    "names like parts": EACH
    + "{ float z_re = 3, z_im_1 = 2; float complex z = a[i]; z *= z; x[i] = z_re + crealf(z) - z_im_1; }",
    "sum": "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) total += b[i][j] * a[j];",
    "swapped": EACH + "for (int j = 0; j < i; j++) b[i][j] = b[j][i] * (crealf(b[i][j]) + I * cimagf(c));",
    "exponential": EACH + "{ e[i] = cexp(d[i] * 0.25); a[i] = cexpf(-2 * I * x[i]); }",
    "condition": EACH + "if (cabsf(a[i]) > 1) a[i] = a[i] / cabsf(a[i]); else a[next[i] % 1 + i] = 0;",
}
REFUSED = {
    "where a real number is needed": ("x[i] = a[i] * 2;", "`a[i]` is complex where a real number is needed"),
    "a comparison": ("if (a[i] == c) x[i] = 1;", "`a[i]` is complex where a real number is needed"),
    "a function": ("a[i] = csqrtf(a[i]);", "`a[i]` is complex where a real number is needed"),
    "a chain": ("a[i] = d[i] = 0;", "write one assignment per complex number"),
    "a cast": ("a[i] = (double complex)x[i];", "casts to complex types"),
    "work under a condition": (
        "x[i] = i > 0 ? cabsf(b[i - 1][0] * a[i] * c * a[i]) : 0;",
        "computes with complex numbers under a condition",
    ),
}


def captured(body: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("BODY", body), folder), Compilation(), None, None, {}, 0)


@in_turn
@pytest.mark.parametrize("name", few(ACCEPTED, ("square and add",)))
def test_on_pocl(name: str, tmp_path: Path) -> None:
    found = captured(ACCEPTED[name], tmp_path)
    check_default_plan(found)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    statement, essence = REFUSED[name]
    with pytest.raises(InputError) as caught:
        captured("\n" + EACH + statement, tmp_path)
    assert essence in str(caught.value)
    assert "input.c:18: " in str(caught.value)


@in_turn
def test_a_python_export_checks_itself(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", write_c(PROGRAM.replace("BODY", ACCEPTED["local variable"]), tmp_path))
    with read_store(run) as store:
        export(store, Kind.python, None, tmp_path / "python")
    module = next((tmp_path / "python").glob("*.py")).stem
    done = subprocess.run(
        [sys.executable, "-m", module], cwd=tmp_path / "python", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
