"""How far two results are apart: real numbers in doubles, integers exactly.

A double does not hold every integer of 64 bits: the difference of two large ones in doubles can be 0. Hence their
differences are integers themselves, of 64 bits without a sign, which hold the difference of any two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def distance(result: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """|other - result|; infinite where only one of them is a finite number, or they are different infinities. Different
    integers are never 0 apart.
    """
    if _large(result, other):
        return _steps(result, other).astype(np.float64)
    found: NDArray[np.float64] = np.asarray(np.subtract(other, result, dtype=np.float64))
    np.abs(found, out=found)
    if not math.isfinite(found.max(initial=0.0)):  # rare: all other programs have numbers only
        odd = ~np.isfinite(found)
        one, two = result[odd], other[odd]
        found[odd] = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.inf)
    return found


def around(result: NDArray[Any], other: NDArray[Any]) -> NDArray[np.unsignedinteger[Any]]:
    """Return |other - result| modulo 2^n, of integers of n bits."""
    kind = f"u{result.dtype.itemsize}"
    with np.errstate(over="ignore"):
        change = np.subtract(other.view(kind), result.view(kind))
        found: NDArray[np.unsignedinteger[Any]] = np.minimum(change, np.subtract(np.zeros_like(change), change))
    return found


def near(expected: NDArray[Any], got: NDArray[Any], allowed: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where |got - expected| is finite and at most `allowed`."""
    if _large(expected, got):
        return at_most(_steps(expected, got), allowed)
    with np.errstate(invalid="ignore", over="ignore"):
        found: NDArray[np.bool_] = np.isfinite(got) & (np.abs(np.subtract(got, expected, dtype=np.float64)) <= allowed)
    return found


def at_most(numbers: NDArray[np.unsignedinteger[Any]], allowed: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where integers are at most `allowed`, which are doubles."""
    every = allowed >= 2.0**64
    whole = np.floor(np.where((allowed > 0) & ~every, allowed, 0.0)).astype(np.uint64)
    found: NDArray[np.bool_] = every | ((allowed >= 0) & (numbers.astype(np.uint64) <= whole))
    return found


def _large(one: NDArray[Any], two: NDArray[Any]) -> bool:
    """Return whether both are integers of 64 bits, of one type."""
    return one.dtype == two.dtype and one.dtype.kind in "iu" and one.dtype.itemsize == 8


def _steps(one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.uint64]:
    """Return |two - one| of integers of 64 bits."""
    first, second = one.astype(np.uint64), two.astype(np.uint64)
    with np.errstate(over="ignore"):
        return np.where(two > one, second - first, first - second)
