"""Integers of C programs that depend on rounding: found from error bounds, as those of pipelines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from generator.frontend_c.source import Compilation
from generator.problem import Problem
from generator.sequential import bounded
from generator.sequential.jumps import HEAD
from runners.check import compare
from tests.support.programs import write_c
from tests.support.reading import read_untimed

N = 512


def problem(tmp_path: Path, before: str, scop: str, declarations: str = "", flags: tuple[str, ...] = ()) -> Problem:
    """A C program with arrays of 512 elements; `before` sets them up with the loop variable i."""
    text = f"""\
#include <math.h>
float x[{N}], y[{N}], a[{N}], b[{N}], c[{N}]; double v[{N}]; int k[{N}], count[16]; {declarations}
int main(void) {{
  for (int i = 0; i < {N}; i++) {{ {before} }}
#pragma scop
  {scop}
#pragma endscop
  return 0;
}}
"""
    return read_untimed(write_c(text, tmp_path), Compilation(cflags=flags), None, None, {}, 0)


# b is chosen such that both products are the same float, but not the same number, for most i.
CLOSE = "a[i] = 1 + i / 700.0f; b[i] = 1.3f; c[i] = a[i] * b[i] / 1.25f;"


def test_a_comparison_that_a_contraction_decides(tmp_path: Path) -> None:
    found = problem(tmp_path, CLOSE, f"""\
for (int i = 1; i < {N}; i++) {{
    y[i] = a[i] * b[i] - c[i] * 1.25f;
    k[i] = y[i] > 0 ? 5 : 2;
  }}""")
    reference = found.reference
    x = reference.inputs
    first = x["a"].astype(float) * x["b"] - (x["c"] * np.float32(1.25)).astype(float) > 0  # as a fused multiply-add
    other = np.where(first, 5, 2).astype(np.int32)
    other[0] = reference.outputs["k"][0]
    assert (other != reference.outputs["k"]).sum() > 50
    outputs = {**reference.outputs, "k": other}
    assert compare(found.program, reference.outputs, outputs, None, reference.rounding) is None
    assert reference.rounding["k"][0] == 0 and reference.rounding["k"].max() <= 2 * 3


def test_a_histogram_of_undecided_places(tmp_path: Path) -> None:
    found = problem(tmp_path, "x[i] = i % 160 * 0.1f; count[i % 16] = 3;",
                    f"for (int i = 0; i < {N}; i++) count[(int)(x[i] * 0.99999997f)] += 1;")
    reference = found.reference
    assert (reference.rounding["count"] > 0).any() and reference.rounding["count"].max() <= 2 * N / 16
    wrong = reference.outputs["count"] + np.int32(N)
    assert compare(found.program, reference.outputs, {"count": wrong}, None, reference.rounding) is not None


def test_exact_numbers_must_be_right(tmp_path: Path) -> None:
    found = problem(tmp_path, "x[i] = i % 13; y[i] = 0.5f * i; k[i] = 9;", f"""\
for (int i = 0; i < {N}; i++)
    k[i] = i > 0 ? (int)(x[i] * 4 + floorf(y[i - 1]) + (x[i] < y[i - 1] ? 1 : 2)) : (int)x[i];""")
    assert found.reference.rounding == {} and found.reference.warnings == ()


def test_what_a_condition_excludes_is_not_computed(tmp_path: Path) -> None:
    """Neither a division by 0 nor an element before an array."""
    found = problem(tmp_path, "x[i] = 0.1f * i; k[i] = i % 3; big[i % 2][5] = 0.7f;", f"""\
for (int i = 0; i < {N}; i++)
    k[i] = k[i] ? (int)((1000 / k[i]) * x[i]) : 7;
  for (int i = 0; i < 2; i++)
    count[i] = i > 0 && big[i - 1][5] * x[3] > 0.5f ? 1 : 2;""", "float big[2][4000000];")
    assert found.reference.warnings == () and found.reference.rounding["k"].any()


def test_a_division_that_a_condition_excludes_as_part_of_a_condition(tmp_path: Path) -> None:
    found = problem(tmp_path, "x[i] = 0.1f * i; a[i] = i % 2;", f"""\
for (int i = 0; i < 5; i++)
    for (int j = 0; j < {N}; j++)
      k[j] = (j > 0 && a[j] > 0.5f) ? (i / j > 3 ? x[j] * 3.0f / 7.0f : x[j] * 7.0f / 3.0f) * 100.0f : x[j];""")
    assert found.reference.warnings == () and found.reference.rounding["k"].any()


def test_programs_without_time_for_all_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One or two runs with error bounds find some of the integers that depend on rounding."""
    clock, changed, text = "double antune_used_ms(void) {", tmp_path / "head.h", HEAD.read_text()
    assert clock in text
    changed.write_text(text.replace(clock, f"{clock} static double now; return now += 4000;"))
    monkeypatch.setattr(bounded, "HEAD", changed)
    found = problem(tmp_path, CLOSE, f"""\
for (int i = 0; i < {N}; i++)
    k[i] = a[i] * b[i] - c[i] * 1.25f > 0 ? 5 : 2;""")
    reference = bounded.with_bounds(found.program, replace(found.reference, rounding={}, warnings=()))
    assert reference.rounding["k"].any()
    (warning,) = reference.warnings
    assert "no time for three runs with error bounds" in warning


def test_elements_that_are_not_written_keep_their_values(tmp_path: Path) -> None:
    found = problem(tmp_path, "x[i] = 0.1f * i; k[i] = 100 + i;",
                    "for (int i = 5; i < 40; i++) k[i] = (int)(x[i] * 10);")
    allowed = found.reference.rounding["k"]
    assert (allowed[5:40] > 0).sum() > 10 and not allowed[:5].any() and not allowed[40:].any()


def test_it_is_said_if_the_program_computes_something_else(tmp_path: Path) -> None:
    found = problem(tmp_path, "x[i] = 1; y[i] = 3e-8f * i;",
                    f"for (int i = 0; i < {N}; i++) k[i] = (int)((x[i] + y[i]) - x[i] == y[i] ? 7 : 8);",
                    flags=("-ffast-math",))
    assert (found.reference.outputs["k"] == 7).all()
    assert any("which integers depend on rounding was not found" in one for one in found.reference.warnings)


def test_a_real_result_that_jumps_lends_its_neighbours_nothing(tmp_path: Path) -> None:
    found = problem(tmp_path, f"{CLOSE} if (i % 13) c[i] *= 0.5f;", f"""\
for (int i = 0; i < {N}; i++)
    y[i] = (a[i] * b[i] - c[i] * 1.25f > 0 ? 1.0f : 5.0f) + a[i] / 3.0f;""")
    reference, near = found.reference, np.arange(N) % 13 == 0
    result, x = reference.outputs["y"], reference.inputs
    fused = x["a"].astype(float) * x["b"] - (x["c"] * np.float32(1.25)).astype(float) > 0
    other = np.where(fused, 1, 5).astype(np.float32) + x["a"] / np.float32(3)
    assert ((other != result) & near).any()
    assert compare(found.program, reference.outputs, {"y": other}, None, reference.rounding) is None
    allowed = reference.rounding["y"]
    assert (allowed[near] >= 4).sum() > 20 and allowed.max() <= 8.01 and (allowed[~near] < 1e-4).all()
    for place in (1, 5, 500):
        wrong = result + np.float32(0.01) * (np.arange(N) == place)
        assert compare(found.program, reference.outputs, {"y": wrong}, None, reference.rounding) is not None
