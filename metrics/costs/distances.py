"""Whether all tiles of a kernel need equally large parts of its stages.

Models look at one tile. Its boxes are those of all tiles if all chains of reads, from the output to a stage, move
equally along the dimensions of the output: `t[x] + t[x + 2]` needs two elements more than a tile has, but
`t[x] + t[2 * x]`, `t[x] + t[0]` and `t[x, y] + t[y, x]` need more with every tile. Chains may differ along dimensions
that a tile covers, such as colours, and where some read needs all elements anyway (data decide which).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Reach
from metrics.costs.base import Wrong, possible
from metrics.costs.groups import Group, Numbers, TileWork, column, composed_reach, flat

_SAME = 1e-9
"""The difference of equal slopes: they are quotients of small integers."""


@dataclass(frozen=True, slots=True)
class Uneven:
    """A member whose readers move differently along `dims` of the output: a tile has to cover these. `reason`: why, in
    words.
    """

    array: str
    dims: frozenset[int]
    reason: str


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain of reads that ends with a read by `reader`, per dimension of the array that this reads."""

    reader: str
    reach: tuple[Reach, ...]


@lru_cache(maxsize=4096)
def uneven(group: Group) -> tuple[Uneven, ...]:
    """Return the members to which distances change; several times if several readers move differently."""
    every = range(len(group.extents))
    places = {group.output: tuple(Reach(tuple(float(d == q) for q in every), 0.0, 0.0) for d in every)}
    chains = dict[str, list[_Chain]]()
    for stage in reversed(group.stages if group.members else ()):
        if stage in chains:  # all chains to it are known: its readers follow it
            places[stage] = _together(group, stage, chains[stage])
        if stage not in places:  # a time step that no later one reads
            continue
        for read in flat(group.flow, stage, group.inlined).reads:
            if read.array in group.members:
                limits = group.flow.array(read.array).extents
                found = tuple(_inside(composed_reach(places[stage], one, len(every)), limit)
                              for one, limit in zip(read.reach, limits, strict=True))  # fmt: skip
                chains.setdefault(read.array, []).append(_Chain(stage, found))
    return tuple(one for array, some in chains.items() for one in _differences(group, array, some))


def changing_distances(group: Group, tiles: Numbers, kept: TileWork | None = None) -> tuple[Wrong, ...]:
    """Return the objections to tiles, `tiles[d, k]`, that are not equal to all others of their kernel.

    If blocks walk along their tiles and keep only `kept` at a time, a step is a tile of the members that they do not
    compute for the whole tile before.
    """
    found = list[Wrong]()
    for one in uneven(group):
        parts = tiles if kept is None or one.array in kept.whole else kept.extents[group.output]
        dims = sorted(one.dims)
        found.append(Wrong(one.reason, np.any(parts[dims] < column(group.extents)[dims], axis=0)))
    return tuple(found)


def objection(group: Group, tiles: Numbers, fine: NDArray[np.bool_] | None = None) -> str:
    """Return the objection if all these tiles have one, else an empty string.

    `fine`: which tiles a device can have, if the objections to some tiles count, too, because plans have none of the
    others.
    """
    wrongs = changing_distances(group, tiles)
    alike = possible(wrongs, tiles.shape[1])
    if not alike.any():
        return next((wrong.reason for wrong in wrongs if wrong.are.all()), _joined(wrongs))
    if fine is None or alike.all():
        return ""
    dims = frozenset[int]().union(*(one.dims for one in uneven(group)))
    covered = "whole rows" if dims == {len(group.extents) - 1} else "whole extents"
    why = "do not pay" if (alike & fine).any() else "do not fit the device"
    return f"{_joined(wrongs)}, unless these cover {covered}; such tiles {why}"


def _joined(wrongs: Sequence[Wrong]) -> str:
    return "; ".join(dict.fromkeys(wrong.reason for wrong in wrongs if wrong.are.any()))


def _inside(reach: Reach, limit: int) -> Reach:
    """Return a reach; if it does not move, its part within the array of this extent."""
    return reach if any(reach.slopes) else Reach(reach.slopes, max(reach.low, 0.0), min(reach.high, limit - 1.0))


def _complete(reaches: Sequence[Reach], limit: int) -> Reach | None:
    """Return one that is the whole extent for every tile, if there is one: it does not matter how the others move."""
    whole = (one for one in reaches if not any(one.slopes) and one.low <= 0.0 and one.high >= limit - 1.0)
    return next(whole, None)


def _changing(one: Reach, other: Reach) -> frozenset[int]:
    """Return the dimensions of the output along which two reaches move differently."""
    slopes = zip(one.slopes, other.slopes, strict=True)
    return frozenset(d for d, (a, b) in enumerate(slopes) if abs(a - b) > _SAME)


def _differences(group: Group, array: str, chains: Sequence[_Chain]) -> Iterator[Uneven]:
    """Yield where chains to an array move unlike the first one; each dimension once."""
    first, told = chains[0], frozenset[int]()
    limits = enumerate(group.flow.array(array).extents)
    partial = [k for k, limit in limits if not _complete([chain.reach[k] for chain in chains], limit)]
    for chain in chains[1:]:
        dims = frozenset[int]().union(*(_changing(first.reach[k], chain.reach[k]) for k in partial)) - told
        if dims:
            yield Uneven(array, dims, _words(first.reader, chain.reader, array))
        told |= dims


def _together(group: Group, array: str, chains: Sequence[_Chain]) -> tuple[Reach, ...]:
    """Return what contains all chains, for tiles that cover the dimensions along which they move differently."""
    found = list[Reach]()
    for k, limit in enumerate(group.flow.array(array).extents):
        reaches = [chain.reach[k] for chain in chains]
        whole = _complete(reaches, limit)
        if whole is None:
            dims = frozenset[int]().union(*(_changing(reaches[0], other) for other in reaches))
            reaches = [_covering(reach, dims, group.extents) for reach in reaches]
            low, high = min(reach.low for reach in reaches), max(reach.high for reach in reaches)
            whole = _inside(Reach(reaches[0].slopes, low, high), limit)
        found.append(whole)
    return tuple(found)


def _covering(reach: Reach, dims: Collection[int], extents: tuple[int, ...]) -> Reach:
    """Return the reach of all points along these dimensions together."""
    ends = [reach.slopes[d] * (extents[d] - 1) for d in dims]
    slopes = tuple(0.0 if d in dims else slope for d, slope in enumerate(reach.slopes))
    low, high = sum(min(0.0, end) for end in ends), sum(max(0.0, end) for end in ends)
    return Reach(slopes, reach.low + low, reach.high + high)


def _words(first: str, second: str, array: str) -> str:
    readers = f"`{first}` reads" if first == second else f"`{first}` and `{second}` read"
    return f"{readers} `{array}` at distances that differ from tile to tile"
