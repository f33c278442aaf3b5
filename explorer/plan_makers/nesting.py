"""Stages inside the thread loops of what reads them (Sioutas et al. 2020, section 4.4, listing 2).

For kernels with severe needs: over 32 KiB of shared memory, an occupancy below 0.3, or over 900 active threads. A stage
s is moved into its reader c where c never needs an element of s for two of its own: no tile of 2 points in each
dimension shares elements of s with the next tile along any dimension. Then s is computed in c's innermost loop, by the
thread that needs it, in registers: that is what plans call inline.

The paper has a place between: if tiles share elements along some dimensions, s goes one loop outside the outermost of
these, which may be a thread loop of c. No plan can say that, so s stays with the block there (`between` tells of which
stages it would move). So does a stage that several stages of the kernel read, since no loop of c is around the others.
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
    """Whether a kernel needs so much that stages should move."""
    terms = {term.name: term.value for term in choice.cost.terms}
    return bool(choice.group.members) and (
        terms["shared memory"] > SHARED_BYTES
        or terms["occupancy"] < OCCUPANCY
        or terms["active threads"] > ACTIVE_THREADS
    )


def nested(choice: Choice, model: Sioutas) -> Group | None:
    """The kernel with the stages in threads that may be; None where there are none."""
    group = choice.group
    moved = {member for member in group.members if _reader(group, member) and not _shared(group, member)}
    if not severe(choice) or not moved:
        return None
    members = tuple(member for member in group.members if member not in moved)
    return replace(group, members=members, inlined=group.inlined | moved)


def between(group: Group) -> tuple[str, ...]:
    """The members that the paper would put inside a loop over threads, but not the innermost one."""
    found = []
    for member in group.members:
        reader = _reader(group, member)
        along = _shared(group, member) if reader else ()
        if along and along[0] > 0:  # dimensions are loops, outermost first
            found.append(member)
    return tuple(found)


def _reader(group: Group, member: str) -> str:
    """The one stage of the kernel that reads `member`; empty where several do."""
    readers = [
        stage
        for stage in group.stages
        if any(read.array == member for read in flat(group.flow, stage, group.inlined).reads)
    ]
    return readers[0] if len(readers) == 1 else ""


def _shared(group: Group, member: str) -> tuple[int, ...]:
    """The dimensions of its reader along which neighbouring tiles need the same elements of `member`."""
    reader = _reader(group, member)
    reads = [read for read in flat(group.flow, reader, group.inlined).reads if read.array == member]
    count = len(group.flow.array(reader).extents)
    return tuple(d for d in range(count) if any(_meet(one, other, d) for one in reads for other in reads))


def _meet(one: Read, other: Read, dimension: int) -> bool:
    """Whether what a tile reads by `one` and the next tile along a dimension by `other` have elements in common."""
    for a, b in zip(one.reach, other.reach, strict=True):
        low, high = _interval(a.slopes, a.low, a.high, -1)
        first, last = _interval(b.slopes, b.low, b.high, dimension)
        if max(low, first) > min(high, last):
            return False
    return True


def _interval(slopes: tuple[float, ...], low: float, high: float, shifted: int) -> tuple[int, int]:
    """What a tile of TILE points in each dimension reads, the tile shifted by one tile along a dimension (-1: none)."""
    for d, slope in enumerate(slopes):
        first = TILE if d == shifted else 0
        ends = (slope * first, slope * (first + TILE - 1))
        low, high = low + min(ends), high + max(ends)
    return math.ceil(low - 1e-9), math.floor(high + 1e-9)
