"""Linear algebra of a Gaussian process: with NumPy alone for up to `FEW` walks, with SciPy for more.

Importing SciPy takes half a second of processor time. A search that measures at most `FEW` walks avoids it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import erfc, sqrt

import numpy as np

from explorer.attributes import Array
from explorer.threads import one_thread

FEW = 3
"""Up to this number of measured walks, no weights are learned (`GaussianProcess.fit`)."""


def blas_for(walks: int) -> AbstractContextManager[None]:
    """Return the context for computations with so many walks: one thread, or none if no threaded library is used."""
    return nullcontext() if walks <= FEW else one_thread()


def city_block(some: Array, others: Array) -> Array:
    """Return the city-block distances, shape (some, others); bitwise equal for both implementations."""
    if len(some) <= FEW:
        columns, of_others = np.ascontiguousarray(some.T), np.ascontiguousarray(others.T)
        return np.asarray(np.abs(columns[:, :, None] - of_others[:, None, :]).sum(axis=0))
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(some, others, "cityblock"))


def solve_triangular(root: Array, right: Array, lower: bool) -> Array:
    """Return x with root @ x = right, where `root` is triangular."""
    if len(root) > FEW:
        import scipy.linalg

        return np.asarray(scipy.linalg.solve_triangular(root, right, lower=lower, check_finite=False))
    solution = np.array(right, dtype=float)
    rows = range(len(root))
    for row in rows if lower else reversed(rows):
        done = slice(0, row) if lower else slice(row + 1, None)
        solution[row] = (solution[row] - root[row, done] @ solution[done]) / root[row, row]
    return solution


def normal_distribution(values: Array) -> Array:
    """Return the distribution function of the standard normal distribution."""
    return np.array([0.5 * erfc(value) for value in (values / -sqrt(2)).tolist()])
