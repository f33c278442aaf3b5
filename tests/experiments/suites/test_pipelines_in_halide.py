"""The programs of the pipeline suite run unchanged under Halide's own package, and give the same."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.suites.image_pipelines import PIPELINES, Pipeline
from tests.support.halide_wheel import file_in_halide, wheel
from tests.support.slow import few
from tests.support.suite import small_problem

BY_NAME = {program.name: program for program in PIPELINES}
NEARLY = 1e-4
"""Chains of float32 are summed up in another order there."""


@pytest.mark.parametrize("program", few(PIPELINES, (BY_NAME["blur"], BY_NAME["histogram_equalize"])),
                         ids=lambda program: program.name)
def test_a_program_gives_the_same_in_halide(program: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel()
    problem, sizes = small_problem(program)
    (ours,) = problem.reference.outputs.values()
    known = dict(program.parameters_at("small"))
    region = [*sizes, *reversed(ours.shape[:ours.ndim - len(sizes)])]
    (theirs,) = file_in_halide(program.file, known, region, problem.reference.inputs, monkeypatch)
    if ours.dtype.kind == "f":
        assert np.allclose(ours, theirs, rtol=NEARLY, atol=NEARLY * float(abs(ours).max()))
    else:
        assert np.array_equal(ours, theirs)
