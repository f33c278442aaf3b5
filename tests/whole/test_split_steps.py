"""Stencils with several time steps per launch in tiles of warps partly in registers: on Intel's runtime, which really
shuffles, and in CUDA's double, with results compared; NVRTC makes device code of their text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import Plan
from generator.polyhedral.time.time_steps import time_loop
from generator.problem import Problem
from generator.schedules.time_tiles import TimeTiles
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.cuda_compiler import check_spills
from tests.support.devices import device_named, has_intel
from tests.support.lanes import with_tenths
from tests.support.reading import read_untimed
from tests.support.slow import few
from tests.support.sweeps import split_steps_plan, sweeps_text
from tests.support.targets import HOPPER
from tests.support.teams import time_problem
from tests.support.watched_gpu import WatchedGpu

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


@pytest.mark.parametrize("sizes", few([SEVERAL, ROWS], 1, ["several rows", "rows"]))
@pytest.mark.parametrize("name", few(STEPS, ("jacobi-1d",)))
def test_warps_of_cuda_have_no_races(name: str, sizes: Sizes, watched_gpu: WatchedGpu) -> None:
    found, plan = found_plan(name, sizes, 5)
    watched_gpu.check(found, [plan])


def random_sweeps(seed: int, folder: Path, rows: int) -> tuple[Problem, list[Plan]]:
    """A random loop over time, and two plans."""
    rng, file = np.random.default_rng(seed), folder / "sweeps.c"
    file.write_text(sweeps_text(seed, int(rng.integers(60))))
    found = read_untimed(file, Compilation(), None, None, {}, 0)
    if time_loop(found.program) is None:
        pytest.skip("no loop over time")
    plans = [split_steps_plan(found.program, rng, rows) for _ in range(2)]
    return found, [plan for plan in plans if not _is_long(found, plan)]


def _is_long(found: Problem, plan: Plan) -> bool:
    try:
        lower(found.program, plan, HOPPER)
    except IllegalPlan as refused:
        assert "sub-tiles in registers would be as many pieces of text" in str(refused)
        return True
    return False


@pytest.mark.slow
@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("seed", range(24))
def test_intel_gets_every_element_of_random_sweeps(seed: int, tmp_path: Path) -> None:
    found, plans = random_sweeps(seed, tmp_path, 32)
    outcomes = outcomes_of(device_named("intel"), found, plans)
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24, 48))
def test_random_sweeps_have_no_races(seed: int, watched_gpu: WatchedGpu, tmp_path: Path) -> None:
    watched_gpu.check(*random_sweeps(seed, tmp_path, 1))


@pytest.mark.slow
def test_a_missing_barrier_is_found(watched_gpu: WatchedGpu) -> None:
    """Shuffles order nothing in memory."""
    watched_gpu.check_fault(*found_plan("jacobi-2d", ROWS, 5), "race in shared memory", "__syncwarp();", number=1)


@pytest.mark.parametrize(("name", "sizes"), few(
    [(name, sizes) for name in STEPS for sizes in (ROWS, SEVERAL)], (("jacobi-1d", ROWS),)))
@pytest.mark.parametrize(("major", "minor"), few([(8, 0), (7, 5), (9, 0)], 1))
def test_nvrtc_spills_nothing(name: str, sizes: Sizes, major: int, minor: int) -> None:
    for tenths in (5, 10) if name != "heat-3d" else (5,):
        found, plan = found_plan(name, sizes, tenths)
        check_spills(lower(found.program, plan, HOPPER).source, (major, minor))
