"""Capture of functions without a program of their own: sizes and seeded data for a generated caller."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation, Invocation
from tests.support.captures import run
from tests.support.slow import in_turn

GEMM = """\
static void gemm(int n, int m, double alpha, double C[n][m], double A[n][n], double B[n][m]) {
  int i, j, k;
#pragma scop
  for (i = 0; i < n; i++)
    for (j = 0; j < m; j++)
      for (k = 0; k < n; k++) C[i][j] += alpha * A[i][k] * B[k][j];
#pragma endscop
}
"""


RANDOM = Compilation(invocation=Invocation(random_inputs=True))


def test_arguments_get_sizes_and_seeded_values(tmp_path: Path) -> None:
    captured = run(tmp_path, GEMM, {"n": 13, "m": 7})
    reference = captured.reference
    assert reference.origin == "harness" and reference.warnings == ()
    assert captured.parameters == {"n": 13, "m": 7}
    assert captured.extents["C"] == (13, 7) and captured.extents["A"] == (13, 13)
    for value in reference.inputs.values():
        if value.dtype == np.float64:
            assert (value >= 0.5).all() and (value < 1.5).all()
    expected = reference.inputs["C"] + reference.inputs["alpha"] * reference.inputs["A"] @ reference.inputs["B"]
    np.testing.assert_allclose(reference.outputs["C"], expected, rtol=1e-12)
    assert len(reference.sequential_ms) >= 5


def test_the_seed_determines_the_data(tmp_path: Path) -> None:
    one, same, other = (run(tmp_path, GEMM, {"n": 5, "m": 6}, seed=seed).reference.inputs for seed in (1, 1, 2))
    for name in ("A", "B", "C", "alpha"):
        np.testing.assert_array_equal(one[name], same[name])
        assert not np.array_equal(one[name], other[name])
    assert not np.array_equal(one["B"], one["C"])


def test_the_values_are_the_same_everywhere(tmp_path: Path) -> None:
    """Exact values: the generator is part of what makes a stored run repeatable on another machine."""
    inputs = run(tmp_path, GEMM, {"n": 2, "m": 2}, seed=42).reference.inputs
    assert [float.hex(float(v)) for v in inputs["A"].ravel()] == [
        "0x1.0682980000000p-1", "0x1.04abfc0000000p+0", "0x1.392ca20000000p+0", "0x1.33147c0000000p+0"]


def test_a_size_that_nobody_gave_is_told(tmp_path: Path) -> None:
    captured = run(tmp_path, GEMM, {"m": 3})
    assert captured.parameters == {"n": 256, "m": 3}
    (warning,) = captured.reference.warnings
    assert "`n`" in warning and "--param n=VALUE" in warning


def test_constant_extents_bound_the_default_size(tmp_path: Path) -> None:
    text = """\
#define ROWS 20
void f(int n, float A[ROWS + 0][ROWS * 2], float flags[2]) {
#pragma scop
  for (int i = 0; i < n; i++) A[i][i] += flags[1];
#pragma endscop
}
"""
    captured = run(tmp_path, text)
    assert captured.parameters == {"n": 20} and captured.extents["A"] == (20, 40)


def test_a_parameter_that_nothing_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--param q: .*there are: A, B, C, alpha, m, n"):
        run(tmp_path, GEMM, {"q": 3})


def test_global_variables_are_set_too(tmp_path: Path) -> None:
    text = """\
#include <stddef.h>
static size_t size;
int fixed = 4;
static const int last = 2;
static double A[30], start[3] = {1, 2, 3}, *heap, (*whole)[6][6];
static const double weights[3] = {1, 1, 2};
static float scale;
void f(void) {
  int local = fixed + 1;
#pragma scop
  for (int i = 0; i < size; i++) A[i] = heap[i] * scale + start[last] + weights[0];
  for (int i = 0; i < fixed; i++)
    for (int j = 0; j < local; j++) (*whole)[i][j] += 1;
#pragma endscop
}
"""
    captured = run(tmp_path, text, {"size": 9}, needed={"heap": (9,)})
    assert captured.parameters == {"size": 9, "fixed": 4, "last": 2, "local": 5}
    assert captured.reference.warnings == ()
    inputs = captured.reference.inputs
    np.testing.assert_array_equal(inputs["start"], [1, 2, 3])
    np.testing.assert_array_equal(inputs["weights"], [1, 1, 2])
    assert inputs["A"].min() >= 0.5 and inputs["heap"].shape == (9,) and inputs["whole"].shape == (6, 6)
    expected = inputs["heap"] * np.float64(inputs["scale"]) + 3 + 1
    np.testing.assert_allclose(captured.reference.outputs["A"][:9], expected, rtol=1e-6)
    np.testing.assert_array_equal(captured.reference.outputs["A"][9:], inputs["A"][9:])


def test_integers_are_small_and_not_zero(tmp_path: Path) -> None:
    text = """\
