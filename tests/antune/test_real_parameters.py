"""`--param alpha=0.25`: arguments of pipelines that are real numbers, in runs, on resuming and in exports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import antune
from antune import InputError
from antune.parsing import parse_parameters
from experiments.store import read_store
from generator.frontend_py.load import built
from generator.frontend_py.problem import pipeline_program, read_pipeline
from tests.support.cli import antune_command
from tests.support.slow import in_turn

BLEND = """
from antune import halide as hl

def build(width: int = 24, height: int = 16, alpha: float = 0.5, steps=2, gain=None):
    x, y = hl.vars("x y")
    image, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("out")
    assert type(alpha) is float and (gain is None or type(gain) is float)
    out[x, y] = image[x, y] * alpha + steps
    return out
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "blend.py").write_text(BLEND)
    return tmp_path / "blend.py"


def test_numbers_are_whole_where_they_are_written_so() -> None:
    assert parse_parameters(["a=3", "b=0.5", "c=-1e-3", "d=4.", "e=.5"]) == (("a", 3), ("b", 0.5), ("c", -1e-3),
                                                                             ("d", 4.0), ("e", 0.5))
    for wrong in ("a=", "a=1.2.3", "a=nan", "a=1e", "a=."):
        with pytest.raises(InputError, match="is not a number; write --param NAME=NUMBER"):
            parse_parameters([wrong])


def test_an_argument_gets_its_type(file: Path) -> None:
    given = {"width": 24, "height": 16, "alpha": 1, "gain": 0.5}
    program = pipeline_program(built(file, None, given), file, None, given)
    assert program.parameters == (("width", 24), ("height", 16), ("alpha", 1))
    with pytest.raises(InputError, match=r"steps = 0.5: this argument of `build` is a whole number by its annotation"):
        read_pipeline(file, None, {"width": 24, "height": 16, "steps": 0.5}, 0)
    with pytest.raises(InputError, match=r"width = 24.5: this argument of `build` is a whole number"):
        read_pipeline(file, None, {"width": 24.5, "height": 16}, 0)


def test_sizes_of_c_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                              capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scale.c").write_text("void f(int n, float a[n]) {\n#pragma scop\n"
                                      "  for (int i = 0; i < n; i++) a[i]++;\n#pragma endscop\n}\n")
    assert antune_command(monkeypatch)("explain", str(tmp_path / "scale.c"), "--param", "n=2.5", "--device",
                                       "deterministic") == 2
    assert "n = 2.5: sizes of C are whole numbers" in capsys.readouterr().err


@in_turn
def test_a_run_keeps_them(file: Path, tmp_path: Path) -> None:
    result = antune.tune(str(file), parameters={"width": 24, "height": 16, "alpha": 0.25}, evaluations=1,
                         finalists=0, device="pocl", reporter="silent", out=str(tmp_path / "run"))
    antune.resume(result.directory, evaluations=2, reporter="silent")
    with read_store(result.directory) as store:
        assert store.info().options.parameters == (("width", 24), ("height", 16), ("alpha", 0.25))
    image = np.ones((16, 24), np.float32)
    assert np.array_equal(antune.load(result.directory)(image), image * np.float32(0.25) + 2)
    result.export("opencl", str(tmp_path / "opencl"))
    header = (tmp_path / "opencl" / "blend.h").read_text()
    assert "void blend(long width, long height, const float image[16][24], float out[16][24]);" in header
    assert "--param alpha=0.25" in header
