"""Start plans on CPUs for steps that update memory: the elements of a tile stay in a core's first-level cache."""

from __future__ import annotations

from math import prod

from generator.lowering.analysis.shapes import KernelShape

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
