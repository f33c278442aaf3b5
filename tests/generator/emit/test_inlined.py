"""The functions that kernels bring along compute what C's and Halide's do (`generator/emit/inlined.py`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from antune import halide as hl
from generator.emit.inlined import inlined_functions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from tests.support.devices import check_plans
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import problem_of, read_untimed
from tests.support.runners import needed_device
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET

SIZE = 70
SPECIAL = """#include <math.h>
#include <stdio.h>
static TYPE a[70], b[70], f[10][70];
static int k[70], n[70];
static long m[70];
int main(void)
{
  TYPE some[] = {0, -0.0, 1.5, -1.5, 2.5, -2.5, 0.49999997, 1e9, -1e30, INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 70; i++) {
    a[i] = some[i % 12];
    b[i] = some[(i * 5 + i / 12) % 12];
    k[i] = (i - 35) * 61356675;
  }
#pragma scop
  for (int i = 0; i < 70; i++) {
    f[0][i] = fminSUFFIX(a[i], b[i]);
    f[1][i] = fmaxSUFFIX(a[i], b[i]);
    f[2][i] = fabsSUFFIX(a[i]);
    f[3][i] = floorSUFFIX(a[i]);
    f[4][i] = ceilSUFFIX(a[i]);
    f[5][i] = truncSUFFIX(a[i]);
    f[6][i] = sqrtSUFFIX(a[i] < 0 ? 2 : a[i]);
    n[i] = abs(k[i]);
    m[i] = labs(k[i] * 4L);
  }
#pragma endscop
  for (int i = 0; i < 70; i++) printf("%g %g %d %ld", f[0][i], f[6][i], n[i], m[i]);
  return 0;
}
"""


NEAR = """#include <math.h>
#include <stdio.h>
static float a[4096], b[4096], f[4096], g[4096], most[2][4096];
static double exact[2][4096], h[4096];
static int n[2][4096];
int main(void)
{
  float some[] = {0, -0.0, 88.72283f, 88.7229f, -87.3f, -95, -103.9f, -110, 1e30f, -1e30f, INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 4096; i++) {
    a[i] = i < 13 ? some[i] : sinf(i) * (i % 2 ? 88 : 2);
    b[i] = i < 13 ? some[i] : ldexpf(1.5f + sinf(i) / 2, i % 2 ? 0 : i % 270 - 145);
    exact[0][i] = exp(a[i]);
    exact[1][i] = log(b[i]);
    for (int k = 0; k < 2; k++) {
      float size = fabs(exact[k][i]);
      most[k][i] = 1.2f * (nextafterf(size, INFINITY) - size);
    }
  }
#pragma scop
  for (int i = 0; i < 4096; i++) {
    f[i] = expf(a[i]);
    g[i] = logf(b[i]);
    h[i] = exp(1e-3 * a[i]) + log(2.0 + a[i] * a[i]);
    n[0][i] = fabs(expf(a[i]) - exact[0][i]) <= most[0][i];
    n[1][i] = fabs(logf(b[i]) - exact[1][i]) <= most[1][i];
  }
#pragma endscop
  for (int i = 0; i < 4096; i++) printf("%g %g %g %d %d", f[i], g[i], h[i], n[0][i], n[1][i]);
  return 0;
}
"""


def with_blocks(program: Program, tile: int, block: int) -> Plan:
    """The default plan with these sizes in all kernels, which have one dimension."""
    plan = default_plan(program, TARGET)
    return replace(plan, kernels=tuple(replace(k, tile=(tile,), block=(block,)) for k in plan.kernels))


def check_blocks(problem: Problem, platform: str) -> None:
    """One thread and several threads per block compute what the original does."""
    check_plans(needed_device(platform), problem, [with_blocks(problem.program, 32, block) for block in (1, 16)])


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize(("kind", "suffix"), few([("float", "f"), ("double", "")], 1))
def test_special_values(kind: str, suffix: str, platform: str, tmp_path: Path) -> None:
    text = SPECIAL.replace("TYPE", kind).replace("SUFFIX", suffix)
    problem = read_untimed(write_c(text, tmp_path), Compilation(), None, None, {}, 0)
    check_blocks(problem, platform)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_exponentials_and_logarithms(platform: str, tmp_path: Path) -> None:
    """Within 1.2 units of the last place, which a kernel and the original program tell by integers."""
    problem = read_untimed(write_c(NEAR, tmp_path), Compilation(), None, None, {}, 0)
    assert np.count_nonzero(problem.reference.outputs["n"]) > 2 * 4096 - 16, "all but special values"
    check_blocks(problem, platform)


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize(
    "kind", few([hl.UInt(32), hl.Int(64), hl.Float(32), hl.Int(32), hl.UInt(64), hl.Int(16)], 1), ids=str
)
def test_least_and_greatest_of_all_types(kind: hl.Type, platform: str, tmp_path: Path) -> None:
    x, out = hl.Var("x"), hl.Func("out")
    one, other = hl.cast(kind, x * 30000000 - 7), hl.cast(kind, 2000000000 - x * x * 400000)
    out[x] = hl.min(one, other) + hl.max(one, hl.cast(kind, 1)) / hl.max(
        hl.cast(kind, 2), hl.min(other, hl.cast(kind, 9))
    )
    check_blocks(problem_of([out], (SIZE,), "out"), platform)


def test_only_what_is_called() -> None:
    assert inlined_functions(frozenset({"fmod"}), frozenset()) == ""
    text = inlined_functions(frozenset({"fmin"}), frozenset())
    assert "antune_fmax" in text, "kernels with the same functions are compiled together"
    assert " antune_min(" not in text
    assert "__clang__" not in text


def test_one_thread_has_them_with_all_compilers() -> None:
    program = program_of(
        scop("for (i = 0; i < 60; i++) x[i] = sqrt(fmax(y[i], 3)) + fabs(z[i]);", "double x[60], y[60], z[60];")
    )
    alone, beside = (lower(program, with_blocks(program, 16, block), TARGET) for block in (1, 16))
    (kernel,), (other,) = alone.kernels, beside.kernels
    assert "antune_min(15, " in kernel.source
    assert (
        "= sqrt((double)(antune_fmax((double)(y[" in kernel.source
        and "= sqrt((double)(fmax((double)(y[" in other.source
    )
    assert "sqrt(fmax(y[i], 3))" in kernel.source, "the comment says what the program says"
    text = alone.preamble
    assert text.index("#ifdef __clang__") < text.index(" antune_min(int a") < text.index("#else")
    assert "#define antune_min min" in text, "another compiler has the built-in one"
    assert text.index("#ifdef POCL") < text.index(" antune_sqrt(float a"), "only PoCL needs another one"
    assert "__clang__" not in beside.preamble
