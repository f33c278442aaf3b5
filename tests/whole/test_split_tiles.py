"""Tiles of warps in shared memory and registers: on Intel's runtime, which really shuffles, and in CUDA's double, with
results compared; NVRTC makes device code of their text.
"""

from __future__ import annotations

import numpy as np
import pytest

from generator.lowering import lower
from generator.plan import Plan
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.cuda_compiler import check_spills
from tests.support.devices import device_named, has_intel
from tests.support.lanes import REAL, WHOLE, Chain, random_chain, split_plan, three_stages
from tests.support.slow import few
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

ROWS = ((1, 32), (2, 32), (1, 64), (2, 64))
ANY = ((4, 8), (2, 16), (4, 16), *ROWS)


def plans_of(seed: int, blocks: tuple[tuple[int, int], ...], count: int) -> tuple[Chain, list[Plan]]:
    """Random stages of random types, in one dimension or two, with random tiles and fractions."""
    rng = np.random.default_rng(seed)
    dims, far = int(rng.integers(1, 3)), (2, 40)[int(rng.integers(2))]
    chain = random_chain(rng, dims, far, (WHOLE, REAL)[int(rng.integers(2))])
    program, plans = chain.program, list[Plan]()
    for _ in range(count):
        block = blocks[int(rng.integers(len(blocks)))] if dims == 2 else (32 << int(rng.integers(2)),)
        points = (int(rng.integers(1, 3)), int(rng.integers(1, 5)))[2 - dims :]
        plans.append(split_plan(program, block, points, int(rng.integers(1, 11))))
    return chain, plans


@pytest.mark.skipif(not has_intel(), reason="needs sub-groups: the extra `intel` is not installed")
@pytest.mark.parametrize("seed", few(range(40), 1))
def test_intel_gets_every_element(seed: int) -> None:
    chain, plans = plans_of(seed, ROWS, 2 if seed == 0 else 4)
    outcomes = outcomes_of(device_named("intel"), chain.problem, plans)
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes


@pytest.mark.parametrize("seed", few(range(20), (1,)))
def test_warps_of_cuda_have_no_races(seed: int, watched_gpu: WatchedGpu) -> None:
    chain, plans = plans_of(seed, ANY, 2)
    watched_gpu.check(chain.problem, plans)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("__syncwarp();", "", "race in shared memory"),
        ("0xffffffffu", "0x7fffffffu", "without some lanes"),
    ],
)
def test_a_missing_barrier_and_missing_lanes_are_found(old: str, new: str, said: str, watched_gpu: WatchedGpu) -> None:
    """Shuffles order nothing in memory."""
    chain = three_stages()
    watched_gpu.check_fault(chain.problem, split_plan(chain.program, (2, 32), (1, 4), 5), said, old, new)


@pytest.mark.parametrize(("seed", "count"), few([(0, 1), (1, 1), *((seed, 2) for seed in range(30))], 1))
def test_nvrtc_spills_nothing(seed: int, count: int) -> None:
    chain, plans = plans_of(seed, ANY, count)
    for plan in plans:
        for capability in ((7, 5), (8, 0), (9, 0)):
            check_spills(lower(chain.program, plan, HOPPER).source, capability)
