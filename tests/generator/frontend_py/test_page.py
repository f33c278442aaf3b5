"""docs/pipelines.md, docs/pipeline_stages.md: program, pictures and plan by hand are what the pages say."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.frontend_py.problem import read_pipeline
from generator.lowering import lower
from generator.plan import plan_from_json
from tests.support.halide_wheel import file_in_halide, wheel
from tests.support.paths import DOCS
from tests.support.suite import TARGET

PAGE = (DOCS / "pipelines.md").read_text(encoding="utf-8")
STAGES = (DOCS / "pipeline_stages.md").read_text(encoding="utf-8")


def blocks(kind: str, page: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)\n```", page, flags=re.DOTALL)


def sharpened(image: Any) -> Any:
    """The example, written anew."""
    wide = np.pad(image.astype(int), 2, mode="edge")
    rows = np.sum([wide[:, k:k + image.shape[1]] for k in range(5)], axis=0)
    blur = np.sum([rows[k:k + image.shape[0]] for k in range(5)], axis=0) // 25
    return np.clip(image + 2 * (image - blur), 0, 255)


def test_the_page_shows_the_program() -> None:
    program = (DOCS / "sharpen.py").read_text(encoding="utf-8")
    shown = blocks("python", PAGE)
    assert len(shown) == 2 and all(block in program for block in shown)


def test_the_pictures_are_what_the_program_writes(tmp_path: Path) -> None:
    import matplotlib.image

    shutil.copy(DOCS / "sharpen.py", tmp_path)
    names = runpy.run_path(str(tmp_path / "sharpen.py"), run_name="__main__")
    image = names["picture"](384, 256)
    for name, expected in (("sharpen-in", image), ("sharpen-out", sharpened(image))):
        for folder in (DOCS, tmp_path):
            pixels = np.rint(matplotlib.image.imread(folder / f"{name}.png") * 255).astype(int)
            assert (abs(pixels - expected) > 0).mean() < 1e-3, "but for the last bits of sine and tanh"
        assert (DOCS / f"{name}.png").stat().st_size < 60_000


def test_the_plan_by_hand_is_right_and_gives_the_boxes_that_are_shown() -> None:
    (text,) = blocks("json", STAGES)
    problem = read_pipeline(DOCS / "sharpen.py", None, {"width": 96, "height": 64}, 0)
    plan = plan_from_json(text)
    source = lower(problem.program, plan, TARGET).source
    boxes = blocks("c", STAGES)[-1].splitlines()[:3]
    assert [line.strip() in source for line in boxes] == [True] * 3
    assert json.loads(text)["kernels"][0]["tile"] == [8, 32] and "12x36 of `light`" in STAGES


def test_the_program_gives_the_same_in_halide(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel()
    sizes = {"width": 96, "height": 64}
    reference = read_pipeline(DOCS / "sharpen.py", None, sizes, 0).reference
    (theirs,) = file_in_halide(DOCS / "sharpen.py", sizes, [96, 64], reference.inputs, monkeypatch)
    assert np.array_equal(theirs, reference.outputs["sharpened"])
