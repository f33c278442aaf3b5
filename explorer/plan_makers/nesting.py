"""Stages inside the thread loops of their readers (Sioutas et al. 2020, section 4.4, listing 2).

For kernels with high resource usage: over 32 KiB of shared memory, an occupancy below 0.3, or over 900 active threads.
The place of a stage s with the only reader c depends on the dimensions along which points of c share elements of s: a
tile of 2 points in each dimension needs elements of s that the next tile along such a dimension needs, too.

- None: s is computed in c's innermost loop, by the thread that needs it, in registers. This is `inline` in plans.
- Some, but neither y nor a dimension outside y: s is computed in c's loop over y, for all points along x at once. In
  plans, blocks walk down their tiles (`walk`): a thread's loop over steps is its loop over points along y.
- Others: s stays with the block. In blocks that walk these stages are sliding windows, or computed for the whole tile
  before (`whole`) if no stage in steps is needed for that; the cheapest of these ways is chosen.

In c's loops, dimensions of few iterations, which no threads share out, are inside x. A stage that several stages of the
kernel read stays with the block, since no loop of c contains the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from explorer.plan_makers.choices import Choice
from generator.dataflow import Read
from metrics.costs.groups import Group, flat, parallel_dimensions, tile_work
from metrics.costs.tile_sizes import cut
from metrics.nvidia import KIB

SHARED_BYTES, OCCUPANCY, ACTIVE_THREADS, TILE = 32 * KIB, 30.0, 900, 2
"""The artifact's."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A kernel with stages in thread loops: `moved` are inlined in `group`, `in_rows` are in the loop over `walked`, a
    dimension of the output (-1: there is no such stage). `wholes`: the sets of members that blocks may compute for
    their whole tiles before that loop, at least the empty one.
    """

    group: Group
    moved: tuple[str, ...]
    in_rows: tuple[str, ...] = ()
    walked: int = -1
    wholes: tuple[tuple[str, ...], ...] = ((),)


def severe(choice: Choice) -> bool:
    """Return whether a kernel uses so many resources that stages should move."""
    terms = {term.name: term.value for term in choice.cost.terms}
    return bool(choice.group.members) and (
        terms["shared memory"] > SHARED_BYTES
        or terms["occupancy"] < OCCUPANCY
        or terms["active threads"] > ACTIVE_THREADS
    )


def nested(choice: Choice, rows: bool = True) -> Nested | None:
    """Return the kernel with all possible stages in thread loops, or only in the innermost ones unless `rows`; None if
    there are none.
    """
    if not severe(choice):
        return None
    group = choice.group
    moved = tuple(member for member in group.members if _reader(group, member) and not _shared(group, member))
    left = replace(group, members=tuple(member for member in group.members if member not in moved),
                   inlined=group.inlined | {*moved})  # fmt: skip
    found = Nested(left, moved, *_in_rows(group, left)) if rows else Nested(left, moved)
    return found if moved or found.in_rows else None


def _in_rows(group: Group, left: Group) -> tuple[tuple[str, ...], int, tuple[tuple[str, ...], ...]]:
    """Return the members of `left` in the loop over y, the number of y, and the sets that may be whole; `group` is the
    kernel before other members were inlined.
    """
    parallel = parallel_dimensions(len(group.extents), group.hosted)
    y = parallel[-2] if len(parallel) > 1 else -1
    loops = cut(group.extents, parallel)
    if y not in loops:
        return (), -1, ((),)
    around = {d for d in loops if d <= y}
    along = tile_work(group, np.full((len(group.extents), 1), float(TILE))).along
    found = []
    for member in left.members:
        reader = _reader(group, member)
        shared = {along[reader][d] for d in _shared(group, member)} if reader else around
        if reader and y in along[reader] and not shared & around:
            found.append(member)
    if not found:
        return (), -1, ((),)
    wholes = (made for member in left.members if not (made := _made_from(left, member)) & {*found})
    return tuple(found), y, ((), *dict.fromkeys(tuple(sorted(made)) for made in wholes))


def _made_from(group: Group, member: str) -> frozenset[str]:
    """Return a member with those that it is computed from."""
    found, waiting = {member}, [member]
    while waiting:
        for read in flat(group.flow, waiting.pop(), group.inlined).reads:
            if read.array in group.members and read.array not in found:
                found.add(read.array)
                waiting.append(read.array)
    return frozenset(found)


def _reader(group: Group, member: str) -> str:
    """Return the only stage of the kernel that reads `member`; empty if there are several."""
    readers = [
        stage
        for stage in group.stages
        if any(read.array == member for read in flat(group.flow, stage, group.inlined).reads)
    ]
    return readers[0] if len(readers) == 1 else ""


def _shared(group: Group, member: str) -> tuple[int, ...]:
    """Return the dimensions of its reader along which adjacent tiles need the same elements of `member`."""
    reader = _reader(group, member)
    reads = [read for read in flat(group.flow, reader, group.inlined).reads if read.array == member]
    count = len(group.flow.array(reader).extents)
    return tuple(d for d in range(count) if any(_meet(one, other, d) for one in reads for other in reads))


def _meet(one: Read, other: Read, dimension: int) -> bool:
    """Return whether the elements that a tile reads by `one` and the next tile along a dimension by `other` overlap."""
    for a, b in zip(one.reach, other.reach, strict=True):
        low, high = _interval(a.slopes, a.low, a.high, -1)
        first, last = _interval(b.slopes, b.low, b.high, dimension)
        if max(low, first) > min(high, last):
            return False
    return True


def _interval(slopes: tuple[float, ...], low: float, high: float, shifted: int) -> tuple[int, int]:
    """Return the interval that a tile of TILE points in each dimension reads, shifted by one tile along a dimension
    (-1: none).
    """
    for d, slope in enumerate(slopes):
        first = TILE if d == shifted else 0
        ends = (slope * first, slope * (first + TILE - 1))
        low, high = low + min(ends), high + max(ends)
    return math.ceil(low - 1e-9), math.floor(high + 1e-9)
