"""The number of threads of a launch that have work at the same time, on average over the launches of a kernel.

Launches with different host iterators run different parts of a skewed nest, so points (or tiles of a wavefront) are
counted exactly over all launches, and blocks per launch. In blocks that run the diagonals of a tile, threads wait for
each other after each diagonal, so a tile takes as long as the busiest threads of its diagonals together; tiles count as
full ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from statistics import fmean, median
from typing import Any

import islpy as isl
import numpy as np
import numpy.typing as npt

from generator.decisions.size_lists import smallest_inner
from generator.plan import KernelPlan, Plan
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.memory.diagonals import places_of, shared_rows, steps_of, summed_rows, with_inner_tiles
from generator.polyhedral.memory.first_vector import from_whole_vectors
from generator.polyhedral.memory.mapping import tile_member
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension, reordered, runs_on_a_box
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles

MOST_POINTS = 100_000_000
"""The most points of all launches of a kernel together for which points are counted."""

MOST_LAUNCHES = 1000
"""The most launches whose blocks are counted one by one; of more launches, these are distributed over all of them."""

_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples modulo 1 are distributed evenly, without a period."""


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """The blocks with work of launches that have any: `numbers` are sorted, one per launch counted, or one for all of
    them (`launches`).
    """

    numbers: tuple[int, ...]
    launches: int

    @property
    def least(self) -> int:
        """The least number of blocks."""
        return self.numbers[0]

    @property
    def median(self) -> float:
        """The median number of blocks."""
        return median(self.numbers)

    @property
    def most(self) -> int:
        """The greatest number of blocks."""
        return self.numbers[-1]

    def mean(self, together: int | None = None) -> float:
        """Return the mean number of blocks; of blocks that run at the same time if a device holds `together`."""
        return fmean(self.numbers if together is None else (min(number, together) for number in self.numbers))


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Means over the `launches` of a kernel: its `blocks` with work, and the `threads` per block with work at the same
    time.

    `exact`: everything except partial tiles is taken into account. `counts`: the blocks of its launches; None if there
    are too many to count. `active`: in blocks that run diagonals, the share of a block's threads that have a point,
    on average over the diagonals of a full tile; otherwise None.
    """

    statements: tuple[str, ...]
    launches: int
    blocks: float
    threads: float
    exact: bool = True
    counts: BlockCounts | None = None
    active: float | None = None

    @property
    def total(self) -> float:
        """Threads of a launch that work at the same time."""
        return self.blocks * self.threads

    def to_data(self) -> dict[str, Any]:
        """Return it for JSON; what is unknown is null."""
        counts = self.counts
        blocks = None if counts is None else {"min": counts.least, "median": counts.median, "mean": counts.mean(),
                                              "max": counts.most, "launches_counted": counts.launches}
        return {"statements": list(self.statements), "launches": self.launches, "mean_blocks": self.blocks,
                "mean_threads_per_block": self.threads, "exact": self.exact, "blocks_per_launch": blocks,
                "active_share_per_diagonal": self.active}


def parallelism(program: Program, plan: Plan) -> tuple[Parallelism, ...]:
    """Return the parallelism of the kernels of `plan`, in launch order; () for kernels with several time steps per
    launch.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    if isinstance(plan.schedule, TimeTiles):
        return ()
    return tuple(
        _of(from_whole_vectors(one.section.program, reordered(one.part, kernel.order), kernel), kernel)
        for one in kernels_of(program, plan.scheduled)
        for kernel in [plan.kernel(one.statements)]
    )


def mean(kernels: tuple[Parallelism, ...]) -> float:
    """Return the number of threads that work at the same time, on average over all launches of a program."""
    return sum(one.launches * one.total for one in kernels) / sum(one.launches for one in kernels)


