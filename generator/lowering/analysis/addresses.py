"""Strides of a kernel's accesses, measured at a point inside its loops.

A point is a block, a thread, a launch and an iteration of every loop. Each coordinate is moved by 1 and by 2, one at a
time: if the address changes by a constant per step, that is its stride. Nearly all subscripts are affine and have the
same strides everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from generator.expr import Binary, Load, names_of, parts
from generator.facts import Access, AccessMode, Around, Space
from generator.lowering.analysis.counting import Counts, NodePath
from generator.lowering.analysis.sampling import DataDependentError, Ints, trips, values
from generator.nest import Barrier, For, walk


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Values of names at the point, and two more values per coordinate: moved by 1 and by 2.

    `threads`, `others`: the coordinates of thread indices (x first), and of block and host indices with several values.
    `free`: the first coordinate that no loop uses yet. `block`: the same names with a value per thread of a block, x
    fastest.
    """

    names: Mapping[str, Ints]
    block: Mapping[str, Ints]
    threads: tuple[int, ...]
    others: tuple[int, ...]
    free: int


@dataclass(frozen=True, slots=True, eq=False)
class Enclosing:
    """A loop around a point, with its coordinate."""

    loop: For
    place: NodePath
    coordinate: int


def outer_point(threads: Sequence[tuple[str, int]], others: Sequence[tuple[str, int, bool]], depth: int) -> Point:
    """Return the point in the middle of all blocks and threads, outside of all loops.

    `threads`: (name, size), x first. `others`: (name, value, whether it takes other values). `depth`: the number of
    loops to be entered.
    """
    starts = [(name, max(0, size // 2 - 1)) for name, size in threads] + [(name, at) for name, at, _ in others]
    count = len(starts) + depth
    names = {name: _moved(np.full(1 + 2 * count, at, dtype=np.int64), k) for k, (name, at) in enumerate(starts)}
    first = len(threads)
    several = tuple(first + k for k, (_, _, moves) in enumerate(others) if moves)
    size, place = prod(n for _, n in threads), 1
    block = {name: np.full(size, at, dtype=np.int64) for name, at, _ in others}
    for name, n in threads:
        block[name] = np.arange(size, dtype=np.int64) // place % n
        place *= n
    return Point(names, block, tuple(range(first)), several, len(starts))


def _moved(base: Ints, coordinate: int) -> Ints:
    moved = base.copy()
    moved[1 + 2 * coordinate] += 1
    moved[2 + 2 * coordinate] += 2
    return moved


def enter(point: Point, loop: For) -> Point:
    """Return the point in the middle of `loop`."""
    start = values(loop.start, point.names)
    often = int(np.broadcast_to(trips(loop.iterator, start, loop.condition, loop.step, point.names), _size(point))[0])
    middle = max(0, often // 2 - 1)
    ordinal = _moved(np.full(_size(point), middle, dtype=np.int64), point.free)
    names = {**point.names, loop.iterator: start + loop.step * ordinal}
    block = {**point.block, loop.iterator: values(loop.start, point.block) + loop.step * middle}
    return Point(names, block, point.threads, point.others, point.free + 1)


def _size(point: Point) -> int:
    return len(next(iter(point.names.values())))


def access_facts(load: Load, space: Space, mode: AccessMode, layout: tuple[int, tuple[int, ...], int],
                 point: Point, loops: Sequence[Enclosing], counts: Counts, executions: float) -> Access:
    """Return the facts of one access at `point`.

    `layout`: the element size in bytes, the extents in memory, and the number of elements per access, which form one
    element of the Access.
    """
    element, sizes_of, lanes = layout
    address, unknown = _address(load, sizes_of, point)
    address, element = address // lanes, element * lanes
    sizes = (*sizes_of[:-1], *(n // lanes for n in sizes_of[-1:]))

    def stride(coordinate: int) -> int | None:
        one, two = (int(address[2 * coordinate + k] - address[0]) for k in (1, 2))
        return None if unknown[coordinate] or two != 2 * one else one

    strides = tuple(stride(c) for c in point.threads)
    around = tuple(_around(e, counts, stride(e.coordinate)) for e in loops)
    moving = [stride(c) for c in point.others] + [a.stride for a in around if a.trips > 1]
    known = [s for s in moving if s is not None]
    origin = int(address[0]) - sum(int(point.names[name][0]) * (s or 0)
                                   for name, s in zip(_thread_names(point), strides, strict=True))
    elements = _elements(load, sizes_of, point, lanes) if None in strides or _by_bits(load) else ()
    return Access(load.array, space, mode, element, sizes, executions, strides, elements[0] if elements else origin,
                  gcd(*known) if len(known) == len(moving) else 1, around,
                  tuple(one - elements[0] for one in elements))


def _elements(load: Load, sizes: tuple[int, ...], point: Point, lanes: int) -> tuple[int, ...]:
    """Return the elements that the threads of a block access; () if they depend on data."""
    address = np.zeros(1, dtype=np.int64)
    try:
        for extent, subscript in zip(sizes, load.index, strict=True):
            address = address * extent + values(subscript, point.block)
    except DataDependentError:
        return ()
    found = np.broadcast_to(address // lanes, next(iter(point.block.values())).shape)
    return tuple(found.tolist())


def _by_bits(load: Load) -> bool:
    """Return whether bits are combined in a subscript: the distances of three threads are not those of all then."""
    return any(isinstance(part, Binary) and part.op == "^" for index in load.index for part in parts(index))


def _thread_names(point: Point) -> list[str]:
    return list(point.names)[:len(point.threads)]


def _around(enclosing: Enclosing, counts: Counts, stride: int | None) -> Around:
    entries = counts.entries.get(enclosing.place, 0.0)
    waits = any(isinstance(node, Barrier) for node in walk(enclosing.loop.body))
    trips_each = counts.iterations.get(enclosing.place, 0.0) / entries if entries else 0.0
    return Around(enclosing.loop.iterator, entries, trips_each, stride, waits)


def _address(load: Load, sizes: tuple[int, ...], point: Point) -> tuple[Ints, NDArray[np.bool_]]:
    """Return element numbers, row by row, and the coordinates on which data-dependent parts (taken as 0) depend."""
    size = _size(point)
    address = np.zeros(size, dtype=np.int64)
    unknown = np.zeros(size // 2, dtype=np.bool_)
    for extent, subscript in zip(sizes, load.index, strict=True):
        address = address * extent
        try:
            address = address + values(subscript, point.names)
        except DataDependentError:
            for name in names_of(subscript):
                at = np.broadcast_to(point.names[name], (size,))
                unknown |= at[1::2] != at[0]
    return address, unknown
