"""A kernel that computes several stages: the part of each stage that a tile needs, for many tile sizes at once.

A *group* stores one array, its output. Each block computes the group's members for its tile, each thread the inlined
stages for a point. Regions are boxes: intervals along each dimension (`generator.dataflow.Reach`), without borders.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from math import prod
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Reach, Read
from generator.facts import Operations
from metrics.costs.reaches import Reaches, reaches_of

Numbers: TypeAlias = NDArray[np.float64]
"""One per tile size; with several dimensions, the first axis is the dimension."""
AXES = 3
"""The dimensions of a launch."""


def parallel_dimensions(count: int, hosted: int = 0) -> range:
    """Return which of `count` dimensions blocks and threads share out.

    Those before them (`hosted`) are host loops around launches, those after them loops inside a thread.
    """
    return range(hosted, min(hosted + AXES, count))


@dataclass(frozen=True, slots=True)
class Group:
    """A kernel: it stores `output`, its blocks compute `members` (each after its reads), its threads `inlined`.

    `boxes`: members of which each overwrites the previous one; all others have separate places. `hosted`: how many of
    the output's dimensions, outermost first, host loops run around launches.
    """

    flow: Dataflow
    output: str
    members: tuple[str, ...] = ()
    inlined: frozenset[str] = frozenset()
    boxes: tuple[tuple[str, ...], ...] = ()
    hosted: int = 0

    @property
    def launches(self) -> int:
        """The number of launches: those of the last host loop are one (generator/lowering/core/merged_launches.py)."""
        return prod(self.extents[: max(self.hosted - 1, 0)])

    @property
    def lanes_along_x(self) -> bool:
        """Whether threads share out rows; rows of arrays with four dimensions may be loops inside a thread."""
        count = len(self.extents)
        return count - 1 in parallel_dimensions(count, self.hosted)

    @property
    def places(self) -> tuple[tuple[str, ...], ...]:
        """The members by their place."""
        shared = {member for box in self.boxes for member in box}
        return (*self.boxes, *((member,) for member in self.members if member not in shared))

    @property
    def stages(self) -> tuple[str, ...]:
        """All stages that are not inlined, the output last."""
        return (*self.members, self.output)

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the output."""
        return self.flow.array(self.output).extents

    @property
    def fetched(self) -> tuple[str, ...]:
        """The arrays that its kernel reads from global memory, in order of their first use."""
        found = (read.array for stage in self.stages for read in flat(self.flow, stage, self.inlined).reads)
        return tuple(dict.fromkeys(array for array in found if array not in self.members))


@dataclass(frozen=True, slots=True)
class Flat:
    """A stage with all stages inlined in it, per element (`generator.dataflow.Node` has the units)."""

    arithmetic: float
    operations: Operations
    registers: int
    reads: tuple[Read, ...]
    elements: int
    """The number of expressions that are inlined in its text."""
    within: tuple[tuple[str, float], ...] = ()
    """The stages inlined in it, and the number of their elements."""


@lru_cache(maxsize=4096)
def flat(flow: Dataflow, array: str, inlined: frozenset[str]) -> Flat:
    """Return `array` with the stages of `inlined` that it needs, each of their elements once per element."""
    node = flow.node(array)
    assert node is not None
    found = Flat(node.arithmetic, node.operations, node.registers, (), 1)
    waiting = _by_array(node.reads)
    reads: list[Read] = []
    for source in reversed([one.array for one in flow.nodes]):
        if source not in inlined or source not in waiting:
            continue
        found, more = _with(flow, found, waiting.pop(source))
        for name, others in _by_array(more).items():
            waiting.setdefault(name, []).extend(others)
    for others in waiting.values():
        reads += _merged(others)
    return replace(found, reads=tuple(reads))


