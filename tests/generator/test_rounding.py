"""Results that rounding errors decide: found from runs of the original with other rounding, and only those."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from generator import rounding
from generator.capture import Captured, capture
from generator.distances import distance
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from generator.problem import load_reference, save_reference
from generator.reading import read_problem
from generator.rounding import Bounds, relative_tolerance, rounding_note, rounding_tolerance, scale, undetermined
from runners.check import compare
from tests.support.slow import in_turn
from tests.support.suite import SUITE

ORTHOGONAL = """\
#include <math.h>
void orthogonal(int m, int n, double A[m][n], double R[n][n], double Q[m][n]) {
  double nrm;
#pragma scop
  for (int k = 0; k < n; k++) {
    nrm = 0;
    for (int i = 0; i < m; i++) nrm += A[i][k] * A[i][k];
    R[k][k] = sqrt(nrm);
    for (int i = 0; i < m; i++) Q[i][k] = A[i][k] / R[k][k];
    for (int j = k + 1; j < n; j++) {
      R[k][j] = 0;
      for (int i = 0; i < m; i++) R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < m; i++) A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
#pragma endscop
}
"""


def run(tmp_path: Path, text: str, cflags: tuple[str, ...] = (), limit_s: float = 60,
        **overrides: int) -> Captured:
    file = tmp_path / "user.c"
    file.write_text(text)
    source = read_scop(file, Compilation(cflags=cflags))
    return capture(source, overrides, lambda *_: {}, seed=1, limit_s=limit_s)


def program(before: str, scop: str) -> str:
    """A C program of 1000 elements; `before` sets up arrays with the loop variable i."""
    return f"""\
#include <math.h>
#include <stdlib.h>
#include <fenv.h>
float x[1000], y[1000], one; double u[1000], v[1000]; int k[1000], best;
int main(void) {{
  for (int i = 0; i < 1000; i++) {{ {before} }}
#pragma scop
  {scop}
#pragma endscop
  return 0;
}}
"""


@in_turn
@pytest.mark.parametrize("scop", [
    "for (int i = 0; i < 1000; i++) y[k[i]] += x[i];",
    "for (int i = 0; i < 1000; i++) if (x[i] == 3) k[i] = 7; else k[i] = (int)x[i];",
    "for (int i = 0; i < 1000; i++) if (x[i] > one) { one = x[i]; best = i; }",
    "for (int i = 0; i < 1000; i++) for (int j = 0; j < 1000; j++) v[i] += x[i] * x[j];",
])
def test_exact_arithmetic_is_checked_as_strictly_as_ever(tmp_path: Path, scop: str) -> None:
    """Also where inputs that change in the last place would lead to other tests and subscripts."""
    assert run(tmp_path, program("x[i] = i % 13; k[i] = i % 10;", scop)).reference.rounding == {}


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_a_long_sum_keeps_the_tolerance_of_its_length(tmp_path: Path, size: int) -> None:
    """Rounded up, all errors have one sign and add up to much more than those of other orders; that must not count."""
    text = """\
void f(int n, float x[n], float s[3]) {
#pragma scop
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < n; i++) s[j] += x[i];
#pragma endscop
}
"""
    reference = run(tmp_path, text, n=size).reference
    allowed = reference.rounding.get("s", np.zeros(3))
    assert (allowed <= relative_tolerance("float", size) * scale(reference.outputs["s"])).all()


def test_cancellation_is_found_and_covers_other_compilers(tmp_path: Path) -> None:
    text = program("x[i] = 10000 + (i * 37 % 101) / 101.0f;", """\