def _of(part: KernelPart, plan: KernelPlan) -> Parallelism:
    launches = prod(dimension(member, part.domain).extent for member in part.prefix)
    if not part.parallel:
        return Parallelism(plan.statements, launches, 1, 1, counts=BlockCounts((1,), launches))
    extents = [d.extent for d in part.parallel]
    counted = part.coarse or not runs_on_a_box(part)
    exact = not counted or launches * prod(extents) <= MOST_POINTS
    points = _points(part) / launches if counted and exact else float(prod(extents))
    counts = block_counts(part, plan) if counted and exact else None
    if plan.diagonals:
        part = with_inner_tiles(part, smallest_inner(plan.inner_tile))
        busy, active = busy_threads(part, plan), active_threads(part, plan) / prod(plan.block)
        return Parallelism(plan.statements, launches, points, busy, exact, counts, active)
    if counted:  # each thread has as many points as in a full tile
        threads = points * prod(plan.block) / prod(plan.tile)
        blocks = max(1.0, threads / prod(plan.block))
        return Parallelism(plan.statements, launches, blocks, threads / blocks, exact, counts)
    all_tiles = prod(-(-e // t) for e, t in zip(extents, plan.tile, strict=True))
    threads = prod(e // t * b + min(b, e % t) for e, t, b in zip(extents, plan.tile, plan.block, strict=True))
    same = BlockCounts((all_tiles,), launches)
    return Parallelism(plan.statements, launches, all_tiles, threads / all_tiles, counts=same)


def _points(part: KernelPart) -> int:
    """Return the number of points of the parallel dimensions, over all launches."""
    members = (*part.prefix, *(d.member for d in part.parallel))
    found = isl.Set.from_union_set(values_at(members, part.domain).range()).coalesce()
    return int(found.count_val().to_python())


def block_counts(part: KernelPart, plan: KernelPlan) -> BlockCounts | None:
    """Return how many blocks of the launches have work; None if nothing runs, or in none of the launches counted."""
    tiles = (tile_member(d, size) for d, size in zip(part.parallel, plan.tile, strict=True))
    found = isl.Set.from_union_set(values_at((*part.prefix, *tiles), part.domain).range()).coalesce()
    blocks = []
    for launch in _some_launches([dimension(member, part.domain) for member in part.prefix]):
        one = found
        for d, value in enumerate(launch):
            one = one.fix_val(isl.dim_type.set, d, isl.Val(value))
        if number := int(one.count_val().to_python()):
            blocks.append(number)
    return BlockCounts(tuple(sorted(blocks)), len(blocks)) if blocks else None


def _some_launches(hosts: Sequence[Dimension]) -> Iterator[tuple[int, ...]]:
    """Yield the values of `hosts` in all launches, or in MOST_LAUNCHES of them: one of each equal share, at irregular
    places, because launches at regular ones may be alike.
    """
    launches = prod(host.extent for host in hosts)
    count = min(launches, MOST_LAUNCHES)
    for share in range(count):
        first, after = share * launches // count, (share + 1) * launches // count
        number, values = first + int(share * _GOLDEN % 1 * (after - first)), list[int]()
        for host in reversed(hosts):
            number, place = divmod(number, host.extent)
            values.append(host.low + place)
        yield tuple(reversed(values))


def busy_threads(part: KernelPart, plan: KernelPlan) -> float:
    """Return the threads of a block that have a point at the same time, on average over the diagonals of a full tile.
    """
    places, summed = places_of(part), summed_rows(part)
    rows = zip(shared_rows(part), plan.block, strict=True)
    alike = prod(-(-places[row] // count) for row, count in rows if row not in summed)
    most = np.zeros(steps_of(part))
    for found in _places_of_threads(part, plan):
        most = np.maximum(most, found)
    return prod(places) / float(alike * most.sum())


def active_threads(part: KernelPart, plan: KernelPlan) -> float:
    """Return the threads of a block that have a point in a diagonal, on average over the diagonals of a full tile."""
    places, summed = places_of(part), summed_rows(part)
    rows = zip(shared_rows(part), plan.block, strict=True)
    alike = prod(min(places[row], count) for row, count in rows if row not in summed)
    return alike * sum(float((found > 0).mean()) for found in _places_of_threads(part, plan))


def _places_of_threads(part: KernelPart, plan: KernelPlan) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the places of a thread in each diagonal, along the summed rows, for each thread along these.

    The places of a thread along a row form a polynomial with a 1 for each of them; their product counts sums of places.
    """
    rows, sizes = dict(zip(shared_rows(part), plan.block, strict=True)), places_of(part)
    (longest,) = set(range(len(sizes))) - rows.keys()
    others = [row for row in summed_rows(part) if row != longest]
    for threads in product(*(range(rows[row]) for row in others)):
        found = np.ones(sizes[longest])
        for row, thread in zip(others, threads, strict=True):
            own = np.zeros(sizes[row])
            own[thread :: rows[row]] = 1
            found = np.convolve(found, own)
        yield found
