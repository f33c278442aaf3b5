"""An independent reference of the lens blur, in numpy with 64 bits: see `pipelines.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.pipelines import Array, F, Inputs, Plane, clamped, half, pixels, planes, up

TAPS = {-1: 1 / 8, 0: 3 / 8, 1: 3 / 8, 2: 1 / 8}


def lens_blur(
    inputs: Inputs, size: tuple[int, ...], /, slices: int = 32, focus: int = 13, samples: int = 32, levels: int = 8
) -> Array:
    left = planes(inputs["left"]).astype(float)
    width, height = size
    reach = int(max(slices - focus, focus) * 0.5)
    near = np.arange(-reach, height + reach), np.arange(-reach, width + reach)
    depth = depths(left, planes(inputs["right"]).astype(float), near, slices, levels)
    radius = np.abs(depth - focus) * 0.5
    windows = np.lib.stride_tricks.sliding_window_view(radius, (2 * reach + 1, 2 * reach + 1))
    worst = windows.max((-2, -1))
    y, x = pixels(size)
    own, blurred = depth[y + reach, x + reach], radius[y + reach, x + reach]
    total, weights = left.copy(), np.ones((height, width))
    for sample in range(samples):
        dx, dy = (offsets((uniform(seed, (x, y, sample)) - F(0.5)) * F(2) * worst.astype(F), reach) for seed in (1, 2))
        squared, at = dx * dx + dy * dy, (y + dy + reach, x + dx + reach)
        used = (squared < radius[at] ** 2) & ((squared < blurred**2) | (depth[at] < own))
        total += used[..., None] * left[np.clip(y + dy, 0, height - 1), np.clip(x + dx, 0, width - 1)]
        weights += used
    result: Array = np.moveaxis(total / weights[..., None], -1, 0)
    return result


def depths(left: Array, right: Array, near: tuple[Array, Array], slices: int, levels: int) -> Array:
    """Return, per element (y, x) of the grid `near`, the slice of the least smoothed cost."""
    z = np.arange(slices)

    def costs(y: Array, x: Array) -> Array:
        rows, last = np.clip(y, 0, left.shape[0] - 1)[..., None], left.shape[1] - 1
        here = left[rows, np.clip(x, 0, last)[..., None]]
        apart = [np.abs(here - right[rows, np.clip(x[..., None] + 2 * z + k, 0, last)]) for k in (0, 1)]
        cost = (np.minimum(*apart) ** 2).sum(-1)
        sure = (cost**2).mean(-1, keepdims=True) - cost.mean(-1, keepdims=True) ** 2
        return np.stack([cost * sure, np.broadcast_to(sure, cost.shape)], -1)

    pushed = [Plane(costs)]
    height, width = left.shape[:2]
    for _ in range(1, levels):
        height, width = max(height // 2, 1), max(width // 2, 1)
        y, x = np.mgrid[:height, :width]
        pushed.append(clamped(half(pushed[-1], TAPS)(y, x)))
    pulled = pushed[-1]
    for finer in reversed(pushed[:-1]):
        pulled = between(up(pulled), finer)
    smooth = pulled(*np.meshgrid(*near, indexing="ij"))
    found: Array = np.argmin(smooth[..., 0] / smooth[..., 1], axis=-1)
    return found


def between(one: Plane, other: Plane) -> Plane:
    """Return the mean of two."""
    return Plane(lambda y, x: (one(y, x) + other(y, x)) / 2)


def uniform(seed: int, coordinates: tuple[Any, ...]) -> NDArray[np.float32]:
    """Return the random numbers from 0 to 1 that docs/pipelines.md defines for a seed and coordinates."""
    state: Any = np.uint64(0x9E3779B9)
    for word in (seed, *coordinates, 0x9E3779B9, 0x3C6EF372, 0xDAA66D2B):
        low = np.asarray(word).astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
        with np.errstate(over="ignore"):
            state = ((state ^ low) * np.uint64(0x5851F42D4C957F2D) + np.uint64(0x2545F491)) >> np.uint64(32)
    found: NDArray[np.float32] = ((state >> np.uint64(8)).astype(F) * F(2.0**-24)).astype(F)
    return found


def offsets(values: Array, reach: int) -> Array:
    """Return the values truncated to integers, and limited."""
    found: Array = np.clip(np.trunc(values).astype(int), -reach, reach)
    return found
