"""PPCG's plan, the default on GPUs (`usual.py` has that of CPUs): PPCG's choices without tuning (0.09; measured on its
output).

Pluto-like schedule with outer coincidence and maximal band depth, tiles of 32, blocks of 512 / 32x16 / 32x4x4 threads
limited to the tile, shared memory if the copies fit, no unrolling.

On GPUs it differs in two points, so that neighbouring threads access neighbours in memory wherever a mapping allows it:
another parallel dimension may be x (`neighbours`), and blocks of three dimensions have their 32 threads along x
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
    """Return PPCG's plan within the target's limits, with the tile `size` of its option --tile-size.

    `choice`: a schedule other than PPCG's.

    Raises:
        IllegalPlan: isl gives up.
    """
    plan = as_scheduled(program, target, size, choice)
    return plan if target.shares_host_cores else neighbours_along_x(program, plan, target)


def as_scheduled(program: Program, target: Target, size: int = TILE, choice: Schedule = _PLUTO) -> Plan:
    """Return the default plan with the schedule's own x dimensions. Raises IllegalPlan if isl gives up."""
    shapes = kernel_shapes(program, choice, target.language)
    return Plan(choice, tuple(_kernel(shape, target, size) for shape in shapes))


def _kernel(shape: KernelShape, target: Target, size: int) -> KernelPlan:
    tile = fitting(shape, (size,) * len(shape.extents), target)
    shared = bool(shape.shareable) and shape.shared_bytes(tile, size) <= target.local_bytes
    blocks = _BLOCKS if target.shares_host_cores else _GPU_BLOCKS
    block = within_limits(tuple(min(t, threads) for t, threads in zip(tile, blocks[len(tile)], strict=True)), target)
    return KernelPlan(
        shape.statements, tile, block, shared=shared, inner_tile=size if shared and shape.sequential else 1
    )


def fitting(shape: KernelShape, tile: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """Return `tile`, halved in its largest dimension until the stages of a block fit in its shared memory."""
    while (
        shape.computes and shape.shared_bytes(tile, 1, copies=False) > target.local_bytes and max(tile, default=1) > 1
    ):
        largest = tile.index(max(tile))
        tile = (*tile[:largest], tile[largest] // 2, *tile[largest + 1:])
    return tile


def within_limits(block: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """Return `block` limited by the device in each dimension, then halved in its largest one until all of it is
    allowed.
    """
    block = tuple(reversed([min(size, most) for size, most in zip(reversed(block), target.max_block, strict=False)]))
    while prod(block) > target.max_threads:
        largest = block.index(max(block))
        block = (*block[:largest], block[largest] // 2, *block[largest + 1:])
    return block
