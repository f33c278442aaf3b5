"""The reads of a stage: footprints in bytes and lines by memory, and transactions of its loads and stores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Read
from metrics.costs.groups import Numbers, flat
from metrics.costs.learned.lanes import SHARED_BYTES, active, bank_rounds, coordinates, offsets, sectors
from metrics.costs.learned.layout import Layout


@dataclass(frozen=True, slots=True, eq=False)
class Footprint:
    """The elements read, by memory (0 global, 1 shared, 2 registers): bytes, and lines (rows of the innermost
    dimension).
    """

    bytes: tuple[Numbers, Numbers, Numbers]
    lines: tuple[Numbers, Numbers, Numbers]


def reads_of(made: Layout, stage: str) -> Sequence[Read]:
    """Return the reads of a stage, including those of stages inlined in it."""
    return flat(made.flow, stage, made.group.inlined).reads


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """The boxes of a stage's reads, one row per dimension of each read; `first` is the first row of each.

    A box has floor(slopes . (extents - 1) + width) + 1 elements along a dimension, at most `limits`.
    """

    slopes: Numbers
    width: Numbers
    limits: Numbers
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    def needed(self, extents: Numbers) -> Numbers:
        """Return the extents of the boxes that boxes of the reader need: rows x ways."""
        length = self.slopes @ (extents - 1.0) + self.width
        found: Numbers = np.clip(np.floor(length + 1e-9) + 1.0, 1.0, self.limits)
        return found

    def products(self, needed: Numbers) -> Numbers:
        """Return the product over the dimensions of each read: reads x ways."""
        found: Numbers = np.multiply.reduceat(needed, self.first)
        return found


@lru_cache(maxsize=1024)
def _boxes(flow: Dataflow, stage: str, inlined: frozenset[str]) -> _Boxes:
    reads, rank = flat(flow, stage, inlined).reads, len(flow.array(stage).extents)
    slopes: list[tuple[float, ...]] = []
    width: list[float] = []
    limits: list[int] = []
    first: list[int] = []
    for read in reads:
        first.append(len(width))
        for reach, limit in zip(read.reach, flow.array(read.array).extents, strict=True):
            slopes.append(reach.slopes)
            width.append(reach.high - reach.low)
            limits.append(limit)
        if not read.reach:  # a scalar
            slopes.append(())
            width.append(0.0)
            limits.append(1)
    ends = [*first[1:], len(width)]
    table = np.zeros((len(slopes), rank))
    for row, some in zip(table, slopes, strict=True):
        row[:len(some)] = np.abs(some)  # none, where a scalar is inlined that reads an array
    return _Boxes(table, np.array(width, dtype=float)[:, None], np.array(limits, dtype=float)[:, None],
                  np.array(first, dtype=np.intp), np.array(ends, dtype=np.intp) - 1)


def footprint(made: Layout, stage: str, extents: Numbers, stored: bool = False) -> Footprint:
    """Return the reads of a box of a stage. `stored`: for a member inside the box, count the part that one team keeps.
    """
    count, reads, boxes = extents.shape[1], reads_of(made, stage), _boxes(made.flow, stage, made.group.inlined)
    bytes_read, lines_read = np.zeros((3, count)), np.zeros((3, count))
    if not reads:
        return _footprint(bytes_read, lines_read)
    rows = boxes.needed(extents)
    points = boxes.products(rows)
    rows[boxes.last] = 1.0
    lines = boxes.products(rows)
    for k, read in enumerate(reads):
        place, element = made.memory(read.array), made.flow.array(read.array).element
        kept = made.kept.extents[read.array] if stored and place else None
        bytes_read[place] += (points[k] if kept is None else kept.prod(axis=0)) * element
        lines_read[place] += lines[k] if kept is None else kept[:-1].prod(axis=0)
    return _footprint(bytes_read, lines_read)


def _footprint(bytes_read: Numbers, lines_read: Numbers) -> Footprint:
    return Footprint((bytes_read[0], bytes_read[1], bytes_read[2]), (lines_read[0], lines_read[1], lines_read[2]))


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Transactions per block, and the share of their bytes that lanes use (1 if there are none)."""

    count: Numbers
    efficiency: Numbers


@dataclass(slots=True)
class _Sum:
    """Transactions so far, and the bytes that are used and moved."""

    count: Numbers
    used: Numbers
    moved: Numbers

    def add(self, requests: Numbers, per_request: Numbers, lanes: Numbers, element: int, size: int) -> None:
        """Add `requests` of a warp, each with this number of transactions."""
        self.count += requests * per_request
        self.used += requests * np.minimum(lanes * element, per_request * size)
        self.moved += requests * per_request * size

    def traffic(self) -> Traffic:
        some = self.moved > 0
        return Traffic(self.count, np.where(some, self.used / np.where(some, self.moved, 1.0), 1.0))


