"""Transactions of a warp: the number of memory sectors, or rounds of banks, that its lanes touch at once (section 5.3
of the paper; the numbers are those of its implementation).

Threads of antune's blocks compute adjacent points (each thread those at distances of the block size), so the distance
between lanes is one point, and not the points of a thread as in the paper's nests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Read
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


def offsets(read: Read, points: Numbers, extents: Numbers, element: int) -> Numbers:
    """Return bytes from the start of the read box (of these extents, the last dimension innermost): lanes x ways."""
    total = np.zeros(points.shape[1:])
    stride = np.full(points.shape[2], float(element))
    for d in range(len(read.reach) - 1, -1, -1):
        place = np.zeros(points.shape[1:])
        for q, slope in enumerate(read.reach[d].slopes):
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
