"""Launches of more blocks than a device counts along y or z: all blocks in a row along x, where it counts far more."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel


def countable(kernel: LoweredKernel, most: tuple[int, int, int] | None) -> LoweredKernel:
    """`kernel` as a device can launch it that counts `most` blocks along x, y and z (None: any number).

    Raises:
        IllegalPlan: it has more blocks than the device counts along x.
    """
    if most is None or all(n <= limit for n, limit in zip(kernel.launched, most, strict=False)):
        return kernel
    if (blocks := prod(kernel.grid)) > most[0]:
        raise IllegalPlan(f"kernel {', '.join(kernel.statements)} would be launched in {blocks} blocks, of which the "
                          f"device counts {most[0]}: larger tiles make fewer")
    return replace(kernel, linear_grid=True)
