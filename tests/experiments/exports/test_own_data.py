"""Constants of a pipeline (`hl.Buffer`) need not be passed: functions have their data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import antune
from experiments.exports.kinds import Kind
from tests.support import exports as support
from tests.support.exports import exported, stored_run
from tests.support.slow import in_turn

WEIGHTED = """
import numpy as np
from antune import halide as hl

def build(width: int = 16, height: int = 8):
    x, y = hl.vars("x y")
    weights = hl.Buffer(np.array([0.5, 2, -1, np.inf], np.float32), "weights")
    table = hl.Buffer(np.arange(20000, dtype=np.int32), "table")
    image, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("out")
    out[x, y] = image[x, y] * weights[x % 2] + hl.f32(table[x + 3])
    out.set_estimates([(0, 16), (0, 8)])
    return out
"""
MAIN = """
#include "weighted.h"
#include <stdio.h>
static float image[8][16], out[8][16], other[4] = {1, 1, 0, 0};
static int table[20000];
int main(void) {
  for (int i = 0; i < 8; i++) for (int j = 0; j < 16; j++) image[i][j] = 4;
  for (int i = 0; i < 20000; i++) table[i] = i;
  weighted(image, NULL, table, out);
  printf("%g %g ", out[7][0], out[7][1]);
  weighted(image, other, table, out);
  printf("%g %g\\n", out[7][0], out[7][1]);
  return 0;
}
"""
WANTED = np.full((8, 16), 4) * np.tile([0.5, 2], 8) + np.arange(3, 19)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "weighted.py").write_text(WEIGHTED)
    return tmp_path / "weighted.py"


def test_functions_say_what_may_be_left_out(file: Path, tmp_path: Path) -> None:
    """Of 80000 bytes, a module has no copy, while a loaded function takes them from its run."""
    run = stored_run(tmp_path / "run", file)
    f = antune.load(run)
    assert str(f).startswith("weighted(image, weights=None, table=None, *, out=None, ")
    assert "only read; by default the data that the program holds" in str(f.__doc__)
    python = (exported(run, Kind.python, tmp_path / "python") / "weighted.py").read_text()
    assert "\ndef weighted(image, table, weights=None, *, out=None, inplace=False):\n" in python
    header = (exported(run, Kind.opencl, tmp_path / "c") / "weighted.h").read_text()
    assert " * `weights`: NULL stands for the data that the program itself has.\n" in header


@in_turn
def test_functions_have_the_data(file: Path, tmp_path: Path) -> None:
    import pyopencl as cl
    import pyopencl.array as on_device

    result = antune.tune(str(file), parameters={"width": 16, "height": 8}, evaluations=1, finalists=0, device="pocl",
                         reporter="silent", out=str(tmp_path / "run"))
    f = antune.load(result.directory)
    image = np.full((8, 16), 4, np.float32)
    assert np.array_equal(f(image), WANTED)
    assert np.array_equal(f(image, np.ones(4, np.float32)), image + np.arange(3, 19))
    platform = next(p for p in cl.get_platforms() if "Portable" in p.name)
    queue = cl.CommandQueue(cl.Context(platform.get_devices()[:1]))
    assert np.array_equal(f(on_device.to_device(queue, image)).get(), WANTED)
    result.export("python", str(tmp_path / "python"))
    code = ("import numpy as np, weighted; assert weighted.selfcheck(); image = np.full((8, 16), 4, 'f'); "
            "print(weighted.weighted(image, np.arange(20000, dtype='i'))[7, :2].tolist())")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "python", capture_output=True, text=True,
                          check=False)
    assert "[5.0, 12.0]" in done.stdout, done.stdout + done.stderr


@in_turn
def test_c_passes_null(file: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    support.need_compiler()
    folder = exported(stored_run(tmp_path / "run", file), Kind.opencl, tmp_path / "c")
    environment = support.pocl_environment(tmp_path_factory.mktemp("pocl"))
    (folder / "main.c").write_text(MAIN)
    build = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "main.c", "weighted.c", "-ldl", "-o", "main"]
    for command in (["make", "kernels.inc"], build, ["./main"]):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "5 12 7 8\n"
