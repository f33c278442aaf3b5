"""Start plans on CPUs whose threads compute several rows of a step together (`generator.decisions.jam`)."""

from __future__ import annotations

from dataclasses import replace

from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.target import Target

ROWS = 4
"""Stencils of three rows then load 6 rows for 4 results instead of 12. Eight rows were no faster (docs/compare.md)."""


def rows_together(steps: KernelPlan, shape: KernelShape, target: Target) -> KernelPlan:
    """Return the plan `steps` of a kernel that walks, with ROWS rows per step, computed together.

    `shape` has the order of the plan. A kernel that does not walk, whose rows are no multiple, or whose stages then
    take too much room stays as it is.
    """
    if not steps.walk or shape.sequential or steps.tile[-2] < 2 * ROWS or shape.extents[-2] % ROWS:
        return steps
    fits = shape.walking(ROWS).shared_bytes(steps.tile, 1) <= target.local_bytes
    return replace(steps, walk=ROWS, jam=True) if fits else steps
