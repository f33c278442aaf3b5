"""Self-checks compare integers exactly: large ones, whose doubles are equal, and those that wrap."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from tests.support.exports import AGREES, checked, exported, ran, stored_run
from tests.support.programs import write_c
from tests.support.slow import in_turn

LARGE = 2**62
PROGRAM = f"""
static double NAN[64], memcpy[64], M_PI;
static long k[64];
static unsigned char byte[64];
static void compare(int n) {{
#pragma scop
  for (int RAND_MAX = 0; RAND_MAX < n; RAND_MAX++) {{
    k[RAND_MAX] = {LARGE}L + (long)(0.1 * memcpy[RAND_MAX]);
    byte[RAND_MAX] = (unsigned char)((int)(0.1 * memcpy[RAND_MAX]) - 4);
    NAN[RAND_MAX] = memcpy[RAND_MAX] * M_PI;
  }}
#pragma endscop
}}
int main(void) {{
  for (int i = 0; i < 64; i++) memcpy[i] = 10 * (i % 8);
  M_PI = 2;
  compare(64);
  return 0;
}}
"""
FAULTS = ((f"{LARGE} +", f"{LARGE + 3} +", "k", 3), (") - 4)", ") - 40)", "byte", 36))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a program whose integers depend on rounding, and with names of functions and macros."""
    folder = tmp_path_factory.mktemp("integers")
    return stored_run(folder / "run", write_c(PROGRAM, folder))


@in_turn
def test_in_c(run: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    folder = exported(run, Kind.opencl, tmp_path / "opencl")
    assert AGREES in checked(folder, pocl)
    kernels = folder / "kernels.cl"
    right = kernels.read_text()
    for before, after, array, apart in FAULTS:
        assert before in right
        kernels.write_text(right.replace(before, after))
        done = ran(folder, pocl, "make", "check")
        assert done.returncode != 0 and "selfcheck: FAILED" in done.stdout
        assert f"selfcheck: {array}: 64 of 64 elements are wrong" in done.stderr
        assert f", {apart} apart" in done.stderr


@in_turn
def test_in_python(run: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    module = exported(run, Kind.python, tmp_path / "python") / "compare.py"
    right = module.read_text()
    assert ran(module.parent, pocl, sys.executable, "compare.py").returncode == 0
    for before, after, array, _ in FAULTS:
        module.write_text(right.replace(before, after))
        done = ran(module.parent, pocl, sys.executable, "compare.py")
        assert done.returncode == 1 and f"selfcheck: {array}[0] is " in done.stdout and "64 of 64" in done.stdout
