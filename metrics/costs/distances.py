"""Whether all tiles of a kernel need equally large parts of its stages.

Models look at one tile. Its boxes are those of all tiles if all chains of reads, from the output to a stage, move
equally along the dimensions of the output: `t[x] + t[x + 2]` needs two elements more than a tile has, but
`t[x] + t[2 * x]`, `t[x] + t[0]` and `t[x, y] + t[y, x]` need more with every tile. Chains may differ along dimensions
that a tile covers, such as colours, and where some read needs all elements anyway (data decide which).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Reach
from metrics.costs.base import Wrong
from metrics.costs.groups import Group, Numbers, column, composed_reach, flat

_SAME = 1e-9
"""The difference of equal slopes: they are quotients of small integers."""


@dataclass(frozen=True, slots=True)
class Uneven:
    """The dimensions of the output that a tile has to cover, and why, in words: two empty values if there are none."""

    dims: frozenset[int]
    reason: str


@lru_cache(maxsize=4096)
def uneven(group: Group) -> Uneven:
    """Return along which dimensions distances between the stages of `group` change."""
    every, dims, reason = range(len(group.extents)), frozenset[int](), ""
    places = {group.output: tuple(Reach(tuple(float(d == q) for q in every), 0.0, 0.0) for d in every)}
    read_by: dict[str, str] = {}
    for stage in reversed(group.stages if group.members else ()):
        if stage not in places:  # a time step that no later one reads
            continue
        for read in flat(group.flow, stage, group.inlined).reads:
            if read.array not in group.members:
                continue
            limits = group.flow.array(read.array).extents
            found = [_inside(composed_reach(places[stage], one, len(every)), limit)
                     for one, limit in zip(read.reach, limits, strict=True)]  # fmt: skip
            together = [_together(a, b, limit, group.extents)
                        for a, b, limit in zip(places.get(read.array, found), found, limits, strict=True)]  # fmt: skip
            places[read.array] = tuple(reach for reach, _ in together)
            changing = frozenset[int]().union(*(some for _, some in together))
            reason = reason or (_words(read_by[read.array], stage, read.array) if changing else "")
            dims |= changing
            read_by.setdefault(read.array, stage)
    return Uneven(dims, reason)


def changing_distances(group: Group, tiles: Numbers) -> tuple[Wrong, ...]:
    """Return the objection to tiles, `tiles[d, k]`, that are not equal to all others of their kernel."""
    found = uneven(group)
    if not found.dims:
        return ()
    dims = sorted(found.dims)
    cut: NDArray[np.bool_] = np.any(tiles[dims] < column(group.extents)[dims], axis=0)
    return (Wrong(found.reason, cut),)


def always_changing(group: Group, tiles: Numbers) -> str:
    """Return the objection if all these tiles have it, else an empty string."""
    return next((wrong.reason for wrong in changing_distances(group, tiles) if wrong.are.all()), "")


def _inside(reach: Reach, limit: int) -> Reach:
    """Return a reach; if it does not move, its part within the array of this extent."""
    return reach if any(reach.slopes) else Reach(reach.slopes, max(reach.low, 0.0), min(reach.high, limit - 1.0))


def _together(one: Reach, other: Reach, limit: int, extents: tuple[int, ...]) -> tuple[Reach, Collection[int]]:
    """Return what contains both, for tiles that cover the dimensions along which they move differently, and these."""
    changing = [d for d, (a, b) in enumerate(zip(one.slopes, other.slopes, strict=True)) if abs(a - b) > _SAME]
    if changing:
        for reach in (one, other):
            if not any(reach.slopes) and reach.low <= 0.0 and reach.high >= limit - 1.0:
                return reach, ()
        one, other = (_covering(reach, changing, extents) for reach in (one, other))
    hull = Reach(one.slopes, min(one.low, other.low), max(one.high, other.high))
    return _inside(hull, limit), changing


def _covering(reach: Reach, dims: Collection[int], extents: tuple[int, ...]) -> Reach:
    """Return the reach of all points along these dimensions together."""
    ends = [reach.slopes[d] * (extents[d] - 1) for d in dims]
    slopes = tuple(0.0 if d in dims else slope for d, slope in enumerate(reach.slopes))
    low, high = sum(min(0.0, end) for end in ends), sum(max(0.0, end) for end in ends)
    return Reach(slopes, reach.low + low, reach.high + high)


def _words(first: str, second: str, array: str) -> str:
    readers = f"`{first}` reads" if first == second else f"`{first}` and `{second}` read"
    return f"{readers} `{array}` at distances that differ from tile to tile"
