"""Transactions of a warp: the number of memory sectors, or rounds of banks, that its lanes touch at once (section 5.3
of the paper; the numbers are those of its implementation).

Threads of antune's blocks compute adjacent points (each thread those at distances of the block size), so the distance
between lanes is one point, and not the points of a thread as in the paper's nests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metrics.costs.groups import Numbers

BANKS, BANK_BYTES = 32, 4
SHARED_BYTES = BANKS * BANK_BYTES
"""The bytes of a transaction of shared memory."""


def coordinates(extents: Numbers, lanes: int) -> Numbers:
    """Return the coordinates of the first `lanes` points of boxes (dimensions x ways): dimensions x lanes x ways.

    The last dimension is the fastest. Lanes beyond a box begin at its start again; `active` marks them.
    """
    left = np.broadcast_to(np.arange(lanes, dtype=float)[:, None], (lanes, extents.shape[1])).copy()
    found = np.empty((extents.shape[0], *left.shape))
    for d in range(extents.shape[0] - 1, -1, -1):
        found[d] = left % extents[d]
        left = np.floor(left / extents[d])
    return found


def active(count: Numbers, lanes: int) -> NDArray[np.bool_]:
    """Return lanes x ways: whether a lane is active if `count` points are distributed."""
    found: NDArray[np.bool_] = np.arange(lanes)[:, None] < count
    return found


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a warp that computes boxes of `rank` dimensions (their extents as bytes, dimensions x ways): the
    first points of each, of which `active` are computed (as bytes, per way). Numbers as bytes can be compared.
    """

    count: int
    rank: int
    extents: bytes
    active: bytes


@dataclass(frozen=True, slots=True)
class Access:
    """How lanes access an array of these extents, or boxes of it whose extents are bytes (dimensions x ways).

    `slopes`: as in `generator.dataflow.Reach`, by dimension of the array; None: at their own points. `sector`: the
    bytes that move together; 0 for shared memory.
    """

    slopes: tuple[tuple[float, ...], ...] | None
    extents: tuple[int, ...] | bytes
    element: int
    sector: int


@lru_cache(maxsize=1024)
def transactions(lanes: Lanes, access: Access) -> Numbers:
    """Return the sectors that the lanes touch, or the rounds of banks of shared memory, per way. Loads of an array that
    differ by a constant have equal ones, and kernels that differ elsewhere have the same.
    """
    count = np.frombuffer(lanes.active)
    extents = np.frombuffer(lanes.extents).reshape(lanes.rank, len(count)) if lanes.rank else np.ones((1, len(count)))
    of = access.extents
    rows = np.frombuffer(of).reshape(-1, len(count)) if isinstance(of, bytes) else np.array(of, dtype=float)
    points = coordinates(np.maximum(extents, 1.0), lanes.count)
    slopes = access.slopes if access.slopes is not None else np.eye(len(rows)).tolist()
    where, on = offsets(slopes, points, rows, access.element), active(count, lanes.count)
    found = sectors(where, on, access.sector) if access.sector else bank_rounds(where, on)
    found.flags.writeable = False  # it is shared
    return found


def offsets(slopes: Sequence[Sequence[float]], points: Numbers, extents: Numbers, element: int) -> Numbers:
    """Return bytes from the start of the read box (of these extents, the last dimension innermost): lanes x ways."""
    total = np.zeros(points.shape[1:])
    stride = np.full(points.shape[2], float(element))
    for d in range(len(slopes) - 1, -1, -1):
        place = np.zeros(points.shape[1:])
        for q, slope in enumerate(slopes[d]):
            if slope:
                place = place + slope * points[q]
        total += np.abs(np.floor(place)) * stride
        stride = stride * extents[d]
    return total


def sectors(where: Numbers, on: NDArray[np.bool_], size: int) -> Numbers:
    """Return the number of sectors of `size` bytes that the lanes touch, per way."""
    found: Numbers = _different(np.floor(where / size), on)[1].sum(axis=0).astype(float)
    return found


def bank_rounds(where: Numbers, on: NDArray[np.bool_]) -> Numbers:
    """Return the rounds in which shared memory serves the lanes, per way: the most words of one bank."""
    words, fresh = _different(np.floor(where / BANK_BYTES), on)
    ways = words.shape[1]
    banks = np.arange(ways) * BANKS + np.where(fresh, words, 0.0).astype(np.int64) % BANKS
    per_bank = np.bincount(banks[fresh], minlength=ways * BANKS).reshape(ways, BANKS)
    found: Numbers = per_bank.max(axis=1).astype(float)
    return found


def _different(values: Numbers, on: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the values where `on` is true, sorted per way, and which of them differ from the one before."""
    ordered = np.sort(np.where(on, values, np.inf), axis=0)
    fresh = np.isfinite(ordered)
    fresh[1:] &= ordered[1:] != ordered[:-1]
    return ordered, fresh
