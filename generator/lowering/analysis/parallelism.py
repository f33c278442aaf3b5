"""The number of threads of a launch that have work at the same time, on average over the launches of a kernel.

Launches with different host iterators run different parts of a skewed nest, so points (or tiles of a wavefront) are
counted exactly over all launches. In blocks that run the diagonals of a tile, threads wait for each other after each
diagonal, so a tile takes as long as the busiest threads of its diagonals together; tiles count as full ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import islpy as isl
import numpy as np

from generator.plan import KernelPlan, Plan
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.memory.diagonals import shared_rows, steps_of, summed_rows
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.schedules.kernels import KernelPart, dimension, reordered, runs_on_a_box
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles

MOST_POINTS = 100_000_000
"""The most points of all launches of a kernel together for which points are counted."""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Means over the `launches` of a kernel: its `blocks` with work, and the `threads` per block with work at the same
    time.

    `exact`: everything except partial tiles is taken into account.
    """

    statements: tuple[str, ...]
    launches: int
    blocks: float
    threads: float
    exact: bool = True

    @property
    def total(self) -> float:
        """Threads of a launch that work at the same time."""
        return self.blocks * self.threads


def parallelism(program: Program, plan: Plan) -> tuple[Parallelism, ...]:
    """Return the parallelism of the kernels of `plan`, in launch order; () for kernels with several time steps per
    launch.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    if isinstance(plan.schedule, TimeTiles):
        return ()
    return tuple(
        _of(reordered(one.part, kernel.order), kernel)
        for one in kernels_of(program, plan.scheduled)
        for kernel in [plan.kernel(one.statements)]
    )


def mean(kernels: tuple[Parallelism, ...]) -> float:
    """Return the number of threads that work at the same time, on average over all launches of a program."""
    return sum(one.launches * one.total for one in kernels) / sum(one.launches for one in kernels)


def _of(part: KernelPart, plan: KernelPlan) -> Parallelism:
    launches = prod(dimension(member, part.domain).extent for member in part.prefix)
    if not part.parallel:
        return Parallelism(plan.statements, launches, 1, 1)
    extents = [d.extent for d in part.parallel]
    counted = part.coarse or not runs_on_a_box(part)
    exact = not counted or launches * prod(extents) <= MOST_POINTS
    points = _points(part) / launches if counted and exact else float(prod(extents))
    if plan.diagonals:
        return Parallelism(plan.statements, launches, points, busy_threads(part, plan), exact)
    if counted:  # each thread has as many points as in a full tile
        threads = points * prod(plan.block) / prod(plan.tile)
        blocks = max(1.0, threads / prod(plan.block))
        return Parallelism(plan.statements, launches, blocks, threads / blocks, exact)
    blocks = prod(-(-e // t) for e, t in zip(extents, plan.tile, strict=True))
    threads = prod(e // t * b + min(b, e % t) for e, t, b in zip(extents, plan.tile, plan.block, strict=True))
    return Parallelism(plan.statements, launches, blocks, threads / blocks)


def _points(part: KernelPart) -> int:
    """Return the number of points of the parallel dimensions, over all launches."""
    members = (*part.prefix, *(d.member for d in part.parallel))
    found = isl.Set.from_union_set(values_at(members, part.domain).range()).coalesce()
    return int(found.count_val().to_python())


def busy_threads(part: KernelPart, plan: KernelPlan) -> float:
    """Return the threads of a block that have a point at the same time, on average over the diagonals of a full tile.
    """
    return prod(part.sizes) / sum(most for most in _most_points(part, plan))


def _most_points(part: KernelPart, plan: KernelPlan) -> Iterator[float]:
    """Yield, for each diagonal, the points of the thread with the most of them.

    The points of a thread along a row form a polynomial with a 1 for each place; their product counts sums of places.
    """
    rows = dict(zip(shared_rows(part), plan.block, strict=True))
    summed = summed_rows(part)
    (longest,) = set(range(len(part.sizes))) - rows.keys()
    others = [row for row in summed if row != longest]
    alike = prod(-(-part.sizes[row] // count) for row, count in rows.items() if row not in summed)
    found = np.zeros(steps_of(part))
    for threads in product(*(range(rows[row]) for row in others)):
        places = np.ones(1)
        for row, thread in zip(others, threads, strict=True):
            own = np.zeros(part.sizes[row])
            own[thread :: rows[row]] = 1
            places = np.convolve(places, own)
        found = np.maximum(found, np.convolve(places, np.ones(part.sizes[longest])))
    yield from (alike * found).tolist()
