"""The tile sizes that Sioutas' scheduler tries (Sioutas et al. 2020, section 4.2), for the dimensions of an output.

Dimensions of few iterations are not cut (64; if that leaves none 16, then 8). Of a dimension of B points, N of which
are cut,

    T_min = 8 if B >= 64, else 2
    T_max = B / 128 if B >= 1024 and N = 1;  B / 32 if B >= 1024 and N > 1;  B / 2 otherwise

Deviation: sizes are powers of two in the final phase, too (in the paper: every second number). Plans may have any size,
but searches offer powers of two, and few others between them. On CPUs, where one thread computes a tile, the innermost
dimension that tiles cut may be whole, and others are limited by two tiles per core.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from metrics.costs.device import CostDevice
from metrics.costs.groups import Numbers, parallel_dimensions

FEW = (64, 16, 8)
LONG, MOST_CUT = 1024, 3
WIDEST = 2048
"""The maximum for tiles on CPUs."""


def cut(extents: tuple[int, ...], among: range | None = None) -> tuple[int, ...]:
    """Return the dimensions to cut, at most three: those with enough iterations, and always the innermost one.

    `among`: those that may be cut (None: all).
    """
    among = range(len(extents)) if among is None else among
    for least in FEW:
        found = [d for d in among if extents[d] >= least]
        if found:
            break
    else:
        found = [max(among, key=lambda d: extents[d])] if extents else []
    inner = len(extents) - 1
    largest = sorted(found, key=lambda d: (d != inner, -extents[d], -d))[:MOST_CUT]
    return tuple(sorted({*largest, *([inner] if inner in among and extents[inner] >= FEW[-1] else [])}))[-MOST_CUT:]


def bounds(extent: int, cut_dimensions: int) -> tuple[int, int]:
    """Return T_min and T_max.

    >>> bounds(1536, 2), bounds(2560, 2), bounds(256, 2), bounds(12, 2)
    ((8, 48), (8, 80), (8, 128), (2, 6))
    """
    least = 8 if extent >= 64 else 2
    if extent >= LONG:
        return least, extent // (128 if cut_dimensions == 1 else 32)
    return least, extent // 2


def tiles(extents: tuple[int, ...], device: CostDevice, hosted: int = 0) -> Numbers:
    """Return all tiles to try: `[d, k]` is the extent of the k-th one along dimension d; 1 along the `hosted` ones."""
    parallel = parallel_dimensions(len(extents), hosted)
    chosen, inner = cut(extents, parallel), parallel[-1] if device.host and extents else len(extents) - 1
    sizes = [
        _sizes(extent, d == inner, len(chosen), device) if d in chosen else [1 if d < hosted else extent]
        for d, extent in enumerate(extents)
    ]
    found = list(product(*sizes))
    return np.array(found, dtype=float).T.reshape(len(extents), len(found))


def _sizes(extent: int, innermost: bool, count: int, device: CostDevice) -> list[int]:
    least, most = bounds(extent, count)
    if device.host:
        most = min(WIDEST, extent) if innermost else min(128, max(1, extent // (2 * device.units)))
        least = 8 if innermost else 1
    found = [1 << n for n in range(12) if least <= 1 << n <= most]
    return found or [max(1, most)]