def _nothing(count: int) -> _Sum:
    return _Sum(np.zeros(count), np.zeros(count), np.zeros(count))


def loads(made: Layout, stage: str, warp: Warp) -> tuple[Traffic, Traffic]:
    """Return the loads of a block from global and from shared memory for its part of a stage with loops."""
    found = [_nothing(made.sizes.count) for _ in range(2)]
    reads = reads_of(made, stage)
    boxes = _boxes(made.flow, stage, made.group.inlined)
    every = boxes.products(boxes.needed(made.thread_box(stage))) if reads else ()
    for read, unique in zip(reads, every, strict=True):
        place, array = made.memory(read.array), made.flow.array(read.array)
        if place == 2:
            continue
        points = np.minimum(unique, read.different * made.per_thread(stage))
        extents = made.kept.extents[read.array] if place else np.broadcast_to(
            np.array(array.extents, dtype=float).reshape(-1, 1), (len(array.extents), made.sizes.count))
        warp.add(found[place], read, extents, array.element, points, bool(place))
    return found[0].traffic(), found[1].traffic()


def stores(made: Layout, stage: str, warp: Warp) -> tuple[Traffic, Traffic]:
    """Return the stores of a block to global and to shared memory."""
    found = [_nothing(made.sizes.count) for _ in range(2)]
    place = 0 if made.is_output(stage) else made.memory(stage)
    if place < 2:
        node = made.node(stage)
        extents = np.broadcast_to(np.array(node.extents, dtype=float).reshape(-1, 1),
                                  (len(node.extents), made.sizes.count)) if not place else made.kept.extents[stage]
        warp.add(found[place], None, extents, node.element, made.per_thread(stage), bool(place))
    return found[0].traffic(), found[1].traffic()


class Warp:
    """The warps of a block that compute a stage: whole ones, and one with fewer lanes."""

    def __init__(self, made: Layout, stage: str) -> None:
        self._lanes, self._sector, count = made.lanes, made.device.transaction, made.active(stage)
        if made.device.host:  # neighbours along x, of any thread
            extents = made.region(stage)
            threads, count = count, np.minimum(float(made.lanes), made.per_thread(stage) * count)
            self._requests = threads / count
        else:
            extents = made.sizes.block if made.is_output(stage) else made.region(stage)
            self._requests = np.floor(count / made.lanes)
        if not len(extents):
            extents = np.ones((1, made.sizes.count))
        self._points = coordinates(np.maximum(extents, 1.0), made.lanes)
        self._whole = np.minimum(count, made.lanes) if made.device.host else np.full_like(count, made.lanes)
        self._tail = np.zeros_like(count) if made.device.host else count % made.lanes
        self._known: dict[Hashable, tuple[Numbers, Numbers]] = {}

    def add(self, total: _Sum, read: Read | None, extents: Numbers, element: int, points: Numbers,
            shared: bool) -> None:
        """Add all requests of one load (or, without `read`, of the store), `points` per thread."""
        taken = self._taken(read, extents, element, shared)
        for requests, lanes, each in zip(
                (self._requests, (self._tail > 0).astype(float)), (self._whole, self._tail), taken, strict=True):
            if requests.any():
                total.add(requests * points, each, lanes, element, SHARED_BYTES if shared else self._sector)

    def _taken(self, read: Read | None, extents: Numbers, element: int, shared: bool) -> tuple[Numbers, Numbers]:
        """Return the transactions of a whole warp, and of the one with fewer lanes; loads of an array that differ by a
        constant have equal ones.
        """
        if read is not None and read.by_data:
            return self._whole, self._tail
        key = read and (read.array, tuple(reach.slopes for reach in read.reach))
        if (known := self._known.get(key)) is None:
            where = self._where(read, extents, element)
            known = self._known[key] = (self._count(where, self._whole, shared), self._count(where, self._tail, shared))
        return known

    def _count(self, where: Numbers, lanes: Numbers, shared: bool) -> Numbers:
        if not lanes.any():
            return lanes
        on = active(lanes, self._lanes)
        return bank_rounds(where, on) if shared else sectors(where, on, self._sector)

    def _where(self, read: Read | None, extents: Numbers, element: int) -> Numbers:
        if read is not None:
            return offsets(read, self._points, extents, element)
        total, stride = np.zeros(self._points.shape[1:]), np.full(self._points.shape[2], float(element))
        for d in range(len(extents) - 1, -1, -1):
            total += self._points[d] * stride
            stride = stride * extents[d]
        return total
