"""The grids of launches: in wavefronts, only the blocks with work; with more blocks than a device allows along y or z,
all blocks are numbered along x, which allows far more.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel
from generator.polyhedral.memory.launched_blocks import launched_blocks
from generator.polyhedral.schedules.kernels import KernelPart


def countable(kernel: LoweredKernel, most: tuple[int, int, int] | None) -> LoweredKernel:
    """Return `kernel` so that a device with at most `most` blocks along x, y and z can launch it (None: any number).

    Raises:
        IllegalPlan: it has more blocks than the device allows along x.
    """
    if most is None or all(n <= limit for n, limit in zip(kernel.launched, most, strict=False)):
        return kernel
    if (blocks := prod(kernel.grid)) > most[0]:
        raise IllegalPlan(f"kernel {', '.join(kernel.statements)} would be launched in {blocks} blocks, of which the "
                          f"device counts {most[0]}: larger tiles make fewer")
    return replace(kernel, linear_grid=True)


def in_parts(kernel: LoweredKernel, part: KernelPart, tile: tuple[int, ...]) -> LoweredKernel:
    """Return `kernel` with the blocks that a launch of `part` needs, if these differ from launch to launch.

    `tile`: the points of a block (outermost dimension first).
    """
    if not part.prefix or not part.parallel or kernel.linear_grid:
        return kernel
    return replace(kernel, parts=tuple(reversed(launched_blocks(part, tile, kernel.iterators))))
