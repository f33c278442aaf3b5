"""Expressions whose parts are used again and again: sequential C and a device have the values of their trees."""

from __future__ import annotations

import numpy as np
import pytest

from antune import halide as hl
from generator.frontend_py.types import Type
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import Where
from generator.schedules.stages import Stages
from tests.support.devices import check_plans
from tests.support.graphs import MAKERS, REAL, computed, drawn, expression
from tests.support.reading import problem_of
from tests.support.runners import needed_device
from tests.support.slow import few

SIZE, COUNT = 64, 6


@pytest.mark.parametrize("kind", few([hl.UInt(8), hl.Float(32), hl.UInt(32)], 1), ids=str)
@pytest.mark.parametrize("platform", few(["PoCL", "Intel OpenCL"], ["PoCL"]))
def test_c_and_devices_compute_what_the_trees_mean(platform: str, kind: Type) -> None:
    device = needed_device(platform)
    rng = np.random.default_rng(5)
    pixels = (rng.random(SIZE + 1) if kind.is_float() else rng.integers(0, 250, SIZE + 1)).astype(kind.numpy)
    x, image = hl.Var("x"), hl.Buffer(pixels, "image")
    outputs, expected = [], []
    for number in range(COUNT):
        names = [name for name in REAL if name != "*"] if kind.is_float() else tuple(MAKERS)  # sums stay finite
        steps = drawn(rng, names, 24)
        within, output = hl.Func(f"within{number}"), hl.Func(f"output{number}")
        within[x] = expression(steps, [image[x], image[x + 1]])
        output[x] = expression(steps[::-1], [within[x], image[x]])
        outputs.append(output)
        expected.append(computed(steps[::-1], [computed(steps, [pixels[:-1], pixels[1:]], kind), pixels[:-1]], kind))
    problem = problem_of(outputs, [SIZE], "graphs")
    for number, values in enumerate(expected):
        np.testing.assert_allclose(problem.reference.outputs[f"output{number}"], values,
                                   rtol=1e-5 if kind.is_float() else 0)
    assert not [words for words in problem.reference.warnings if "sequential C" in words]
    everything: list[tuple[str, Where]] = [(array, "inline") for array in sorted(possible_stages(problem.program))]
    assert everything
    assert any(statement.body.lets for statement in problem.program.statements)
    check_plans(device, problem, [default_plan(problem.program, device.target, choice=choice)
                                  for choice in (Stages(), Stages(tuple(everything)))])
