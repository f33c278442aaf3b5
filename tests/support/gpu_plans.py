"""Random plans with features of GPUs' spaces, for devices on CPUs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from experiments.values.options import LevelName
from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target
from tests.support.space_plans import random_plans

THREADS = 64
"""The maximum number of threads of a block: CPUs take long for more threads that wait for each other."""


def gpu_plans(program: Program, target: Target, level: LevelName, count: int, seed: int) -> list[Plan]:
    """Return random plans of a GPU's space with the limits of `target`, changed for more features of GPUs.

    Kernels often have several points per thread in runs, vector accesses and tiles ahead; plans that cannot be lowered
    are left out.
    """
    rng, found = np.random.default_rng(seed), []
    for plan in random_plans(program, replace(target, shares_host_cores=False), level, count, seed):
        timed = isinstance(plan.schedule, TimeTiles)
        changed = replace(plan, kernels=tuple(_changed(kernel, timed, rng) for kernel in plan.kernels))
        with suppress(IllegalPlan):
            lower(program, changed, target)
            found.append(changed)
    return found


def _changed(kernel: KernelPlan, timed: bool, rng: np.random.Generator) -> KernelPlan:
    """Return the kernel with fewer threads and more points along x.

    A kernel with several time steps (`timed`) has no runs, vectors and tiles ahead.
    """
    if not kernel.tile or kernel.walk or kernel.diagonals:
        return kernel
    block = list(kernel.block)
    while np.prod(block) > THREADS:
        block[int(np.argmax(block))] //= 2
    block[-1] = min(block[-1], 16)
    points = [max(1, min(4, t // b)) for t, b in zip(kernel.tile, kernel.block, strict=True)]
    if rng.integers(4):
        points[-1] = int(rng.choice([2, 4, 8]))
    tile = tuple(n * b for n, b in zip(points, block, strict=True))
    if timed:
        return replace(kernel, tile=tile, block=tuple(block), level="block", in_registers=0)
    run = int(rng.choice([run for run in (1, 2, 4) if points[-1] % run == 0]))
    vector = int(rng.choice([1, 2, 4]))
    unroll, padding = (max(n, vector) for n in (kernel.unroll, kernel.padding)) if rng.integers(2) else (4, 0)
    return replace(kernel, tile=tile, block=tuple(block), run=run, vector=vector, unroll=unroll, padding=padding,
                   swizzled=() if padding else kernel.swizzled, level="block", ahead=bool(rng.integers(2)),
                   unrolls=tuple(one for one in kernel.unrolls if not one[0].endswith(("_point", "_next"))))
