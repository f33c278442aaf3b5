"""Start plans for GPUs that split few long sums, as in a matrix-vector product, over many threads.

A product with an 8192 x 8192 matrix has 8192 sums. With a thread per sum most of a GPU is idle, and threads that read
different rows share no memory transfers. If the summation is parallel, the whole matrix is:

    rows       terms of a sum are adjacent: a warp reads a piece of a row, combines by shuffles and updates once
    columns    neighbouring sums have adjacent terms: a thread has some columns and sums up a piece of each
    both       a kernel with sums of both kinds, over the same elements: a row of threads has some rows, of which a
               thread sums up some columns, and a warp a piece of each row

Every element is read once, so bandwidth is the limit: threads read 16 bytes at a time, several times before they wait.
Atomic updates are the other limit. An H200 has about 40 per nanosecond, in which it reads 110 floats. So a block
combines what its rows of threads have for a column before it updates the sum, and has as many rows as leave work for
all multiprocessors.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from generator.decisions.combine import Combine
from generator.decisions.size_lists import cover
from generator.expr import loads_of
from generator.lowering.analysis.shapes import KernelShape
from generator.lowering.heuristics.wide_points import neighbours
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import sums
from generator.program import Program, Statement
from generator.target import LANES, Target

RESIDENT = 2048
"""The most threads that a multiprocessor of a GPU keeps at a time (CUDA C++ Programming Guide; AMD: as many or more).
"""
_WARPS, _GROUPS = 8, 4
"""Warps of a block, with other rows each; of one that sums up a single dimension."""
_MOST_TERMS, _MOST_ROWS = 512, 4
"""The longest piece of a row, and the most rows of a warp."""
_LEAST_DOWN, _MOST_DOWN = 2, 16
"""The least and most terms of a thread in each of its columns. With sums of rows, each of its rows is in a register."""
_BUSY = 1024
"""Threads of a multiprocessor that read enough at a time: 16 bytes each, several times."""
_UNROLL = 4


def few_sums(program: Program, target: Target, reductions: Iterable[str]) -> tuple[str, ...]:
    """Return those of `reductions` that are worth splitting, sorted: they sum up elements that are used once, and there
    are fewer sums than threads that the device keeps.
    """
    sizes = {array.name: prod(array.extents) for array in program.arrays}
    return tuple(sorted(name for name in sums(program, reductions)
                        if sizes[program.statement(name).body.target.array] < target.compute_units * RESIDENT
                        and _reads_once(program.statement(name))))


def _reads_once(statement: Statement) -> bool:
    """Return whether some loaded element differs in every iteration."""
    body = statement.body
    return any({name for index in load.index for name in body.variables(index)}.issuperset(statement.iterators)
               for value in body.computed for load in loads_of(value))


def split_kernel(
    program: Program, shape: KernelShape, target: Target, order: tuple[int, ...], wide: int = 1
) -> KernelPlan | None:
    """Return a kernel that splits sums over the threads along x, the last dimension of `order`, or over groups of
    threads, with tiles of `wide` times the usual width; None if it has no sums to split.
    """
    if not shape.reduces or shape.sequential or not shape.kept:
        return None
    count = len(shape.extents)
    dims = order or tuple(range(count))
    owners = [kept for kept in shape.kept if len(kept) == min(map(len, shape.kept))]
    extents = tuple(shape.extents[d] for d in dims)
    run = neighbours(program, shape)
    rows = any(dims[-1] not in owned for owned in owners)
    tile, block = [1] * count, [1] * count
    if rows and (count == 1 or not any(dims[-1] in owned for owned in owners)):
        each = prod(extents) // (target.compute_units * RESIDENT)
        block[-1] = LANES if count > 1 else LANES * _GROUPS
        tile[-1] = min(_MOST_TERMS, max(block[-1] * run, cover(extents[-1])))
        if count > 1:
            block[-2] = min(_WARPS, cover(extents[-2]))
            tile[-2] = block[-2] * _between(each // max(1, tile[-1] // LANES), 1, _MOST_ROWS)
    else:
        down = count - 2 if rows else max((d for d in range(count) if dims[d] not in owners[0]), default=0)
        each = cover(prod(extents) // (target.compute_units * _BUSY * run))
        block[-1] = LANES
        tile[-1] = max(LANES, min(cover(extents[-1]), LANES * run * wide * (2 if each > _MOST_DOWN else 1)))
        block[down] = min(_WARPS, cover(extents[down]))
        tile[down] = min(cover(extents[down]), block[down] * _between(each, _LEAST_DOWN, _MOST_DOWN))
    lanes: Combine = "shuffle" if target.sub_group >= LANES else "shared"
    return KernelPlan(shape.statements, tuple(tile), tuple(block), order=order, registers=True, run=run, vector=run,
                      unroll=_UNROLL, combine=lanes)


def _between(number: int, least: int, most: int) -> int:
    """Return the largest power of two that is at most `number`, within the limits."""
    return min(most, max(least, 1 << max(0, number.bit_length() - 1)))
