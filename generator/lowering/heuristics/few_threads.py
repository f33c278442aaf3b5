"""Small blocks for kernels with few threads that run long loops, as recurrences along the rows of a matrix.

A sweep of adi at LARGE has 998 rows, each of which is one thread's. Blocks of 64 threads occupy 16 of an H200's 132
multiprocessors; those of 8 threads occupy 125, and each thread has eight times as much of a first-level cache.
"""

from __future__ import annotations

from dataclasses import replace

from generator.decisions.room import has_few_threads
from generator.decisions.size_lists import FEWEST_THREADS
from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.target import Target


def in_small_blocks(kernel: KernelPlan, shape: KernelShape, target: Target) -> KernelPlan:
    """Return `kernel` with a thread per point in blocks for all multiprocessors, if it has few points with loops."""
    if target.shares_host_cores or not has_few_threads(shape, target) or kernel.tile != kernel.block:
        return kernel
    each = shape.extents[0] // target.compute_units
    size = max(FEWEST_THREADS, 1 << max(0, each.bit_length() - 1))
    return replace(kernel, tile=(size,), block=(size,)) if size < kernel.block[0] else kernel
