"""Pipelines as sequential C."""

from __future__ import annotations

import subprocess

import numpy as np

from antune import halide as hl
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_py.problem import program_of
from generator.frontend_py.sequential import c_program, run_sequential

x = hl.Var("x")


def test_nested_minima_do_not_double_the_text_that_a_compiler_reads() -> None:
    """They doubled it at every level: 25 took all memory of a machine."""
    nested: hl.Expr = hl.i32(x)
    for k in range(7):
        nested = hl.min(hl.max(nested, k), 2 * k + 3)
    func = hl.Func("nested")
    func[x] = nested
    program = program_of([func], [8])
    expanded = subprocess.run([find_compiler(), "-E", "-P", "-x", "c", "-"], input=c_program(program),
                              capture_output=True, text=True, check=True).stdout
    assert max(map(len, expanded.splitlines())) < 10_000
    assert run_sequential(program, {}).outputs["nested"].tolist() == np.asarray(func.realize([8])).tolist()
