"""The linear algebra of a Gaussian process over a few walks, or over many.

SciPy takes half a second of processor time to be imported, and has what many walks need. A search that ends before it
has measured more than `FEW` walks computes with NumPy alone.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import erfc, sqrt

import numpy as np

from explorer.attributes import Array
from explorer.threads import one_thread

FEW = 3
"""Measured walks from which no weights are learned yet (`GaussianProcess.fit`)."""


def blas_for(walks: int) -> AbstractContextManager[None]:
    """What to compute in, for so many measured walks: one thread, unless nothing that has threads is called."""
    return nullcontext() if walks <= FEW else one_thread()


def city_block(some: Array, others: Array) -> Array:
    """The city-block distance of each of `some` to each of `others`, the same to the bit however many there are."""
    if len(some) <= FEW:
        columns, of_others = np.ascontiguousarray(some.T), np.ascontiguousarray(others.T)
        return np.asarray(np.abs(columns[:, :, None] - of_others[:, None, :]).sum(axis=0))
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(some, others, "cityblock"))


def solve_triangular(root: Array, right: Array, lower: bool) -> Array:
    """x with root @ x = right, where `root` is triangular."""
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
    """The distribution function of the standard normal distribution."""
    return np.array([0.5 * erfc(value) for value in (values / -sqrt(2)).tolist()])
