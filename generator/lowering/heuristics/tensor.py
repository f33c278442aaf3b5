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

_ROWS, _WARPS = (64, 128), (4, 8)
"""Rows and columns of tiles, and the warps that share them."""
_DEPTH = 32


def tensor_plans(program: Program, plan: Plan, target: Target) -> Iterator[Plan]:
    """Yield `plan` with all its sums of products on tensor cores, in tiles of several sizes; none if the target refuses
    it. The larger tiles are fetched ahead.
    """
    if target.products == "full" or not target.multiplies(target.products) or plan.schedule is None:
        return
    shapes = {shape.statements: shape for shape in kernel_shapes(program, plan.scheduled, target.dialect)}
    for rows, warps in zip(_ROWS, _WARPS, strict=True):
        kernels = tuple(_kernel(kernel, shapes[kernel.statements], target, rows, warps) for kernel in plan.kernels)
        if kernels != plan.kernels:
            yield replace(plan, kernels=kernels)


def _kernel(kernel: KernelPlan, shape: KernelShape, target: Target, rows: int, warps: int) -> KernelPlan:
    """Return the kernel with the largest offered tile of at most so many rows and columns, and the nearest number of
    warps.
    """
    shape = shape.ordered(kernel.order)
    if shape.contraction is None:
        return kernel
    shape = shape.on_tensor_cores()
    offered = [(tile, block) for tile, block in tensor_tiles(shape, target, target.products)
               if max(tile) <= rows]
    if not offered:
        return kernel
    largest = max(prod(tile) for tile, _ in offered)
    tile, block = min((one for one in offered if prod(one[0]) == largest),
                      key=lambda one: (abs(prod(one[1]) - 32 * warps), one))
    padding = PADDINGS[-1]
    depths = tensor_depths(shape, target, target.products, tile, padding)
    if not depths:
        return kernel
    depth = max((depth for depth in depths if depth <= _DEPTH), default=depths[0])
    ahead = rows == _ROWS[-1] and can_hold(shape, tile, block, depth)
    twice = depth in tensor_depths(shape, target, target.products, tile, padding, twice=True)
    later = ahead and twice and target.copies_asynchronously and target.products in ROUNDED_LATER
    return KernelPlan(kernel.statements, tile, block, order=kernel.order, padding=padding, cache=kernel.cache, vector=4,
                      inner_tile=depth, products=target.products, ahead=ahead, asynchronous=later)
