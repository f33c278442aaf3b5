"""The reads of a stage: footprints in bytes and lines by memory, and transactions of its loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from generator.dataflow import Read
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


def box(read: Read, extents: Numbers, limits: Sequence[int]) -> Numbers:
    """Return the extents of the box that a box of the reader needs."""
    found = []
    for reach, limit in zip(read.reach, limits, strict=True):
        length = np.full(extents.shape[1], reach.high - reach.low)
        for q, slope in enumerate(reach.slopes):
            if slope:
                length = length + abs(slope) * (extents[q] - 1.0)
        found.append(np.clip(np.floor(length + 1e-9) + 1.0, 1.0, limit))
    return np.array(found).reshape(len(limits), extents.shape[1])


def footprint(made: Layout, stage: str, extents: Numbers, stored: bool = False) -> Footprint:
    """Return the reads of a box of a stage. `stored`: for a member inside the box, count the part that one team keeps.
    """
    count = extents.shape[1]
    bytes_read = [np.zeros(count) for _ in range(3)]
    lines_read = [np.zeros(count) for _ in range(3)]
    for read in reads_of(made, stage):
        array = made.flow.array(read.array)
        place = made.memory(read.array)
        needed = box(read, extents, array.extents)
        if stored and place:
            needed = made.kept.extents[read.array]
        if not len(needed):
            needed = np.ones((1, count))
        bytes_read[place] += needed.prod(axis=0) * array.element
        lines_read[place] += needed[:-1].prod(axis=0)
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


def loads(made: Layout, stage: str) -> tuple[Traffic, Traffic]:
    """Return the loads of a block from global and from shared memory for its part of a stage with loops."""
    found = [_nothing(made.sizes.count) for _ in range(2)]
    lanes = _Warp(made, stage)
    for read in reads_of(made, stage):
        place, array = made.memory(read.array), made.flow.array(read.array)
        if place == 2:
            continue
        unique = box(read, made.thread_box(stage), array.extents).prod(axis=0)
        points = np.minimum(unique, read.different * made.per_thread(stage))
        extents = made.kept.extents[read.array] if place else np.broadcast_to(
            np.array(array.extents, dtype=float).reshape(-1, 1), (len(array.extents), made.sizes.count))
        lanes.add(found[place], read, extents, array.element, points, bool(place))
    return found[0].traffic(), found[1].traffic()


def stores(made: Layout, stage: str) -> tuple[Traffic, Traffic]:
    """Return the stores of a block to global and to shared memory."""
    found = [_nothing(made.sizes.count) for _ in range(2)]
    place = 0 if made.is_output(stage) else made.memory(stage)
    if place < 2:
        node = made.node(stage)
        extents = np.broadcast_to(np.array(node.extents, dtype=float).reshape(-1, 1),
                                  (len(node.extents), made.sizes.count)) if not place else made.kept.extents[stage]
        _Warp(made, stage).add(found[place], None, extents, node.element, made.per_thread(stage), bool(place))
    return found[0].traffic(), found[1].traffic()


class _Warp:
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

    def add(self, total: _Sum, read: Read | None, extents: Numbers, element: int, points: Numbers,
            shared: bool) -> None:
        """Add all requests of one load (or, without `read`, of the store), `points` per thread."""
        where = self._where(read, extents, element)
        for requests, lanes in ((self._requests, self._whole), ((self._tail > 0).astype(float), self._tail)):
            if not requests.any():
                continue
            on = active(lanes, self._lanes)
            if read is not None and read.by_data:
                taken = lanes.copy()
            else:
                taken = bank_rounds(where, on) if shared else sectors(where, on, self._sector)
            total.add(requests * points, taken, lanes, element, SHARED_BYTES if shared else self._sector)

    def _where(self, read: Read | None, extents: Numbers, element: int) -> Numbers:
        if read is not None:
            return offsets(read, self._points, extents, element)
        total, stride = np.zeros(self._points.shape[1:]), np.full(self._points.shape[2], float(element))
        for d in range(len(extents) - 1, -1, -1):
            total += self._points[d] * stride
            stride = stride * extents[d]
        return total
