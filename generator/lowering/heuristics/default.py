"""PPCG's plan, the default of GPUs (`usual.py` has that of CPUs): what PPCG does without tuning (0.09; facts measured
on its output).

Pluto-like schedule with outer coincidence and maximal band depth, tiles of 32, blocks of 512 / 32x16 / 32x4x4 threads
cut to the tile, shared memory wherever the copies fit, no unrolling.

On GPUs it differs in two points, so that neighbouring threads touch neighbours in memory wherever a mapping allows
that: another parallel dimension may be x (`neighbours`), and blocks of three dimensions have their 32 threads along x
(4x4x32).
"""

from __future__ import annotations

from math import prod

from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.neighbours import neighbours_along_x
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import Target

TILE = 32
_PLUTO = ScheduleChoice()
_BLOCKS: dict[int, tuple[int, ...]] = {0: (), 1: (32,), 2: (32, 16), 3: (32, 4, 4)}
_GPU_BLOCKS: dict[int, tuple[int, ...]] = {**_BLOCKS, 3: (4, 4, 32)}


def default_plan(program: Program, target: Target, size: int = TILE, choice: Schedule = _PLUTO) -> Plan:
    """The plan of PPCG within the target's limits; with another tile `size`, it is that of PPCG's --tile-size.

    `choice` is another schedule than PPCG's.

    Raises:
        IllegalPlan: isl gives up.
    """
    shapes = kernel_shapes(program, choice, target.dialect)
    plan = Plan(choice, tuple(_kernel(shape, target, size) for shape in shapes))
    return plan if target.shares_host_cores else neighbours_along_x(program, plan, target)


def _kernel(shape: KernelShape, target: Target, size: int) -> KernelPlan:
    tile = fitting(shape, (size,) * len(shape.extents), target)
    shared = bool(shape.shareable) and shape.shared_bytes(tile, size) <= target.local_bytes
    blocks = _BLOCKS if target.shares_host_cores else _GPU_BLOCKS
    block = within_limits(tuple(min(t, threads) for t, threads in zip(tile, blocks[len(tile)], strict=True)), target)
    return KernelPlan(
        shape.statements, tile, block, shared=shared, inner_tile=size if shared and shape.sequential else 1
    )


def fitting(shape: KernelShape, tile: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """`tile`, halved in its largest dimension until what a block computes of other stages fits its shared memory."""
    while (
        shape.computes and shape.shared_bytes(tile, 1, copies=False) > target.local_bytes and max(tile, default=1) > 1
    ):
        largest = tile.index(max(tile))
        tile = (*tile[:largest], tile[largest] // 2, *tile[largest + 1:])
    return tile


def within_limits(block: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """`block` cut to what the device allows in each dimension, then halved in its largest one until it allows all of
    it.
    """
    block = tuple(reversed([min(size, most) for size, most in zip(reversed(block), target.max_block, strict=False)]))
    while prod(block) > target.max_threads:
        largest = block.index(max(block))
        block = (*block[:largest], block[largest] // 2, *block[largest + 1:])
    return block
