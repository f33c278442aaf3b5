"""Pipelines as sequential C."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest

from antune import halide as hl
from generator.errors import InputError
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_py.problem import program_of
from generator.sequential import pipeline as sequential
from generator.sequential.pipeline import c_program, run_sequential

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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="SSE4.1 is an extension of x86-64")
def test_zeros_of_both_signs_are_equal_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SSE4.1, gcc may truncate a number without an integer: -0.5 becomes -0."""
    wrapper = tmp_path / "mycc"
    wrapper.write_text(f'#!/bin/sh\nexec {find_compiler()} -msse4.1 "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    data = np.linspace(-3, 3, 25, dtype=np.float32)
    image, func = hl.ImageParam(hl.Float(32), 1, "image"), hl.Func("whole")
    image.set(data)
    func[x] = hl.f32(hl.i32(image[x]))
    ran = run_sequential(program_of([func], [25]), {"image": data}, baselines=False)
    assert ran.warnings == () and ran.outputs["whole"].tolist() == np.trunc(data).tolist()


@pytest.mark.parametrize("name", ["errno", "EOF", "FE_UPWARD", "FILE", "fopen", "fesetround", "main", "in_image"])
def test_arrays_may_be_called_as_macros_and_functions_of_headers_are(name: str) -> None:
    """Also as functions that macros of the program call, and as its files."""
    y, image = hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    stage, out = hl.Func(name), hl.Func("out")
    data = np.linspace(-2, 2, 60, dtype=np.float32).reshape(5, 12)
    image.set(data)
    stage[x, y] = hl.exp(image[x, y]) / 3.0
    out[x, y] = stage[x, y] + hl.f32(hl.i32(stage[x, y] * 10.0))
    program = program_of([out], [12, 5])
    assert name in {array.name.rstrip("_") for array in program.arrays}
    found = run_sequential(program, {"image": data}, baselines=False)
    assert found.warnings == () and np.allclose(found.outputs["out"], out.realize([12, 5]), rtol=1e-5)


FULL = """\
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#define fwrite(data, size, count, file) (fwrite(data, size, (count) / 2, file), errno = ENOSPC, (size_t)0)
"""


def test_a_disk_that_fills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "head.h"
    changed.write_text(FULL + sequential.HEAD_OF_ALL.read_text())
    func = hl.Func("ramp")
    func[x] = hl.f32(x)
    program = program_of([func], [8])
    monkeypatch.setattr(sequential, "HEAD_OF_ALL", changed)
    with pytest.raises(InputError, match="out_ramp cannot be written: No space left on device"):
        run_sequential(program, {})


def test_inputs_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written: .*; free disk space"):
        sequential.put_data(tmp_path / "missing", "in_image", np.zeros(3))
