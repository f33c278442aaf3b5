"""Capture of programs that have a `main`: real inputs, real results, real times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from generator.capture import capture
from generator.errors import InputError
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from tests.support.captures import AXPY, run
from tests.support.slow import few, in_turn


def test_global_arrays_and_scalars_of_the_first_arrival(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    captured = run(tmp_path, AXPY)
    reference = captured.reference
    assert reference.origin == "capture" and reference.warnings == ()
    assert captured.parameters == {"n": 10}
    assert captured.extents["x"] == (11,) and captured.extents["alpha"] == ()
    assert reference.inputs["alpha"].shape == () and reference.inputs["alpha"] == 0.5
    np.testing.assert_array_equal(reference.inputs["y"], np.full(11, 100.0))
    expected = np.full(11, 100.0)
    expected[:10] += 0.5 * np.arange(10)
    np.testing.assert_array_equal(reference.outputs["y"], expected)
    assert set(reference.outputs) == {"y"}
    assert capfd.readouterr() == ("", "")


def test_the_time_is_warm_repeats_from_the_same_inputs(tmp_path: Path) -> None:
    reference = run(tmp_path, AXPY).reference
    assert 5 <= len(reference.sequential_ms) <= 20
    assert all(0 <= t < 1000 for t in reference.sequential_ms)
    assert "-O3" in reference.compiler and any(c.isdigit() for c in reference.compiler)


def test_every_repeat_starts_from_the_same_data(tmp_path: Path) -> None:
    """The loop does its work only while the data is fresh: without a restore the repeats would take no time."""
    text = """\
double a[200000]; int fresh = 1;
int main(void) {
  int i, t;
#pragma scop
  if (fresh == 1)
    for (t = 0; t < 20; t++)
      for (i = 0; i < 200000; i++) a[i] = a[i] * 0.5 + 1.0 / (1.0 + a[i]);
  fresh = 0;
#pragma endscop
  return 0;
}
"""
    reference = run(tmp_path, text).reference
    assert min(reference.sequential_ms) > 1.0
    value = 0.0
    for _ in range(20):
        value = value * 0.5 + 1.0 / (1.0 + value)
    np.testing.assert_allclose(reference.outputs["a"], value, rtol=1e-12)
    assert reference.inputs["fresh"] == 1 and reference.outputs["fresh"] == 0


def test_variable_length_parameters_and_rows_behind_a_pointer(tmp_path: Path) -> None:
    text = """\
#include <stdlib.h>
void f(int n, int m, float A[n][m], float (*B)[m + 3], const float *c) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i][j] = B[i][j] + c[i];
#pragma endscop
}
int main(void) {
  float (*A)[5] = malloc(3 * sizeof *A), (*B)[8] = malloc(3 * sizeof *B), c[3] = {10, 20, 30};
  for (int i = 0; i < 3; i++) for (int j = 0; j < 8; j++) B[i][j] = i * 8 + j;
  for (int i = 0; i < 15; i++) A[0][i] = -1;
  f(3, 5, A, B, c);
  return 0;
}
"""
    asked: list[Mapping[str, int]] = []
    file = tmp_path / "user.c"
    file.write_text(text)

    def resolve(parameters: Mapping[str, int], _rooms: Mapping[str, int]) -> Mapping[str, tuple[int, ...]]:
        asked.append(dict(parameters))
        return {"B": (parameters["n"], parameters["m"]), "c": (parameters["n"],)}

    captured = capture(read_scop(file, Compilation()), {}, resolve, seed=1)
    assert asked == [{"n": 3, "m": 5}]
    assert captured.extents == {"A": (3, 5), "B": (3, 8), "c": (3,), "n": (), "m": ()}
    rows = np.arange(24, dtype=np.float32).reshape(3, 8)
    np.testing.assert_array_equal(captured.reference.inputs["B"], rows)
    expected = rows[:, :5] + np.array([[10], [20], [30]], dtype=np.float32)
    np.testing.assert_array_equal(captured.reference.outputs["A"], expected)
    assert captured.reference.outputs["A"].dtype == np.float32


def test_pointer_to_the_whole_array_and_written_scalar(tmp_path: Path) -> None:
    text = """\
#include <stdlib.h>
int main(void) {
  double (*A)[4][6] = malloc(sizeof *A);
  double sum = 5;
  int i, j;
  for (i = 0; i < 4; i++) for (j = 0; j < 6; j++) (*A)[i][j] = i + j;
#pragma scop
  for (i = 0; i < 4; i++)
    for (j = 0; j < 6; j++) {
      sum += (*A)[i][j];
      (*A)[i][j] = 0;
    }
#pragma endscop
  return sum > 0;
}
"""
    reference = run(tmp_path, text).reference
    grid = np.add.outer(np.arange(4.0), np.arange(6.0))
    np.testing.assert_array_equal(reference.inputs["A"], grid)
    assert reference.inputs["sum"] == 5 and reference.outputs["sum"] == 5 + grid.sum()
    assert not reference.outputs["A"].any()


@in_turn
@pytest.mark.parametrize(("c_type", "dtype"), few([
    ("char", "int8"), ("unsigned short", "uint16"), ("unsigned", "uint32"), ("long", "int64"), ("float", "float32"),
    ("unsigned char", "uint8"), ("short", "int16"), ("int", "int32"), ("unsigned long", "uint64"),
    ("double", "float64")], 5))
def test_element_types(tmp_path: Path, c_type: str, dtype: str) -> None:
    text = f"""\
