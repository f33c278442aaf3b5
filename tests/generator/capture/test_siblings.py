"""NAME.c beside NAME.h: linked where it defines what is missing. A program that does not link or run is an error, not
random data.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation, Invocation
from generator.problem import Problem
from generator.reading import read_problem

HEADER = "#define N 50\nvoid fill(double *x);\ndouble total(const double *x);\n"
HELPERS = '#include "gemm.h"\nvoid fill(double *x) { for (int i = 0; i < N; i++) x[i] = i % 7; }\n'
TUNED = """#include "gemm.h"
#include <stdio.h>
static double x[N], y[N];
OWN
static void kernel(void) {
#pragma scop
  for (int i = 0; i < N; i++) y[i] = 2 * x[i];
#pragma endscop
}
int main(void) { fill(x); kernel(); printf("%f\\n", y[3]); return 0; }
"""
OWN_FILL = "void fill(double *v) { for (int i = 0; i < N; i++) v[i] = 1; }"


def read(folder: Path, sibling: str, own: str = "", random_inputs: bool = False) -> Problem:
    (folder / "gemm.h").write_text(HEADER)
    (folder / "gemm.c").write_text(sibling)
    (folder / "gemm_v2.c").write_text(TUNED.replace("OWN", own))
    return read_problem(
        folder / "gemm_v2.c", Compilation(invocation=Invocation(random_inputs=random_inputs)), None, None, {}, 0
    )


def test_a_sibling_that_defines_what_is_missing_is_linked(tmp_path: Path) -> None:
    found = read(tmp_path, HELPERS)
    assert found.reference.origin == "capture" and found.reference.inputs["x"][3] == 3.0


@pytest.mark.parametrize("sibling", [HELPERS + "int main(void) { return 1; }", "this is not C"])
def test_a_sibling_that_nobody_needs_is_left_alone(sibling: str, tmp_path: Path) -> None:
    found = read(tmp_path, sibling, OWN_FILL)
    assert found.reference.origin == "capture" and found.reference.inputs["x"][3] == 1.0
    assert not any("random" in warning for warning in found.reference.warnings)


def test_a_program_that_does_not_link_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"undefined reference to `fill'.*--random-inputs tunes `kernel` with random data"
    ):
        read(tmp_path, "this is not C")


def test_two_mains_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="multiple definition of `main'"):
        read(tmp_path, HELPERS + "int main(void) { return 1; }")


def test_random_inputs_are_for_those_who_ask(tmp_path: Path) -> None:
    found = read(tmp_path, "", random_inputs=True)
    assert found.reference.origin == "harness"
    assert any("seeded random data instead" in warning for warning in found.reference.warnings)
