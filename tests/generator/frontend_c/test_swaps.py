"""Double-buffered loops: pointers change places after each step, and every buffer ends as in the original program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.problem import Problem
from tests.support.interpreter import Memory, assign
from tests.support.programs import original_order, program_of
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn

TEXT = """
#include <stdlib.h>
static void run(int n, int from, int steps, double *a, double *b, double *c, double *d) {{
  double *spare;
#pragma scop
  for (int t = from; t {test} steps; t++) {{
    for (int i = 1; i < n; i++) {{
      double *from_here = a + i, *to = b;
      to[i] = from_here[0] + 2 * *(from_here - 1) + t;
      d[i] = c[i] * 3 + b[i];
    }}
    {swaps}
  }}
#pragma endscop
}}
int main(void) {{
  double *a = malloc(80), *b = malloc(80), *c = malloc(80), *d = malloc(80);
  for (int i = 0; i < 10; i++) a[i] = i, b[i] = 10 - i, c[i] = i * i, d[i] = -i;
  run(10, FROM, STEPS, a, b, c, d);
  return (int)a[3];
}}
"""
ONE = "spare = a; a = b; b = spare;"
TWO = ONE + " double *other = d; d = c; c = other;"


def read(tmp_path: Path, swaps: str, test: str, first: int, steps: int) -> Problem:
    (tmp_path / "run.c").write_text(TEXT.format(swaps=swaps, test=test))
    return read_untimed(tmp_path / "run.c", Compilation(defines=(f"FROM={first}", f"STEPS={steps}")), None, None, {}, 0)


def expected(two: bool, first: int, end: int) -> dict[str, list[float]]:
    """The buffers by the names that they had at the beginning, computed as the text says."""
    i = np.arange(10.0)
    buffers = {"a": i.copy(), "b": 10 - i, "c": i * i, "d": -i}
    a, b, c, d = "a", "b", "c", "d"
    for t in range(first, end):
        for k in range(1, 10):
            buffers[b][k] = buffers[a][k] + 2 * buffers[a][k - 1] + t
            buffers[d][k] = buffers[c][k] * 3 + buffers[b][k]
        a, b = b, a
        if two:
            c, d = d, c
    return {name: values.tolist() for name, values in buffers.items()}


@in_turn
@pytest.mark.parametrize("steps", few([0, 1, 6, 2, 5], (1, 6)))
@pytest.mark.parametrize(("swaps", "test", "first"), [(ONE, "<", 0), (TWO, "<=", 1), (TWO, "<", 2)])
def test_every_buffer_ends_as_in_the_original(swaps: str, test: str, first: int, steps: int, tmp_path: Path) -> None:
    end = steps + (test == "<=")
    if end <= first:
        with pytest.raises(InputError, match="no statement that is ever executed"):
            read(tmp_path, swaps, test, first, steps)
        return
    problem = read(tmp_path, swaps, test, first, steps)
    wanted = expected(swaps == TWO, first, end)
    got = {name: values.reshape(-1).tolist() for name, values in problem.reference.outputs.items()}
    assert got == {name: wanted[name][:len(values)] for name, values in got.items()}, "what the original program left"
    memory = Memory(problem.program)
    for name, values in problem.reference.inputs.items():
        memory.values.update({(name, (i,)): value for i, value in enumerate(values.reshape(-1).tolist())})
    statements = {s.name: s for s in problem.program.statements}
    for name, point in original_order(problem.program):
        assign(statements[name].body, dict(zip(statements[name].iterators, point, strict=True)), memory)
    assert {name: [memory.values[name, (i,)] for i in range(len(values))] for name, values in got.items()} == got
    assert problem.reference.rounding == {} and problem.reference.warnings == (), "repeats begin with the same pointers"


LOOP = "static double x[9], y[9]; void f(double *a, double *b, double *s) {{\n#pragma scop\n{}\n#pragma endscop\n}}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "for (int t = 9; t > 0; t--) { for (int i = 0; i < 5; i++) b[i] = a[i]; s = a; a = b; b = s; }",
            "write it as `for",
        ),
        (
            "for (int t = 0; t < 4; t++) { a = b; for (int i = 0; i < 5; i++) b[i] = a[i]; s = a; a = b; b = s; }",
            "in more ways than",
        ),
        (
            ("for (int t = 0; t < 4; t++) { for (int i = 0; i < 5; i++) b[i] = a[i]; s = a; a = b; b = s; } x[0] = "
            "a[0];"),
            "`a` changed places with another pointer in the loop before",
        ),
    ],
)
def test_other_exchanges_are_refused(body: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_of(LOOP.format(body))