def _with(flow: Dataflow, found: Flat, wanted: list[Read]) -> tuple[Flat, list[Read]]:
    """Return `found` with the elements `wanted` of one array inlined, and the reads of these."""
    wanted = _merged(wanted)
    node = flow.node(wanted[0].array)
    assert node is not None
    times = [min(read.different, prod(_width(reach) for reach in read.reach)) for read in wanted]
    often, loads = sum(times), sum(read.loads for read in wanted)
    arithmetic = found.arithmetic - loads + often * (node.arithmetic - 1.0)  # without its loads and stores
    elements = found.elements + sum(read.elements for read in wanted)
    reads = [
        replace(_composed(read, inner), different=times[k] * inner.different, loads=times[k] * inner.loads,
                clamped=times[k] * _clamped(read, inner))
        for k, read in enumerate(wanted)
        for inner in node.reads
    ]
    return Flat(
        max(arithmetic, 0.0),
        found.operations.plus(node.operations, often),
        max(found.registers, node.registers + 1),
        (),
        elements,
        (*found.within, (wanted[0].array, often)),
    ), reads


def _clamped(outer: Read, inner: Read) -> float:
    """Return how many loads of `inner` are clamped, of their own or because the positions of `outer` are."""
    share = outer.clamped / outer.loads if outer.loads else 0.0
    return inner.clamped + (inner.loads - inner.clamped) * share


def _width(reach: Reach) -> float:
    """Return the number of indices that one point needs."""
    return max(1.0, math.floor(reach.high) - math.ceil(reach.low) + 1.0)


def _composed(outer: Read, inner: Read) -> Read:
    """Compose two reads: how the reader of `outer` reads the array of `inner`."""
    count = len(outer.reach[0].slopes) if outer.reach else 0
    return Read(
        inner.array,
        tuple(composed_reach(outer.reach, one, count) for one in inner.reach),
        outer.elements * inner.elements,
        inner.different,
        inner.loads,
        outer.by_data or inner.by_data,
    )


def composed_reach(outer: Sequence[Reach], inner: Reach, count: int) -> Reach:
    """Return where elements of `count` dimensions read by `inner`, a reach of the array that they read by `outer`."""
    slopes, low, high = [0.0] * count, inner.low, inner.high
    for factor, through in zip(inner.slopes, outer, strict=True):
        ends = (factor * through.low, factor * through.high)
        low, high = low + min(ends), high + max(ends)
        slopes = [s + factor * t for s, t in zip(slopes, through.slopes, strict=True)]
    return Reach(tuple(slopes), low, high)


def _by_array(reads: Iterable[Read]) -> dict[str, list[Read]]:
    found: dict[str, list[Read]] = {}
    for read in reads:
        found.setdefault(read.array, []).append(read)
    return found


def _merged(reads: list[Read]) -> list[Read]:
    """Merge reads with equal slopes into one of the whole range between them."""
    found: dict[tuple[tuple[float, ...], ...], Read] = {}
    for read in reads:
        key = tuple(reach.slopes for reach in read.reach)
        other = found.get(key)
        if other is not None:
            reach = tuple(
                Reach(a.slopes, min(a.low, b.low), max(a.high, b.high))
                for a, b in zip(read.reach, other.reach, strict=True)
            )
            read = Read(
                read.array,
                reach,
                read.elements + other.elements,
                read.different + other.different,
                read.loads + other.loads,
                read.by_data or other.by_data,
                read.clamped + other.clamped,
            )
        found[key] = read
    return list(found.values())


