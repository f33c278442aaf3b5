"""Kernels that write several arrays of a pipeline: right on real devices, and as CUDA text."""

from __future__ import annotations

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.schedules.stages import Stages
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans
from tests.support.runners import needed_device
from tests.support.suite import small_problem
from tests.support.targets import HOPPER

SETS = (("ix", "iy"), ("sxx", "sxy", "syy"))
"""Of harris: blocks compute the grey picture for the derivatives, and the products for the sums."""
SCHEDULE = Stages((("gray", "block"), ("ixx", "block"), ("ixy", "inline"), ("iyy", "block")), (), SETS)


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_kernels_with_several_outputs_are_right(platform: str) -> None:
    problem, device = small_problem(pipeline("harris"))[0], needed_device(platform)
    choices = (SCHEDULE, Stages((), (), SETS), Stages((("gray", "inline"),), (), (SETS[1], SETS[0])))
    check_plans(device, problem, [default_plan(problem.program, device.target, choice=one) for one in choices])


def test_cuda_text_of_several_outputs_becomes_device_code() -> None:
    program = small_problem(pipeline("harris"))[0].program
    source = lower(program, default_plan(program, HOPPER, choice=SCHEDULE), HOPPER).source
    assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)
