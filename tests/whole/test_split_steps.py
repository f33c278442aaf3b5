"""Stencils with several time steps per launch in tiles of warps partly in registers: on Intel's runtime, which really
shuffles, and in CUDA's double, with results compared; NVRTC makes device code of their text.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from generator.lowering import lower
from generator.plan import Plan
from generator.problem import Problem
from generator.schedules.time_tiles import TimeTiles
from metrics.outcome import LaunchFailed, Timed
from runners.base import DeviceInfo
from tests.support.bench import outcomes_of
from tests.support.cuda_compiler import check_spills
from tests.support.cuda_double import found_in, measured
from tests.support.devices import device_named, has_intel
from tests.support.edits import edited, replaced
from tests.support.lanes import with_tenths
from tests.support.slow import few
from tests.support.targets import HOPPER
from tests.support.teams import time_problem

Sizes: TypeAlias = dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
STEPS = {"jacobi-1d": 3, "jacobi-2d": 2, "heat-3d": 1, "fdtd-2d": 2}
ROWS: Sizes = {
    "jacobi-1d": ((64,), (32,)),
    "jacobi-2d": ((2, 64), (2, 32)),
    "heat-3d": ((1, 2, 32), (1, 2, 32)),
    "fdtd-2d": ((4, 64), (2, 32)),
}
"""Tiles and blocks of rows of 32 threads."""
SEVERAL: Sizes = {"jacobi-1d": ((128,), (64,)), "jacobi-2d": ((8, 32), (4, 16)), "heat-3d": ((2, 2, 16), (2, 2, 8)),
           "fdtd-2d": ((8, 16), (4, 8))}  # fmt: skip
"""Lanes in several rows, but for one dimension."""


def found_plan(name: str, sizes: Sizes, tenths: int) -> tuple[Problem, Plan]:
    """A stencil with several steps per launch."""
    found, plan = time_problem(name, "sub-group", *sizes[name])
    return found, replace(with_tenths(plan, tenths), schedule=TimeTiles(STEPS[name]))


@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("name", few(STEPS, ("jacobi-1d",)))
def test_intel_gets_every_element(name: str) -> None:
    found, plan = found_plan(name, ROWS, 5)
    plans = [plan, *([with_tenths(plan, 10)] if name in ("jacobi-1d", "jacobi-2d") else [])]
    outcomes = outcomes_of(device_named("intel"), found, plans)
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes


@pytest.mark.parametrize("sizes", [ROWS, SEVERAL], ids=["rows", "several rows"])
@pytest.mark.parametrize("name", few(STEPS, ("jacobi-1d",)))
def test_warps_of_cuda_have_no_races(
    name: str,
    sizes: Sizes,
    watched_gpu: DeviceInfo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_DOUBLE_LOG", str(tmp_path / "calls"))
    found, plan = found_plan(name, sizes, 5)
    [outcome] = measured(found, watched_gpu, [plan], tmp_path / "work").values()
    assert isinstance(outcome, Timed), outcome
    assert not found_in(tmp_path / "calls")


@pytest.mark.slow
def test_a_missing_barrier_is_found(
    watched_gpu: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shuffles order nothing in memory."""
    monkeypatch.setenv("CUDA_DOUBLE_LOG", str(tmp_path / "calls"))
    found, plan = found_plan("jacobi-2d", ROWS, 5)
    change = partial(edited, partial(replaced, "__syncwarp();", "", 1))
    [outcome] = measured(found, watched_gpu, [plan], tmp_path / "work", change).values()
    assert isinstance(outcome, LaunchFailed) and "race in shared memory" in "".join(found_in(tmp_path / "calls"))


@pytest.mark.parametrize("sizes", [ROWS, SEVERAL], ids=["rows", "several rows"])
@pytest.mark.parametrize("name", few(STEPS, ("jacobi-1d", "fdtd-2d")))
def test_nvrtc_spills_nothing(name: str, sizes: Sizes) -> None:
    for tenths in (5, 10) if name != "heat-3d" else (5,):
        found, plan = found_plan(name, sizes, tenths)
        for capability in ((7, 5), (8, 0), (9, 0)):
            check_spills(lower(found.program, plan, HOPPER).source, capability)
