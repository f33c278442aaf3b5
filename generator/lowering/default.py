"""The default plan: what PPCG does without tuning (0.09; facts measured on its output).

Pluto-like schedule with outer coincidence and maximal band depth, tiles of 32, blocks of 512 / 32x16 / 32x4x4 threads
cut to the tile, shared memory wherever the copies fit, no unrolling.
"""

from __future__ import annotations

from math import prod

from generator.lowering.shapes import KernelShape, kernel_shapes
from generator.plan import KernelPlan, Plan, ScheduleChoice
from generator.program import Program
from generator.target import Target

TILE = 32
INNER_TILE = 32
_BLOCKS: dict[int, tuple[int, ...]] = {0: (), 1: (32,), 2: (32, 16), 3: (32, 4, 4)}


def default_plan(program: Program, target: Target) -> Plan:
    """The plan every run starts from, within the target's limits. Raises IllegalPlan if isl gives up."""
    choice = ScheduleChoice()
    return Plan(choice, tuple(_kernel(shape, target) for shape in kernel_shapes(program, choice)))


def _kernel(shape: KernelShape, target: Target) -> KernelPlan:
    tile = (TILE,) * len(shape.extents)
    shared = bool(shape.shareable) and shape.shared_bytes(tile, INNER_TILE) <= target.local_bytes
    block = _fit(_BLOCKS[len(tile)], target)
    return KernelPlan(shape.statements, tile, block, shared, INNER_TILE if shared and shape.sequential else 1)


def _fit(block: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """Halve the outermost size until the device allows the block."""
    while prod(block) > target.max_threads:
        largest = block.index(max(block))
        block = (*block[:largest], block[largest] // 2, *block[largest + 1:])
    return block