@dataclass(frozen=True, slots=True, eq=False)
class TileWork:
    """The work of a tile of each size.

    By array, also for those that are fetched: `extents` of the box that a tile needs (dimensions x sizes), its
    `points`, the `effort` to compute them (in points; more if rows are short, because of their starts), and `loads`:
    bytes that stages of the group load of it. `along`: the dimension of the output that each dimension of a stage
    follows (-1: none), and `scale` the number of its elements per element of the output there. `windows`: the members
    of which blocks that walk keep some rows, with the dimension of these. `whole`: those that such blocks compute for
    their whole tile before. `walking`: which blocks walk (None: all, if there are windows).
    """

    extents: Mapping[str, Numbers]
    points: Mapping[str, Numbers]
    effort: Mapping[str, Numbers]
    loads: Mapping[str, Numbers]
    along: Mapping[str, tuple[int, ...]]
    scale: Mapping[str, tuple[float, ...]]
    windows: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    whole: tuple[str, ...] = ()
    walking: NDArray[np.bool_] | None = None

    def only(self, tiles: NDArray[np.bool_] | slice) -> TileWork:
        """Return the work of some of the tiles."""
        extents, points, effort, loads = ({array: numbers[..., tiles] for array, numbers in of.items()}
                                          for of in (self.extents, self.points, self.effort, self.loads))
        walking = self.walking if self.walking is None else self.walking[tiles]
        return replace(self, extents=extents, points=points, effort=effort, loads=loads, walking=walking)

    def stored(self, array: str) -> Numbers:
        """Return the number of elements of an array that a block has room for."""
        points, dim = self.points[array], self.windows.get(array)
        if dim is None:
            return points
        rows: Numbers = self.extents[array][dim]
        room = points / rows * stored_rows(rows)
        return room if self.walking is None else np.where(self.walking, room, points)

    def needed(self, array: str, tiles: Numbers) -> Numbers:
        """Return the number of elements of an array that belong to a tile: those that blocks would compute without
        overlap.
        """
        total = np.ones(tiles.shape[1])
        for d, (follows, scale) in enumerate(zip(self.along[array], self.scale[array], strict=True)):
            total *= self.extents[array][d] if follows < 0 else tiles[follows] * scale
        return total


def computed_again(group: Group, work: TileWork, tiles: Numbers) -> Numbers:
    """Return the elements of members that a tile computes beyond its own, per point of its output."""
    nodes = ((member, group.flow.node(member)) for member in group.members)
    computed = (member for member, node in nodes if node is not None and node.statements)
    shares = np.minimum(tiles / column(group.extents), 1.0)
    again = np.zeros_like(work.points[group.output])
    for member in computed:
        others = [d for d in range(len(tiles)) if d not in work.along[member]]  # tiles along these need the same
        again += work.points[member] - work.needed(member, tiles) * shares[others].prod(axis=0)
    return np.maximum(again, 0.0) / work.points[group.output]


def column(numbers: Sequence[float]) -> Numbers:
    """Return one tile as a table of tiles."""
    return np.array(numbers, dtype=float).reshape(len(numbers), 1)


def distinct(tiles: Numbers) -> tuple[Numbers, NDArray[np.intp]]:
    """Return the different tiles of a table, and for each of its columns which of them it is."""
    if tiles.shape[1] == 1:
        return tiles, np.zeros(1, dtype=np.intp)
    codes = np.zeros(tiles.shape[1], dtype=np.intp)
    for row in tiles:
        values, places = np.unique(row, return_inverse=True)
        codes = codes * len(values) + places
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    return tiles[:, first], where


def kept_bytes(group: Group, work: TileWork) -> Numbers:
    """Return the bytes of members with the regions of `work`."""
    return in_places(group, {m: work.stored(m) * group.flow.array(m).element for m in group.members},
                     np.zeros_like(work.points[group.output]))


def stored_rows(rows: Numbers) -> Numbers:
    """Return how many rows the generator stores of sliding windows with so many (`boxes.ring_rows`, without isl)."""
    return np.where(rows == 1.0, 2.0, np.maximum(4.0, np.exp2(np.ceil(np.log2(rows)))))


def kept_in_steps(group: Group, tile: TileWork, step: TileWork, axis: int, whole: Collection[str]) -> TileWork:
    """Return what a block that walks along `axis` keeps at a time: members in `whole` of its tile, windows of others.

    A window that does not move has its rows in the first dimension (in generated code, the first of which it does not
    keep whole lines). What moves along several dimensions is no window.
    """
    extents, points = ({**few, **{member: many[member] for member in whole}}
                       for few, many in ((step.extents, tile.extents), (step.points, tile.points)))
    moving = {member: [d for d, follows in enumerate(step.along[member]) if follows == axis]
              for member in group.members if member not in whole}
    windows = {member: (dims or [0])[0] for member, dims in moving.items() if len(dims) < 2 and step.along[member]}
    return replace(step, extents=extents, points=points, windows=windows, whole=tuple(whole))