void f(int n, unsigned char *a, const int b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 100 / b[i];
#pragma endscop
}
"""
    inputs = run(tmp_path, text, {"n": 500}, needed={"a": (500,)}).reference.inputs
    assert set(inputs["b"].tolist()) == set(range(1, 8)) and inputs["a"].dtype == np.uint8


def test_arguments_outside_the_scop_do_not_matter(tmp_path: Path) -> None:
    text = """\
struct options { int verbose; double factor; };
void f(struct options how, const char *title, int unused, double *log, int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] += 1;
#pragma endscop
  if (how.verbose) log[0] = title[0];
}
"""
    captured = run(tmp_path, text, {"n": 12})
    assert captured.reference.warnings == () and captured.reference.outputs["a"].shape == (12,)


def test_a_factorisation_stays_finite(tmp_path: Path) -> None:
    text = """\
#include <math.h>
void cholesky(int n, double A[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = sqrt(A[i][i]);
  }
#pragma endscop
}
"""
    reference = run(tmp_path, text, {"n": 40}).reference
    assert reference.warnings == () and np.isfinite(reference.outputs["A"]).all()


@pytest.mark.parametrize("n", [1, 3000])
def test_long_sums_and_products_stay_finite(tmp_path: Path, n: int) -> None:
    text = """\
void f(int n, float *a, float s[2]) {
#pragma scop
  for (int i = 0; i < n; i++) { s[0] += a[i]; s[1] *= a[i]; }
#pragma endscop
}
"""
    assert run(tmp_path, text, {"n": n}, needed={"a": (n,)}).reference.warnings == ()


def test_a_main_that_misses_symbols_gives_way_with_a_warning(tmp_path: Path) -> None:
    text = GEMM + """\
double missing_value(void);
int main(void) { double a[1][1] = {{missing_value()}}; gemm(1, 1, 1, a, a, a); return 0; }
"""
    captured = run(tmp_path, text, {"n": 4, "m": 4}, compilation=RANDOM)
    assert captured.reference.origin == "harness"
    (warning,) = captured.reference.warnings
    assert "could not be run" in warning and "undefined reference to `missing_value'" in warning


@in_turn
@pytest.mark.parametrize(("body", "reason"), [
    ("*(volatile int *)8 = 1;", "Segmentation fault"),
    ("abort();", "Aborted"),
    ('fprintf(stderr, "error: no input.dat\\n"); exit(4);', r"exit status 4 (error: no input.dat)"),
    ("return 0;", "run without arguments, it never reached the SCoP: it ended with exit status 0"),
])
def test_a_main_that_fails_gives_way_with_a_warning(tmp_path: Path, body: str, reason: str) -> None:
    text = "#include <stdio.h>\n#include <stdlib.h>\n" + GEMM + f"int main(void) {{ (void)gemm; {body} }}\n"
    captured = run(tmp_path, text, {"n": 4, "m": 4}, compilation=RANDOM)
    assert captured.reference.origin == "harness"
    assert reason in captured.reference.warnings[0]


def test_memory_smaller_than_its_declaration_is_named(tmp_path: Path) -> None:
    text = """\
#include <stdlib.h>
static void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < 3; i++) a[i] = 0;
#pragma endscop
}
int main(void) { f(100000000, calloc(3, sizeof(double))); return 0; }
"""
    captured = run(tmp_path, text, {"n": 4}, compilation=RANDOM)
    assert "`a[100000000]` cannot be read" in captured.reference.warnings[0]


def test_helpers_without_a_main_need_no_warning(tmp_path: Path) -> None:
    (tmp_path / "helper.c").write_text("double offset(void) { return 2; }\n")
    text = """\
double offset(void);
void f(int n, double a[n]) {
  double by = offset();
#pragma scop
  for (int i = 0; i < n; i++) a[i] = by;
#pragma endscop
}
"""
    captured = run(tmp_path, text, {"n": 4}, compilation=Compilation(sources=(str(tmp_path / "helper.c"),)))
    assert captured.reference.origin == "harness" and captured.reference.warnings == ()
    np.testing.assert_array_equal(captured.reference.outputs["a"], [2, 2, 2, 2])


def test_a_function_that_cannot_be_built_is_refused(tmp_path: Path) -> None:
    text = GEMM.replace("  int i, j, k;", "  int i, j, k;\n  missing_function();")
    with pytest.raises(InputError, match=r"(?s)user.c:\d+: `gemm` cannot be run by itself: .*missing_function"):
        run(tmp_path, text, {"n": 4, "m": 4})


def test_a_size_that_leaves_no_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be run by itself"):
        run(tmp_path, GEMM, {"n": 4, "m": -4})


def test_parameters_of_a_program_that_sets_its_own_are_told_to_be_idle(tmp_path: Path) -> None:
    text = (
        GEMM
        + "int main(void) { double a[2][2] = {{1}}, b[2][2] = {{1}}, c[2][2]; gemm(2, 2, 1, c, a, b); return 0; }\n"
    )
    captured = run(tmp_path, text, {"n": 50})
    assert captured.reference.origin == "capture" and captured.parameters["n"] == 2
    assert "--param n=50 has no effect" in captured.reference.warnings[0]