float mean, squares;
  for (int r = 0; r < 20; r++) {
    mean = 0; squares = 0;
    for (int i = 0; i < 1000; i++) { mean += x[i] + r; squares += (x[i] + r) * (x[i] + r); }
    y[r] = squares / 1000 - (mean / 1000) * (mean / 1000);
  }""")
    reference = run(tmp_path, text).reference
    other = run(tmp_path, text, ("-ffast-math", "-fno-finite-math-only")).reference
    difference = np.abs(reference.outputs["y"] - other.outputs["y"])
    assert (difference[:20] > relative_tolerance("float", 1000) * scale(reference.outputs["y"])[:20]).any()
    assert (difference <= reference.rounding["y"]).all()
    assert undetermined(reference.outputs["y"], reference.rounding["y"])[:20].all()


def chaotic(tmp_path: Path) -> Captured:
    return run(tmp_path, program("v[i] = 0.3 + i * 0.0004;", """\
for (int t = 0; t < 200; t++)
    for (int i = 0; i < 1000; i++) v[i] = 3.9 * v[i] * (1 - v[i]);
  for (int i = 0; i < 1000; i++) k[i] = (int)(1000 * v[i]);"""))


def test_chaos_is_undetermined_and_told(tmp_path: Path) -> None:
    reference = chaotic(tmp_path).reference
    assert undetermined(reference.outputs["v"], reference.rounding["v"]).all()
    assert (reference.rounding["k"] > 0).mean() > 0.9  # integers too: they are digits of v
    assert np.isfinite(reference.rounding["v"]).all()
    note = rounding_note(reference.outputs, reference.rounding)
    assert note is not None
    assert "all of v" in note and "a wrong variant may pass" in note


def test_the_same_program_gives_the_same_tolerance(tmp_path: Path) -> None:
    one, other = chaotic(tmp_path).reference.rounding, chaotic(tmp_path).reference.rounding
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name])


def test_infinite_by_rounding(tmp_path: Path) -> None:
    """0.1 + 0.2 - 0.3 is not 0 but may be: the quotient of another program can be infinite."""
    captured = run(tmp_path, program("u[i] = i % 2 ? 0.1 : 1; v[i] = i % 2 ? 0.2 : 1;",
                                     "for (int i = 0; i < 1000; i++) v[i] = 1 / (u[i] + v[i] - (i % 2 ? 0.3 : 1));"))
    allowed = captured.reference.rounding["v"]
    assert np.isinf(allowed[1::2]).all() and np.isfinite(allowed[::2]).all()
    note = rounding_note(captured.reference.outputs, captured.reference.rounding)
    assert note is not None and "infinite or NaN are not checked" in note


def test_a_function_without_a_main(tmp_path: Path) -> None:
    """With more vectors than dimensions the last ones are what rounding left of zero."""
    reference = run(tmp_path, ORTHOGONAL, m=15, n=22).reference
    assert reference.origin == "harness"
    wide = undetermined(reference.outputs["Q"], reference.rounding["Q"])
    assert wide[:, 15:].all() and not wide[:, :10].any()
    tall = run(tmp_path, ORTHOGONAL, m=22, n=15).reference
    assert not {"Q", "R"} & tall.rounding.keys()


def test_constants_in_protected_memory(tmp_path: Path) -> None:
    text = program("v[i] = i;", "for (int i = 0; i < 1000; i++) v[i] += weights[i % 3];")
    weights = "static const double weights[3] = {0.1, 0.2, 0.3};\nconst double *volatile other = weights;\n"
    captured = run(tmp_path, weights + text)
    assert captured.reference.warnings == () and captured.reference.rounding == {}


def test_a_program_that_cannot_stand_it(tmp_path: Path) -> None:
    text = program("v[i] = i;", "if (fegetround() != FE_TONEAREST) abort();"
                                " for (int i = 0; i < 1000; i++) v[i] *= 0.1;")
    reference = run(tmp_path, text).reference
    assert reference.rounding == {} and len(reference.sequential_ms) >= 5
    assert "was not measured, because the original fails" in reference.warnings[-1]


def test_a_long_run_is_not_repeated_and_says_so(tmp_path: Path) -> None:
    text = "#define _DEFAULT_SOURCE\n#include <unistd.h>\n" + program(
        "v[i] = i;", "usleep(400000); for (int i = 0; i < 1000; i++) v[i] *= 0.1;")
    reference = run(tmp_path, text, limit_s=6).reference
    assert any("was not measured, because one run takes 0.4" in warning for warning in reference.warnings)
    assert reference.rounding == {}


def test_integers_alone_are_not_repeated(tmp_path: Path) -> None:
    text = program("k[i] = i;", "if (fegetround() != FE_TONEAREST) abort();"
                                " for (int i = 0; i < 1000; i++) k[i] += 3;")
    assert run(tmp_path, text).reference.warnings == ()


def test_it_survives_saving(tmp_path: Path) -> None:
    reference = chaotic(tmp_path).reference
    save_reference(reference, tmp_path / "reference.npz")
    loaded = load_reference(tmp_path / "reference.npz").rounding
    assert loaded.keys() == reference.rounding.keys() > set()
    np.testing.assert_array_equal(loaded["v"], reference.rounding["v"])


def test_the_reader_warns_once_about_outputs_only() -> None:
    found = read_problem(SUITE / "gramschmidt.c", Compilation(defines=("MINI_DATASET",)), None, None, {}, 0)
    (warning,) = found.reference.warnings
    assert (
        warning.startswith("rounding errors leave three digits or fewer of ")
        and " % of Q" in warning
        and " % of R" in warning
    )
    assert "nrm" not in found.reference.rounding and "nrm" not in warning


@in_turn
def test_values_that_rounding_decides_must_still_be_numbers_of_that_size() -> None:
    found = read_problem(SUITE / "gramschmidt.c", Compilation(defines=("MINI_DATASET",)), None, None, {}, 0)
    outputs, rounding = found.reference.outputs, found.reference.rounding
    wide = undetermined(outputs["Q"], rounding["Q"])
    place = tuple(np.argwhere(wide)[0])
    for bad in (np.nan, np.inf, 1e6):
        got = {name: value.copy() for name, value in outputs.items()}
        got["Q"][place] = bad
        assert compare(found.program, outputs, got, None, rounding) is not None
    got["Q"][place] = -outputs["Q"][place]
    assert compare(found.program, outputs, got, None, rounding) is None


def recurrence(values: NDArray[np.float64], dtype: type[np.floating], rng: np.random.Generator | None,
               steps: int) -> NDArray[np.float64]:
    """x' = x * a - b in `dtype`, each result moved by a random part of a rounding error when there is a generator."""
    result = values.astype(dtype)
    unit = float(np.finfo(dtype).eps)
    for _ in range(steps):
        exact = result.astype(np.float64) * 1.7 - 0.7 * values
        noise = 0.0 if rng is None else rng.uniform(-unit, unit, values.shape) * np.abs(exact)
        result = (exact + noise).astype(dtype)
    return result.astype(np.float64)


