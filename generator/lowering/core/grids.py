"""Launches with more blocks than a device allows along y or z: number all blocks along x, which allows far more."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel


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
