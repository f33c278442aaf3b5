"""The reads of a stage: footprints in bytes and lines by memory, and transactions of its loads and stores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Read
from metrics.costs.groups import Numbers, column, flat, reaches
from metrics.costs.learned.lanes import SHARED_BYTES, Access, Lanes, transactions
from metrics.costs.learned.layout import Layout

MEMORIES = 3
"""0 global, 1 shared, 2 registers."""


@dataclass(frozen=True, slots=True, eq=False)
class Footprint:
    """The elements read, memories x ways: bytes, and lines (rows of the innermost dimension)."""

    bytes: Numbers
    lines: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What a stage with loops reads, all that is inlined in it included: for all that its kernel (for a member its
    team) computes, and for the part of a `thread`.

    `memories` that it reads. `per_point`: bytes and lines for an element. `unique`: the elements that a thread reads,
    reads x ways.
    """

    memories: frozenset[int]
    realized: Footprint
    thread: Footprint
    per_point: tuple[float, float]
    unique: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """The boxes of a stage's reads, one row per dimension of each read; `first` and `last` rows of each, and the bytes
    of an `element`.

    A box has floor(slopes . (extents - 1) + width) + 1 elements along a dimension, at most `limits`. Where data decide
    which elements are read, it is the whole array, of which an element of the reader needs `most` at most (otherwise
    infinite).
    """

    slopes: Numbers
    width: Numbers
    limits: Numbers
    first: NDArray[np.intp]
    last: NDArray[np.intp]
    element: Numbers
    most: Numbers

    def counted(self, extents: Numbers) -> tuple[Numbers, Numbers]:
        """Return the elements and the lines that boxes of the reader with these extents need: reads x boxes."""
        length = self.slopes @ (extents - 1.0) + self.width
        needed = np.minimum(np.maximum(np.floor(length + 1e-9) + 1.0, 1.0), self.limits)
        points: Numbers = np.minimum(np.multiply.reduceat(needed, self.first), self.most * extents.prod(axis=0))
        needed[self.last] = 1.0
        lines: Numbers = np.minimum(np.multiply.reduceat(needed, self.first), points)
        return points, lines


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """The boxes of a stage's reads; elements and lines of each read for the whole stage; bytes and lines of all for an
    element.
    """

    boxes: _Boxes
    whole: tuple[Numbers, Numbers]
    per_point: tuple[float, float]


@lru_cache(maxsize=4096)
def _known(flow: Dataflow, stage: str, inlined: frozenset[str]) -> _Known:
    boxes, extents = _boxes(flow, stage, inlined), column(flow.array(stage).extents)
    points, lines = boxes.counted(np.ones_like(extents))
    return _Known(boxes, boxes.counted(extents), (float((points * boxes.element).sum()), float(lines.sum())))


def _boxes(flow: Dataflow, stage: str, inlined: frozenset[str]) -> _Boxes:
    reads, found = flat(flow, stage, inlined).reads, reaches(flow, stage, inlined)
    slopes, width = found.rising - found.falling, found.high - found.low
    limits = column([limit for read in reads for limit in flow.array(read.array).extents])
    sizes = np.array([len(read.reach) for read in reads], dtype=np.intp)
    if not sizes.all():  # a scalar has one row, too
        at = (np.cumsum(sizes) - sizes)[sizes == 0]
        slopes, width, limits = (np.insert(rows, at, value, axis=0)
                                 for rows, value in ((slopes, 0.0), (width, 0.0), (limits, 1.0)))
        sizes = np.maximum(sizes, 1)
    last = np.cumsum(sizes)
    return _Boxes(slopes, width, limits, last - sizes, last - 1, column([flow.array(r.array).element for r in reads]),
                  column([read.different if read.by_data else inf for read in reads]))