@pytest.mark.parametrize("steps", [5, 15, 25])
def test_the_tolerance_covers_random_rounding(steps: int) -> None:
    """Errors grow by 1.7 a step; runs that round at random stand for other right programs."""
    values = np.linspace(1, 2, 500)
    result = recurrence(values, np.float32, None, steps)
    runs = [recurrence(values, np.float32, np.random.default_rng(seed), steps) for seed in range(24)]
    tolerance = rounding_tolerance("float", result, [(runs[0], runs[1]), (runs[2], runs[3])])
    usual = relative_tolerance("float", steps) * scale(result)
    allowed = usual if tolerance is None else np.maximum(usual, tolerance)
    errors = np.array([np.abs(other - result) for other in runs[4:]])
    assert (errors <= allowed).all()
    assert allowed.max() <= max(100 * errors.max(), usual.max())


def test_nothing_is_known_without_runs() -> None:
    assert rounding_tolerance("double", np.ones(3), []) is None
    assert rounding_note({"a": np.ones(3)}, {}) is None


def test_a_lucky_element_takes_the_noise_of_its_neighbours() -> None:
    result = np.ones(100)
    up, down = result + 0.02, result + 0.01
    up[50] = down[50] = result[50]
    tolerance = rounding_tolerance("double", result, [(up, down)])
    assert tolerance is not None
    assert tolerance[50] == tolerance[0] == pytest.approx(16 * 0.015)


