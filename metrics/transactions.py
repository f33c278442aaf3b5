"""Counts the memory transactions of a warp from the addresses of its threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np

from generator.facts import Access

WORD_BYTES = 4
_APART = (1 << 30, 1 << 41, 1 << 52)  # strides in x, y, z that bring no two threads of a block to one sector


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that the threads of a block request in one execution of an access, and bytes of the sectors they touch."""

    asked: float
    touched: float


def traffic(access: Access, block: tuple[int, ...], warp: int, sector_bytes: int) -> Traffic:
    """Return the traffic of an access to global memory; `block` is x first, warps are consecutive threads of it.

    All threads take part. Arrays start at a sector. If the alignment of a block's first element varies (by `spacing`),
    the result is the mean over all alignments that occur. Threads whose stride is unknown touch a sector each.
    """
    per_sector = max(1, sector_bytes // access.element_bytes)
    spacing = gcd(access.spacing, per_sector)
    sectors = _sectors(_touched(access, block), warp, per_sector, access.origin % spacing, spacing)
    return Traffic(access.element_bytes * int(np.prod(block)), sectors * sector_bytes)


def _touched(access: Access, block: tuple[int, ...]) -> tuple[int, ...]:
    """Return the element of each thread of a block; threads with unknown strides touch separate elements."""
    if access.elements:
        return access.elements
    strides = (far if stride is None else stride for stride, far in zip(access.strides, _APART, strict=False))
    return _elements(tuple(strides), block)


@dataclass(frozen=True, slots=True)
class Request:
    """The sectors that a warp touches in one execution of an access to global memory, and the least possible number."""

    sectors: float
    least: float


def request(access: Access, block: tuple[int, ...], warp: int, sector_bytes: int) -> Request:
    """Return the sectors of a warp's request, the mean over the warps of a block; arguments as of `traffic`.

    `least` is one sector if the whole block touches one element, else the sectors of as many adjacent elements as there
    are threads in a warp.
    """
    threads = int(np.prod(block))
    warps = -(-threads // warp)
    touched = traffic(access, block, warp, sector_bytes).touched / sector_bytes / warps
    lanes = 1 if access.uniform else min(threads, warp)
    return Request(touched, min(touched, float(-(-lanes * access.element_bytes // sector_bytes))))


@lru_cache(maxsize=4096)
def _sectors(elements: tuple[int, ...], warp: int, per_sector: int, origin: int, spacing: int) -> float:
    """Return the sum of the sectors that the warps of a block touch; the mean over first elements `origin + k *
    spacing`.
    """
    first = np.array(elements, dtype=np.int64)
    starts = np.arange(origin, per_sector, spacing, dtype=np.int64)
    total = 0
    for begin in range(0, len(first), warp):
        lanes = (starts[:, None] + first[None, begin:begin + warp]) // per_sector
        lanes.sort(axis=1)
        total += int((np.diff(lanes, axis=1) != 0).sum()) + len(starts)
    return total / len(starts)


@lru_cache(maxsize=4096)
def _elements(strides: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """Return the element of each thread of a block, x fastest, relative to thread 0."""
    elements = np.zeros(1, dtype=np.int64)
    for stride, size in zip(strides, block, strict=True):
        elements = (np.arange(size, dtype=np.int64)[:, None] * stride + elements[None, :]).ravel()
    return tuple(elements.tolist())


def passes(access: Access, block: tuple[int, ...], warp: int, banks: int) -> float | None:
    """Return the number of passes of an access to shared memory (1: no bank conflicts); None if a stride is unknown.

    In one pass every bank gives one word of 4 bytes to all threads that request it. Groups have as many threads as can
    have separate words: a warp for 4 bytes, half a warp for 8. The mean over these groups.
    """
    if None in access.strides and not access.elements:
        return None
    group = min(warp, banks * WORD_BYTES // access.element_bytes)
    return _passes(_touched(access, block), group, access.element_bytes, banks)


@lru_cache(maxsize=4096)
def _passes(elements: tuple[int, ...], group: int, element_bytes: int, banks: int) -> float:
    start = np.array(elements, dtype=np.int64) * element_bytes
    counts = []
    for begin in range(0, len(start), group):
        own = start[begin:begin + group] // WORD_BYTES
        words = np.unique(own[:, None] + np.arange(max(1, element_bytes // WORD_BYTES))[None, :])
        counts.append(int(np.bincount(words % banks).max()))
    return sum(counts) / len(counts)