typedef {c_type} element;
element a[7]; element total;
int main(void) {{
  int i;
  for (i = 0; i < 7; i++) a[i] = i + 100;
#pragma scop
  for (i = 0; i < 7; i++) {{ a[i] = a[i] + 20; }}
  for (i = 0; i < 7; i++) {{ total = a[i]; }}
#pragma endscop
  return 0;
}}
"""
    reference = run(tmp_path, text).reference
    assert reference.outputs["a"].dtype == dtype
    np.testing.assert_array_equal(reference.outputs["a"], (np.arange(7) + 120).astype(dtype))
    assert reference.outputs["total"] == 126


def test_declarations_inside_the_scop_and_an_enumeration_constant(tmp_path: Path) -> None:
    text = """\
enum { N = 6 };
double a[N];
int main(void) {
#pragma scop
  double twice[N];
  for (int i = 0; i < N; i++) twice[i] = 2.0 * i;
  for (int i = 0; i < N; i++) a[i] += twice[i];
#pragma endscop
  return 0;
}
"""
    np.testing.assert_array_equal(run(tmp_path, text).reference.outputs["a"], 2.0 * np.arange(6))


def test_includes_macros_and_sources_like_a_compiler(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "far.h").write_text("double far_value(void);\n")
    (tmp_path / "inc" / "far.c").write_text("double far_value(void) { return 7; }\n")
    (tmp_path / "near.h").write_text("double near_value(void);\n")
    (tmp_path / "near.c").write_text("double near_value(void) { return 0.5; }\n")
    (tmp_path / "named.c").write_text("double named_value(void) { return 1000; }\n")
    text = """\
#include "near.h"
#include <far.h>
double named_value(void);
double a[SIZE];
int main(void) {
  for (int i = 0; i < SIZE; i++) a[i] = far_value() + near_value() + named_value();
#pragma scop
  for (int i = 0; i < SIZE; i++) a[i] *= 2;
#pragma endscop
  return 0;
}
"""
    compilation = Compilation(include_dirs=(str(tmp_path / "inc"),), defines=("SIZE=5",), cflags=("-std=gnu11",),
                              sources=(str(tmp_path / "named.c"),))
    captured = run(tmp_path, text, compilation=compilation)
    assert captured.reference.warnings == () and captured.reference.origin == "capture"
    np.testing.assert_array_equal(captured.reference.outputs["a"], np.full(5, 2015.0))
    assert "-DSIZE=5" in captured.reference.compiler


def test_main_in_another_source(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text("void f(int n, double *a);\n"
                                       "int main(void) { double a[4] = {1, 2, 3, 4}; f(4, a); return 0; }\n")
    text = """\
void f(int n, double *a) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 2 * a[i];
#pragma endscop
}
"""
    captured = run(tmp_path, text, compilation=Compilation(sources=(str(tmp_path / "driver.c"),)), needed={"a": (4,)})
    assert captured.reference.origin == "capture"
    np.testing.assert_array_equal(captured.reference.outputs["a"], [2, 4, 6, 8])


def test_overlapping_arrays_are_refused(tmp_path: Path) -> None:
    text = """\
static void f(int n, double a[n], double b[n]) {
  int i;
#pragma scop
  for (i = 0; i < n; i++) a[i] = b[i];
#pragma endscop
}
int main(void) { double m[20] = {0}; f(12, m, m + 8); return 0; }
"""
    with pytest.raises(InputError, match=r"user.c:3: the arrays `a` and `b` overlap"):
        run(tmp_path, text)


def test_arrays_that_are_only_read_may_overlap(tmp_path: Path) -> None:
    text = """\
static void f(int n, double a[n], double b[n], double c[n]) {
  int i;
#pragma scop
  for (i = 0; i < n; i++) c[i] = a[i] * b[i];
#pragma endscop
}
int main(void) { double m[20] = {0, 1, 2}, c[12]; f(12, m, m, c); return 0; }
"""
    np.testing.assert_array_equal(run(tmp_path, text).reference.outputs["c"][:4], [0, 1, 4, 0])


def test_not_finite_results_are_told(tmp_path: Path) -> None:
    text = """\
double a[3];
int main(void) {
  int i;
#pragma scop
  for (i = 0; i < 3; i++) a[i] = 1.0 / a[i];
#pragma endscop
  return 0;
}
"""
    assert "not finite in a" in run(tmp_path, text).reference.warnings[0]


def test_the_program_may_use_any_file_name_and_line_ends(tmp_path: Path) -> None:
    file = tmp_path / 'odd "name" \\ ü.c'
    file.write_bytes(AXPY.replace("\n", "\r\n").encode() + b"/* Latin-1: \xe9 */\r\n")
    captured = capture(read_scop(file, Compilation()), {}, lambda *_: {}, seed=1)
    assert captured.reference.origin == "capture" and captured.parameters == {"n": 10}
