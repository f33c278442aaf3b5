"""Stages inside the thread loops of their readers (Sioutas et al. 2020, section 4.4, listing 2).

For kernels with high resource usage: over 32 KiB of shared memory, an occupancy below 0.3, or over 900 active threads.
A stage s is moved into its reader c if no two elements of c need the same element of s: no tile of 2 points in each
dimension shares elements of s with the next tile along any dimension. Then s is computed in c's innermost loop, by the
thread that needs it, in registers: this is `inline` in plans.

The paper has an intermediate place: if tiles share elements along some dimensions, s moves one loop outside the
outermost of these, which may be a thread loop of c. Plans cannot express that, so s stays with the block (`between`
returns the stages that it would move). So does a stage that several stages of the kernel read, since no loop of c
contains the others.
"""

from __future__ import annotations

import math
from dataclasses import replace

from explorer.plan_makers.choices import Choice
from generator.dataflow import Read
from metrics.costs.groups import Group, flat
from metrics.costs.sioutas import Sioutas
from metrics.nvidia import KIB

SHARED_BYTES, OCCUPANCY, ACTIVE_THREADS, TILE = 32 * KIB, 30.0, 900, 2
"""The artifact's."""


def severe(choice: Choice) -> bool:
    """Return whether a kernel uses so many resources that stages should move."""
    terms = {term.name: term.value for term in choice.cost.terms}
    return bool(choice.group.members) and (
        terms["shared memory"] > SHARED_BYTES
        or terms["occupancy"] < OCCUPANCY
        or terms["active threads"] > ACTIVE_THREADS
    )


def nested(choice: Choice, model: Sioutas) -> Group | None:
    """Return the kernel with all possible stages in threads; None if there are none."""
    group = choice.group
    moved = {member for member in group.members if _reader(group, member) and not _shared(group, member)}
    if not severe(choice) or not moved:
        return None
    members = tuple(member for member in group.members if member not in moved)
    return replace(group, members=members, inlined=group.inlined | moved)


def between(group: Group) -> tuple[str, ...]:
    """Return the members that the paper would put inside a thread loop, but not the innermost one."""
    found = []
    for member in group.members:
        reader = _reader(group, member)
        along = _shared(group, member) if reader else ()
        if along and along[0] > 0:  # dimensions are loops, outermost first
            found.append(member)
    return tuple(found)


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
