"""The suite's pipelines with tiles of warps partly in registers: right on Intel's runtime, and in CUDA's double without
races.
"""

from __future__ import annotations

import pytest

from experiments.benchmarks.warps import IN_BLOCKS
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.hybrids import hybrid_plan, hybrid_problem
from tests.support.slow import few
from tests.support.watched_gpu import WatchedGpu


@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("name", few(IN_BLOCKS, ("harris",)))
def test_intel_gets_every_element(name: str) -> None:
    found, device = hybrid_problem(name), device_named("intel")
    plan = hybrid_plan(name, found.program, device.target)
    assert any(kernel.in_registers for kernel in plan.kernels)
    [outcome] = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome


@pytest.mark.parametrize("name", few(IN_BLOCKS, ("unsharp",)))
def test_warps_of_cuda_have_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    found = hybrid_problem(name)
    plan = hybrid_plan(name, found.program, watched_gpu.target)
    assert any(kernel.in_registers for kernel in plan.kernels)
    watched_gpu.check(found, [plan])
