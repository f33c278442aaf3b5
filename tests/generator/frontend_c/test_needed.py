"""Statements whose values reach no result are left out; all others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.needed import extract_needed
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from tests.support.plans import TARGET, check_plan
from tests.support.programs import extents_of, scop, write_c

ESCAPES = """for (i = 0; i < 9; i++) {
  double re = 0, im = 0; int n = 0;
  while (n < 20 && re * re + im * im < 4) { double t = re * re - im * im + x[i]; im = 2 * re * im + x[i + 9]; re = t;
    n++; }
  y[i] = n;
}"""


def needed(text: str, folder: Path) -> Program:
    source = read_scop(write_c(scop(text), folder), Compilation(), None, None)
    return extract_needed(source, {}, extents_of(source, {}))


def test_of_a_loop_that_ends_on_data_only_the_needed_values_are_computed(tmp_path: Path) -> None:
    program = expand(needed(ESCAPES, tmp_path))
    assert [s.text.split()[0] for s in program.statements] == ["double", "double", "n", "for", "y[i]"]
    check_plan(program, default_plan(program, TARGET))


LEFT = {
    "never read": ("double t, u; for (i = 0; i < 9; i++) { t = x[i]; u = t + 1; y[i] = x[i]; }", ["y[i] = x[i];"]),
    "overwritten first": ("double t; for (i = 0; i < 9; i++) { t = x[i]; t = 2; y[i] = t; }", ["t = 2;", "y[i] = t;"]),
    "read by the next iteration": ("double t = 0; for (i = 0; i < 9; i++) { y[i] = t; t = x[i]; }",
                                   ["double t = 0;", "y[i] = t;", "t = x[i];"]),
    "under a condition": ("double t = 0; for (i = 0; i < 9; i++) { if (x[i] > 0) t = x[i]; y[i] = t; }",
                          ["double t = 0;", "if (x[i] > 0) t = x[i];", "y[i] = t;"]),
    "results": ("for (i = 0; i < 9; i++) { s = x[i]; y[i] = 1; y[i] = 2; }", ["s = x[i];", "y[i] = 1;", "y[i] = 2;"]),
}


@pytest.mark.parametrize("name", LEFT)
def test_statements_that_reach_no_result_are_left_out(name: str, tmp_path: Path) -> None:
    text, left = LEFT[name]
    program = needed(text, tmp_path)
    assert [statement.text for statement in program.statements] == left
    check_plan(expanded := expand(program), default_plan(expanded, TARGET))


def test_sizes_with_which_nothing_runs_are_named(tmp_path: Path) -> None:
    inner = "int main(void) { for (int m = 0; m < 3; m++) {\n#pragma scop\nfor (int i = 0; i < m; i++) y[i] = 1;\n" \
            "#pragma endscop\n} }"
    source = read_scop(write_c("double y[3];\n" + inner, tmp_path), Compilation(), None, None)
    with pytest.raises(InputError, match=r"input.c:3: no statement .* with m = 0, the values with which .* first"):
        extract_needed(source, {"m": 0}, extents_of(source, {"m": 0}))
