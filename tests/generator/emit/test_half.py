"""Halves: conversions, bit by bit, and pipelines that store them, on devices and in the text for GPUs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from antune import halide as hl
from generator.arithmetic import TO_FLOAT, TO_HALF
from generator.capture.build import system_compiler
from generator.emit.half import half_functions
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.problem import Problem
from metrics.outcome import Timed
from runners.cuda.compiler import Nvrtc
from tests.support.bench import outcomes_of
from tests.support.cuda_compiler import ELF, translator
from tests.support.cuda_double import measured, pretended
from tests.support.devices import device_named
from tests.support.reading import problem_of
from tests.support.slow import counted, in_turn
from tests.support.stages import offered_plans
from tests.support.targets import HOPPER

WIDE: NDArray[np.float32] = np.concatenate([
    np.array([0.0, -0.0, 65504, 65519.996, 65520, 1e30, np.inf, -np.inf, 2**-25, 2.0**-25 * 1.0001, 2**-14, 6.1e-5],
             np.float32),
    np.arange(0, 2**16, dtype=np.uint16).view(np.float16).astype(np.float32),  # halves themselves
    (np.arange(2**31, step=30011, dtype=np.uint32)).view(np.float32),
    (np.arange(0x38000000, 0x48000000, step=4099, dtype=np.uint32)).view(np.float32),
])


def halves_pipeline() -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    image, scale = hl.ImageParam(hl.Float(16), 2, "image"), hl.Param(hl.Float(16), "scale", 0.3)
    edge = hl.BoundaryConditions.repeat_edge(image)
    rows, out = hl.Func("rows"), hl.Func("out")
    rows[x, y] = (edge[x - 1, y] + edge[x, y] * 2 + edge[x + 1, y]) * scale
    out[x, y] = hl.sqrt(rows[x, y - 1]) + rows[x, y] * rows[x, y + 1]
    return out


def halves_problem() -> Problem:
    return problem_of([halves_pipeline()], [37, 21], "halves")


@pytest.mark.parametrize("condition", ["0", "1"])
def test_conversions_are_those_of_numpy(tmp_path: Path, condition: str) -> None:
    """All halves to float; floats of all sizes to halves. In C, by the portable text and by the compiler's type."""
    text = half_functions("static inline", condition, "_Float16 y; memcpy(&y, &x, sizeof y); return y;",
                          "const _Float16 y = x; unsigned short z; memcpy(&z, &y, sizeof z); return z;")
    (tmp_path / "c.c").write_text(f"""#include <stdio.h>
#include <string.h>
{text}
int main(void) {{
  float x; unsigned short h;
  FILE *to = fopen("floats", "wb");
  for (int i = 0; i < 65536; i++) {{ x = {TO_FLOAT}(i); fwrite(&x, 4, 1, to); }}
  fclose(to);
  FILE *from = fopen("wide", "rb"); to = fopen("halves", "wb");
  while (fread(&x, 4, 1, from)) {{ h = {TO_HALF}(x); fwrite(&h, 2, 1, to); }}
  fclose(to);
}}
""")
    compiled = subprocess.run([system_compiler().path, "-O2", "c.c", "-o", "c"], cwd=tmp_path, capture_output=True,
                              text=True, check=False)
    if condition == "1" and "_Float16" in compiled.stderr:
        pytest.skip("this compiler has no _Float16")
    assert not compiled.returncode, compiled.stderr
    WIDE.tofile(tmp_path / "wide")
    subprocess.run(["./c"], cwd=tmp_path, check=True)
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    assert np.array_equal(np.fromfile(tmp_path / "floats", np.float32), every, equal_nan=True)
    with np.errstate(over="ignore"):
        wanted = WIDE.astype(np.float16)
    found = np.fromfile(tmp_path / "halves", np.float16)
    assert np.array_equal(np.signbit(found), np.signbit(wanted)) and np.array_equal(found, wanted, equal_nan=True)


@in_turn
@pytest.mark.parametrize(("device", "count"), counted(["pocl", "intel"], 1, 1, 4))
def test_random_plans_of_a_pipeline_of_halves(device: str, count: int) -> None:
    found, info = halves_problem(), device_named(device)
    plans = [default_plan(found.program, info.target), *offered_plans(found.program, info.target, count, 1)]
    outcomes = outcomes_of(info, found, plans)
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes


@pytest.mark.parametrize("capability", [(7, 5), (9, 0)])
def test_gpus_convert_in_one_instruction(capability: tuple[int, int]) -> None:
    program = halves_problem().program
    target = replace(HOPPER, dialect="cuda")
    binary, log = translator(Nvrtc).translate(lower(program, default_plan(program, target), target).source, capability)
    assert binary.startswith(ELF) and "warning" not in log


@pytest.mark.slow
def test_the_pretended_cuda_device_computes_the_same(tmp_path: Path) -> None:
    found = halves_problem()
    with pretended(tmp_path):
        device = device_named("cuda")
        outcomes = measured(found, device, [default_plan(found.program, device.target)], tmp_path).values()
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes
