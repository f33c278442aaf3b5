"""Start plans on CPUs for updates in memory: of steps, the elements of a tile stay in a core's first-level cache; of
points with rows of their own, all cores have the same share.
"""

from __future__ import annotations

from math import prod

from generator.lowering.analysis.shapes import KernelShape
from generator.target import Target

STEP_POINTS = 1024
"""Points of a tile whose elements, of up to eight bytes, take a quarter of a first-level cache of 32 kB."""


def few_rows(tile: list[int], shape: KernelShape) -> list[int]:
    """Return `tile` with at most STEP_POINTS points, or one row, if a thread takes steps whose results it cannot keep
    in registers, such as those of histograms: all its points read and write memory in each step.
    """
    found = list(tile)
    if not shape.steps or shape.kept:
        return found
    for d in range(len(found) - 1):
        while prod(found) > STEP_POINTS and found[d] > 1:
            found[d] //= 2
    return found


def even_shares(size: int, shape: KernelShape, target: Target) -> int:
    """Return the outermost size of a tile, smaller if the busiest core then has less to do, at least by an eighth, of
    points with rows of their own: each takes long, so that more blocks cost nothing.
    """

    def most(size: int) -> int:
        return -(-shape.extents[0] // (size * target.compute_units)) * size

    while shape.own_rows and size > 1 and 8 * most(size // 2) <= 7 * most(size):
        size //= 2
    return size
