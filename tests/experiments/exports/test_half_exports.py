"""A pipeline of halves is tuned and exported: C has them as unsigned short, the self-check as numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import antune
from tests.support import exports as support
from tests.support.slow import in_turn

HALVES = """
from antune import halide as hl

def build():
    x, y = hl.Var("x"), hl.Var("y")
    image, near, out = hl.ImageParam(hl.Float(16), 2, "image"), hl.Func("near"), hl.Func("out")
    edge = hl.BoundaryConditions.repeat_edge(image)
    near[x, y] = edge[x - 1, y] + edge[x + 1, y]
    out[x, y] = near[x, y] * near[x, y + 1] + edge[x, y]
    return out
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> antune.Result:
    folder = tmp_path_factory.mktemp("halves")
    (folder / "halves.py").write_text(HALVES)
    return antune.tune(str(folder / "halves.py"), parameters={"width": 40, "height": 30}, evaluations=1, device="pocl",
                       finalists=0, out=str(folder / "run"))


@pytest.mark.slow
def test_the_opencl_export_agrees(result: antune.Result, tmp_path: Path,
                                  tmp_path_factory: pytest.TempPathFactory) -> None:
    support.need_compiler()
    environment = support.pocl_environment(tmp_path_factory.mktemp("pocl"))
    result.export("opencl", str(tmp_path))
    assert "unsigned short image[30][40]" in (tmp_path / "halves.h").read_text()
    made = subprocess.run(["make", "check"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "selfcheck: ok" in made.stdout, made.stdout + made.stderr


@in_turn
def test_the_python_export_takes_float16(result: antune.Result, tmp_path: Path) -> None:
    result.export("python", str(tmp_path))
    assert "float16" in (tmp_path / "halves.py").read_text()
    made = subprocess.run([sys.executable, "-m", "halves"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "selfcheck: ok" in made.stdout, made.stdout + made.stderr
