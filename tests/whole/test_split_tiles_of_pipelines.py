"""The suite's pipelines with tiles of warps partly in registers: right on Intel's runtime, and in CUDA's double without
races.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.benchmarks.warps import IN_BLOCKS
from metrics.outcome import Timed
from runners.base import DeviceInfo
from tests.support.bench import outcomes_of
from tests.support.cuda_double import found_in, measured
from tests.support.devices import device_named, has_intel
from tests.support.hybrids import hybrid_plan, hybrid_problem
from tests.support.slow import few


@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("name", few(IN_BLOCKS, ("harris",)))
def test_intel_gets_every_element(name: str) -> None:
    found, device = hybrid_problem(name), device_named("intel")
    plan = hybrid_plan(name, found.program, device.target)
    assert any(kernel.in_registers for kernel in plan.kernels)
    [outcome] = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome


@pytest.mark.parametrize("name", few(IN_BLOCKS, ("unsharp",)))
def test_warps_of_cuda_have_no_races(
    name: str, watched_gpu: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_DOUBLE_LOG", str(tmp_path / "calls"))
    found = hybrid_problem(name)
    plan = hybrid_plan(name, found.program, watched_gpu.target)
    assert any(kernel.in_registers for kernel in plan.kernels)
    [outcome] = measured(found, watched_gpu, [plan], tmp_path / "work").values()
    assert isinstance(outcome, Timed), outcome
    assert not found_in(tmp_path / "calls")
