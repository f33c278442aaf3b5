"""Start plans whose sums of products are computed on tensor cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from generator.decisions.fragments import PADDINGS, ROUNDED_LATER, can_hold, tensor_depths, tensor_tiles
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.target import Target

_TILES: tuple[tuple[tuple[int, int], int], ...] = (((64, 64), 32), ((64, 128), 16))
"""The most rows and columns of tiles, and their depth, fetched ahead: of 25 plans of a gemm of 2000 x 2300 x 2600 in
tf32, the fastest two on an H200 (docs/benchmarks/gpu.md).
"""
_WARPS = 4


def tensor_plans(program: Program, plan: Plan, target: Target) -> Iterator[Plan]:
    """Yield `plan` with all its sums of products on tensor cores, in tiles of several sizes; none if the target refuses
    it. Tiles are fetched ahead, the larger ones asynchronously.
    """
    if target.products == "full" or not target.multiplies(target.products) or plan.schedule is None:
        return
    shapes = {shape.statements: shape for shape in kernel_shapes(program, plan.scheduled, target.language)}
    for most, depth in _TILES:
        kernels = tuple(_kernel(kernel, shapes[kernel.statements], target, most, depth) for kernel in plan.kernels)
        if kernels != plan.kernels:
            yield replace(plan, kernels=kernels)


def _kernel(kernel: KernelPlan, shape: KernelShape, target: Target, most: tuple[int, int], deep: int) -> KernelPlan:
    """Return the kernel with the largest offered tile of at most `most` rows and columns, about `_WARPS` warps, and a
    depth of at most `deep` if there is one.
    """
    shape = shape.ordered(kernel.order)
    if shape.contraction is None:
        return kernel
    rows, columns = shape.contraction
    shape = shape.on_tensor_cores()
    offered = [(tile, block) for tile, block in tensor_tiles(shape, target, target.products)
               if tile[rows] <= most[0] and tile[columns] <= most[1]]
    if not offered:
        return kernel
    largest = max(prod(tile) for tile, _ in offered)
    tile, block = min((one for one in offered if prod(one[0]) == largest),
                      key=lambda one: (abs(prod(one[1]) - 32 * _WARPS), one))
    padding = PADDINGS[-1]
    depths = tensor_depths(shape, target, target.products, tile, padding)
    if not depths:
        return kernel
    depth = max((depth for depth in depths if depth <= deep), default=depths[0])
    ahead = can_hold(shape, tile, block, depth)
    twice = depth in tensor_depths(shape, target, target.products, tile, padding, twice=True)
    later = most == _TILES[-1][0] and ahead and twice
    later = later and target.copies_asynchronously and target.products in ROUNDED_LATER
    return KernelPlan(kernel.statements, tile, block, order=kernel.order, padding=padding, cache=kernel.cache, vector=4,
                      inner_tile=depth, products=target.products, ahead=ahead, asynchronous=later)