def in_places(group: Group, of_members: Mapping[str, Numbers], none: Numbers) -> Numbers:
    """Return the sum of members' sizes, if some overwrite others; `none` is the result without members."""
    return sum((reduce(np.maximum, (of_members[m] for m in place)) for place in group.places), none)


def tile_work(group: Group, tiles: Numbers, row_start: float = 0.0) -> TileWork:
    """Return the work of tiles of the output; `tiles[d, k]` is the extent of the k-th one along dimension d.

    The start of a row takes as much effort as `row_start` further points.
    """
    work = regions(group, tiles)
    loads: dict[str, Numbers] = {}
    effort: dict[str, Numbers] = {}
    for stage in reversed(group.stages):
        extents, points = work.extents[stage], work.points[stage]
        effort[stage] = points * (1.0 + row_start / extents[-1]) if len(extents) else points
        for read in flat(group.flow, stage, group.inlined).reads:
            moved = effort[stage] * (read.loads * group.flow.array(read.array).element)
            loads[read.array] = loads[read.array] + moved if read.array in loads else moved
    return replace(work, effort=effort, loads=loads)


def regions(group: Group, tiles: Numbers) -> TileWork:
    """Return the work of tiles without `effort` and `loads`."""
    flow = group.flow
    low: dict[str, Numbers] = {group.output: np.zeros_like(tiles)}
    high: dict[str, Numbers] = {group.output: tiles - 1.0}
    along = {group.output: tuple(range(len(tiles)))}
    scale = {group.output: (1.0,) * len(tiles)}
    extents: dict[str, Numbers] = {}
    points: dict[str, Numbers] = {}
    for stage in reversed(group.stages):
        _measure(flow, stage, low, high, extents, points)
        reach = reaches(flow, stage, group.inlined)
        lows, highs = reach.ends(low[stage], high[stage])
        for read, rows in zip(flat(flow, stage, group.inlined).reads, reach.rows, strict=True):
            _widen(read.array, lows[rows], highs[rows], low, high)
            if read.array not in along:
                along[read.array], scale[read.array] = _followed(reach.moving[rows], along[stage], scale[stage])
            elif read.by_data:  # all elements, whatever other reads need
                along[read.array] = tuple(a if any(one.slopes) else -1
                                          for a, one in zip(along[read.array], read.reach, strict=True))  # fmt: skip
    for array in low:
        if array not in extents:
            _measure(flow, array, low, high, extents, points)
    return TileWork(extents, points, {}, {}, along, scale)


@lru_cache(maxsize=4096)
def reaches(flow: Dataflow, stage: str, inlined: frozenset[str]) -> Reaches:
    """Return the reads of a stage, with those of the stages inlined in it, as matrices."""
    return reaches_of(flat(flow, stage, inlined).reads, len(flow.array(stage).extents))


def _measure(
    flow: Dataflow,
    array: str,
    low: dict[str, Numbers],
    high: dict[str, Numbers],
    extents: dict[str, Numbers],
    points: dict[str, Numbers],
) -> None:
    limits = column(flow.array(array).extents)
    extents[array] = np.minimum(high[array] - low[array] + 1.0, limits)
    points[array] = np.multiply.reduce(extents[array], axis=0)


def _followed(moving: Sequence[Sequence[tuple[int, float]]], along: tuple[int, ...],
              scale: tuple[float, ...]) -> tuple[tuple[int, ...], tuple[float, ...]]:  # fmt: skip
    """Return the dimension of the output that each dimension of the read array follows, and its speed."""
    found = []
    for slopes in moving:
        follows = [(along[q], abs(slope) * scale[q]) for q, slope in slopes if along[q] >= 0]
        found.append(follows[0] if follows else (-1, 1.0))
    return tuple(follows for follows, _ in found), tuple(fast for _, fast in found)


def _widen(array: str, lows: Numbers, highs: Numbers, low: dict[str, Numbers], high: dict[str, Numbers]) -> None:
    """Widen the box of an array by one that is read."""
    if array in low:
        lows, highs = np.minimum(lows, low[array]), np.maximum(highs, high[array])
    low[array], high[array] = lows, np.maximum(highs, lows)