def reading(made: Layout, stage: str) -> Reading:
    """Return what a stage with loops reads."""
    reads, known = flat(made.flow, stage, made.group.inlined).reads, _known(made.flow, stage, made.group.inlined)
    output, box, count = made.is_output(stage), made.loops[stage].box, made.sizes.count
    points, lines = known.boxes.counted(box if output else np.concatenate([box, made.region(stage)], axis=1))
    if output:
        whole, rows = (np.repeat(one, count, axis=1) for one in known.whole)
        for k, read in enumerate(reads):
            if made.memory(read.array):  # the part that one team keeps
                whole[k], rows[k] = made.kept.points[read.array], made.kept.extents[read.array][:-1].prod(axis=0)
    else:
        whole, rows = points[:, count:], lines[:, count:]
    places = np.zeros((MEMORIES, len(reads)))
    memories = [made.memory(read.array) for read in reads]
    places[memories, np.arange(len(reads))] = 1.0
    weights = places * known.boxes.element.T
    return Reading(frozenset(memories), Footprint(weights @ whole, places @ rows),
                   Footprint(weights @ points[:, :count], places @ lines[:, :count]),
                   known.per_point, points[:, :count])


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Transactions per block, and the share of their bytes that lanes use (1 if there are none)."""

    count: Numbers
    efficiency: Numbers


class _Sum:
    """Transactions so far, and the bytes that are used and moved."""

    def __init__(self, made: Layout) -> None:
        self._made, self.some = made, False
        self.count, self.used, self.moved = np.zeros((3, made.sizes.count))

    def add(self, requests: Numbers, per_request: Numbers, lanes: Numbers, element: int, size: int) -> None:
        """Add `requests` of a warp, each with this number of transactions."""
        count, bytes_each, self.some = requests * per_request, per_request * size, True
        self.count += count
        self.used += requests * np.minimum(lanes * element, bytes_each)
        self.moved += count * size

    def traffic(self) -> Traffic:
        """Return the sum."""
        if not self.some:
            return Traffic(self._made.constant(0.0), self._made.constant(1.0))
        some = self.moved > 0
        return Traffic(self.count, np.where(some, self.used / np.where(some, self.moved, 1.0), 1.0))


def loads(made: Layout, stage: str, warp: Warp, unique: Numbers) -> tuple[Traffic, Traffic]:
    """Return the loads of a block from global and from shared memory for its part of a stage with loops. `unique`: the
    elements that a thread reads.
    """
    found = _Sum(made), _Sum(made)
    for read, different in zip(flat(made.flow, stage, made.group.inlined).reads, unique, strict=True):
        place = made.memory(read.array)
        if place < 2:
            points = np.minimum(different, read.different * made.loops[stage].per_thread)
            warp.add(found[place], read.array, read, points)
    return found[0].traffic(), found[1].traffic()


def stores(made: Layout, stage: str, warp: Warp) -> tuple[Traffic, Traffic]:
    """Return the stores of a block to global and to shared memory."""
    found = _Sum(made), _Sum(made)
    place = 0 if made.is_output(stage) else made.memory(stage)
    if place < 2:
        warp.add(found[place], stage, None, made.loops[stage].per_thread)
    return found[0].traffic(), found[1].traffic()


class Warp:
    """The warps of a block that compute a stage: whole ones, and one with fewer lanes."""

    def __init__(self, made: Layout, stage: str) -> None:
        self._made, count = made, made.loops[stage].active
        if made.device.host:  # neighbours along x, of any thread
            extents = made.region(stage)
            threads, count = count, np.minimum(float(made.lanes), made.loops[stage].per_thread * count)
            self._requests = threads / count
        else:
            extents = made.sizes.block if made.is_output(stage) else made.region(stage)
            self._requests = np.floor(count / made.lanes)
        self._whole = np.minimum(count, made.lanes) if made.device.host else np.full_like(count, made.lanes)
        self._tail = np.zeros_like(count) if made.device.host else count % made.lanes
        self._parts = [(requests, lanes, Lanes(made.lanes, len(extents), extents.tobytes(), lanes.tobytes()))
                       for requests, lanes in ((self._requests, self._whole), ((self._tail > 0) * 1.0, self._tail))
                       if requests.any()]

    def add(self, total: _Sum, array: str, read: Read | None, points: Numbers) -> None:
        """Add all requests of one load of an array (or, without `read`, of the store), `points` per thread."""
        shared, of = self._made.memory(array) > 0, self._made.flow.array(array)
        size = SHARED_BYTES if shared else self._made.device.transaction
        for requests, lanes, part in self._parts:
            if read is not None and read.by_data:
                taken = lanes
            else:
                slopes = None if read is None else tuple(reach.slopes for reach in read.reach)
                extents = self._made.kept.extents[array].tobytes() if shared else of.extents
                taken = transactions(part, Access(slopes, extents, of.element, 0 if shared else size))
            total.add(requests * points, taken, lanes, of.element, size)
