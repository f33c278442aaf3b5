"""The pattern of a sensor's colours: its kernels have pairs of iterations on Intel's runtime, and are right there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.lowering import lower
from generator.lowering.heuristics.starts import start_plans
from generator.plan import Plan
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.slow import in_turn
from tests.support.suite import small_problem
from tests.support.targets import CPU

PAIRS = "x_point_pair"


def mosaic(program: Program, target: Target) -> Plan:
    """A plan of camera_pipe in which a thread that is alone computes rows of even and odd elements."""
    plan = start_plans(program, target, Stages())[0]
    return replace(plan, kernels=tuple(replace(kernel, tile=(32, 64)) if kernel.statements == ("S11",) else kernel
                                       for kernel in plan.kernels))


@in_turn
def test_only_where_a_thread_of_intels_runtime_is_alone() -> None:
    program, intel = small_problem(pipeline("camera_pipe"))[0].program, replace(CPU, intel_cpu=True)
    plan = mosaic(program, intel)
    assert PAIRS in lower(program, plan, intel).source
    assert PAIRS not in lower(program, plan, CPU).source


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_mosaics_are_right_on_intel() -> None:
    found, device = small_problem(pipeline("camera_pipe"))[0], device_named("intel")
    plan = mosaic(found.program, device.target)
    assert PAIRS in lower(found.program, plan, device.target).source
    (outcome,) = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome.message