SPECIAL = st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan])


@given(st.lists(st.tuples(SPECIAL, SPECIAL), min_size=1, max_size=6))
@settings(max_examples=100)
def test_distances_to_what_is_no_number(values: list[tuple[float, float]]) -> None:
    def expected(one: float, two: float) -> float:
        if one == two or (math.isnan(one) and math.isnan(two)):
            return 0.0
        return abs(two - one) if math.isfinite(one) and math.isfinite(two) else math.inf

    one, two = (np.array([pair[k] for pair in values]) for k in (0, 1))
    with np.errstate(invalid="ignore", over="ignore"):
        assert distance(one, two).tolist() == [expected(*pair) for pair in values]


@given(st.lists(st.floats(-1e-3, 1e-3), min_size=24, max_size=24), st.sampled_from([1e-16, 1e-12, 1e-10, 1e-5, 1.0]),
       st.sampled_from([0.0, 1e-14, 1.0]))
@settings(max_examples=100)
def test_no_tolerance_where_none_of_the_elements_needs_one(noise: list[float], step: float, least: float) -> None:
    """The first look at the largest errors gives the same answer as the look at each element."""
    result = np.full(6, least)
    result[3] = 1.0
    up, down, up_too, down_too = (result + step * np.array(noise[6 * k:6 * k + 6]) for k in range(4))
    pairs = [(up, down), (up_too, down_too)]
    by_element = rounding_tolerance("double", result, pairs, Bounds((result,)))  # goes through all elements
    found = rounding_tolerance("double", result, pairs)
    assert (found is None) == (by_element is None)
    if found is not None and by_element is not None:
        np.testing.assert_array_equal(found, by_element)


def test_a_run_that_jumps_where_all_answers_are_decided() -> None:
    """Rounded up, a long sum can cross a limit that no other program's sum reaches."""
    result = np.ones(40)
    up = result + 1e-13
    up[20] = 5.0
    pairs = [(up, result - 1e-13), (result, result)]
    assert rounding_tolerance("double", result, pairs, Bounds(apart=np.full(40, 4e-13))) is None
    assert rounding_tolerance("double", result, pairs) is not None


def test_a_bound_of_errors_allows_for_sums_whose_errors_have_one_sign() -> None:
    """A sum of equal numbers: errors in one direction grow like their number."""
    terms = np.full(2**20, 0.1, np.float32)
    result = np.cumsum(terms, dtype=np.float32)[-1:]
    runs = [result + np.float32(sign) for sign in (900, -700, 850, -650)]
    apart = 32 * 2.0**-24 * np.sqrt(np.sum(np.cumsum(terms, dtype=np.float64) ** 2)).reshape(1)
    allowed = rounding_tolerance("float", result, [(runs[0], runs[1]), (runs[2], runs[3])], Bounds(apart=apart), 2**20)
    error = abs(float(result[0]) - terms.sum(dtype=np.float64))
    assert apart[0] < error and allowed is not None and allowed[0] > error


@given(st.lists(st.floats(-4, 4).map(float), min_size=1, max_size=8), st.integers(0, 255))
@settings(max_examples=100)
def test_jumps_that_add_up_are_covered(jumps: list[float], chosen: int) -> None:
    """Runs: all up, all down, and one group at a time; any combination is within the tolerance."""
    up, down = (sum(jump for jump in jumps[side::2]) for side in (0, 1))
    gained, lost = sum(max(jump, 0) for jump in jumps), sum(max(-jump, 0) for jump in jumps)
    values = [0.0, up, down, *jumps]
    bounds = Bounds((np.array([min(values)]), np.array([max(values)])), np.array([min(gained, lost)]))
    got = sum(jump for k, jump in enumerate(jumps) if chosen >> k & 1)
    assert abs(got) <= rounding.from_other_answers(np.zeros(1), bounds)[0] * (1 + 1e-9) + 1e-12
