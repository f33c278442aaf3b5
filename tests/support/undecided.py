"""Pipelines whose comparisons rounding decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from antune import halide as hl
from generator.capture.build import UNTIMED
from generator.frontend_py.func import Func
from generator.frontend_py.problem import program_of
from generator.program import Program
from generator.sequential import pipeline as sequential
from generator.sequential.pipeline import Sequential, run_sequential

MACHINES = (("-O0",), ("-O3", "-march=native", "-ffp-contract=fast"),
            ("-O3", "-march=native", "-ffast-math", "-fno-finite-math-only"))


def read(func: Func, sizes: list[int], **images: NDArray[Any]) -> tuple[Program, Sequential]:
    """Return the program and what its sequential C gives."""
    program = program_of([func], sizes)
    return program, run_sequential(program, images, baselines=False)


def elsewhere(program: Program, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
              **images: NDArray[Any]) -> NDArray[Any]:
    """Return the results of a build as other machines and compilers make it."""
    with monkeypatch.context() as patched:
        patched.setattr(sequential, "UNTIMED", replace(UNTIMED, level=flags))
        return run_sequential(program, images, baselines=False).outputs[program.outputs[0].name]


def image_of(kind: hl.Type, data: NDArray[Any], name: str = "image") -> hl.ImageParam:
    """Return an input of the pipeline with these data."""
    image = hl.ImageParam(kind, data.ndim, name)
    image.set(data)
    return image


def contracted(seed: int) -> NDArray[np.float32]:
    """Return numbers a, b, c such that a b - 1.25 c is 0 in float, but not if one product keeps its digits."""
    rng = np.random.default_rng(seed)
    a, b = (np.sqrt(rng.uniform(1, 2, 4096)).astype(np.float32) for _ in range(2))
    c = (a.astype(float) * b / np.float32(1.25)).astype(np.float32)
    same = (a * b == c * np.float32(1.25)) & (a.astype(float) * b != c.astype(float) * 1.25)
    return np.stack([a[same], b[same], c[same]])


def undecided_signs(seed: int, gaps: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return numbers as `contracted`, `gaps` decided ones after each, and which answers are undecided."""
    data = contracted(seed)[:, :64]
    spread = np.ones((3, data.shape[1], 1 + gaps), np.float32)
    spread[:, :, 0] = data
    return spread.reshape(3, -1), np.arange(spread[0].size) % (1 + gaps) == 0


def sign_of(image: hl.ImageParam, index: Any) -> hl.Expr:
    """Return whether a b - 1.25 c is at least 0 at `index` of `undecided_signs`."""
    return image[index, 0] * image[index, 1] - image[index, 2] * 1.25 >= 0.0
