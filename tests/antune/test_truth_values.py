"""Arrays of bool: as arguments of jitted, loaded and exported functions, as a pipeline's own data, and as results."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import antune
from antune import InputError
from antune import halide as hl
from antune.jitted import Jitted
from runners.calls import ArgumentError
from tests.support.slow import in_turn

PICTURE = np.random.default_rng(0).integers(0, 256, (12, 20), dtype=np.uint8)
MASK = PICTURE % 2 == 0
CHOICE = """
from antune import halide as hl

def build(width: int = 20, height: int = 12):
    x, y = hl.vars("x y")
    mask, image = hl.ImageParam(hl.Bool(), 2, "mask"), hl.ImageParam(hl.UInt(8), 2, "image")
    chosen, dark = hl.Func("chosen"), hl.Func("dark")
    chosen[x, y] = hl.select(mask[x, y], image[x, y], 0)
    dark[x, y] = mask[x, y] & (image[x, y] < 100)
    return [chosen, dark]
"""


def jitted(function: Callable[..., hl.Func]) -> Jitted:
    made: Jitted = antune.jit(function, evaluations=0, device="pocl")
    return made


def test_a_mask_is_a_condition() -> None:
    x, y = hl.vars("x y")

    def condition(image: Any, level: int, mask: Any) -> hl.Func:
        out = hl.Func("out")
        out[x, y] = hl.select(mask[x, y] & (image[x, y] > level), image[x, y], 0)
        return out

    above = jitted(condition)
    assert np.array_equal(above(PICTURE, 100, MASK), np.where(MASK & (PICTURE > 100), PICTURE, 0))
    with pytest.raises(InputError, match=r"or use an input of type Bool\(\)"):
        above(PICTURE, 100, MASK.view(np.uint8))


def test_own_data_and_results_may_be_truth_values() -> None:
    x, y = hl.vars("x y")

    def compared(mask: Any) -> hl.Func:
        known, out = hl.Buffer(MASK[::-1].copy()), hl.Func("out")
        out[x, y] = mask[x, y] != known[x, y]
        return out

    differs = jitted(compared)
    found = differs(MASK)
    assert found.dtype == np.bool_ and np.array_equal(found, np.not_equal(MASK, MASK[::-1]))
    given = np.empty(MASK.shape, np.bool_)
    differs(MASK, out=given)
    assert np.array_equal(given, found)
    known, same = hl.Buffer(MASK), hl.Func("same")
    same[x, y] = ~known[x, y]
    assert np.array_equal(np.asarray(same.realize([20, 12])), ~MASK)


@in_turn
def test_loaded_and_exported_functions_take_bool(tmp_path: Path) -> None:
    (tmp_path / "choice.py").write_text(CHOICE)
    result = antune.tune(str(tmp_path / "choice.py"), parameters={"width": 20, "height": 12}, evaluations=1,
                         finalists=0, device="pocl", reporter="silent", out=str(tmp_path / "run"))
    f = antune.load(result.directory)
    result.export("python", str(tmp_path / "python"))
    spec = importlib.util.spec_from_file_location("choice_tuned", tmp_path / "python" / "choice.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["choice_tuned"] = module
    spec.loader.exec_module(module)
    for function in (f, module.choice):
        for mask in (MASK, MASK.view(np.uint8)):
            chosen, dark = function(mask, PICTURE)
            assert np.array_equal(chosen, np.where(MASK, PICTURE, 0))
            assert dark.dtype == np.bool_ and np.array_equal(dark, MASK & (PICTURE < 100))
    assert module.selfcheck()
    with pytest.raises(ArgumentError, match="mask must be an array of bool with shape"):
        f(PICTURE.astype(np.int32), PICTURE)
    result.export("c-header", str(tmp_path / "c"))
    assert " * `mask`, `dark`: truth values, 0 or 1.\n" in (tmp_path / "c" / "choice.h").read_text()
