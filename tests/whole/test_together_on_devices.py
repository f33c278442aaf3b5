"""Kernels that write several arrays of a pipeline: right on real devices, and as CUDA text."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.schedules.stages import Stages
from metrics.outcome import Timed
from runners.base import Job
from runners.cuda.compiler import Nvrtc
from runners.registry import open_runner
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import LIMITS
from tests.support.runners import needed_device
from tests.support.suite import small_problem
from tests.support.targets import HOPPER

SETS = (("ix", "iy"), ("sxx", "sxy", "syy"))
"""Of harris: blocks compute the grey picture for the derivatives, and the products for the sums."""
SCHEDULE = Stages((("gray", "block"), ("ixx", "block"), ("ixy", "inline"), ("iyy", "block")), (), SETS)


@pytest.mark.parametrize("device", ["pocl", "Intel OpenCL"])
def test_kernels_with_several_outputs_are_right(device: str, tmp_path: Path) -> None:
    problem = small_problem(pipeline("harris"))[0]
    key = device if device == "pocl" else needed_device(device).key
    with closing(open_runner(problem, key, LIMITS, tmp_path)) as runner:
        target = runner.device.target
        plans = [default_plan(problem.program, target, choice=choice)
                 for choice in (SCHEDULE, Stages((), (), SETS), Stages((("gray", "inline"),), (), (SETS[1], SETS[0])))]
        outcomes = dict(runner.evaluate([Job(n, plan) for n, plan in enumerate(plans)]))
    assert all(isinstance(outcome, Timed) for outcome in outcomes.values()), outcomes


def test_cuda_text_of_several_outputs_becomes_device_code() -> None:
    program = small_problem(pipeline("harris"))[0].program
    source = lower(program, default_plan(program, HOPPER, choice=SCHEDULE), HOPPER).source
    assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)
