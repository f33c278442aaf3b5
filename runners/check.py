"""Compares a variant's whole output with the sequential reference.

A reordered sum is not the same sum: the rounding error of adding n terms grows like sqrt(n) units in the last
place when the single errors are independent (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed. 2002, section 4.5), so the tolerance grows with the longest chain of updates. A lost or doubled update is off
by about 1/n of the result, which stays well outside of it for realistic n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.program import Array, Program

SAFETY = 32.0
# One rounding step. A double's is taken larger than 2^-52: ill-conditioned programs need the room, and a wrong
# variant is off by far more than the eleven digits that remain.
UNIT = {"float": 2.0**-23, "double": 2.0**-43}
MOST_RELATIVE = 0.01
PEERS = 16.0


def relative_tolerance(type_name: str, length: int) -> float:
    """The relative tolerance for elements of a C type after chains of `length` updates; 0 for integers."""
    unit = UNIT.get(type_name, 0.0)
    return min(SAFETY * unit * math.sqrt(max(length, 1)), MOST_RELATIVE)


def longest_chain(program: Program) -> int:
    """An estimate of the longest chain of updates of one element, from sizes alone.

    A reduction usually runs along a dimension of an array or a parameter (time steps), or folds a large array
    into a smaller one; the greatest of these is taken. The tolerance goes with its square root, so that an
    estimate within a factor of ten is good enough.
    """
    lengths = [1, *(value for _, value in program.parameters)]
    for array in program.arrays:
        lengths.extend(array.extents)
    for statement in program.statements:
        written = program.array(statement.body.target.array).elements
        lengths.extend(program.array(access.array).elements // max(written, 1) for access in statement.accesses)
    return max(lengths)


def compare(program: Program, expected: Mapping[str, NDArray[Any]], got: Mapping[str, NDArray[Any]],
            length: int | None = None) -> str | None:
    """None when all outputs agree, else what is wrong with the first array that differs.

    `length` is the longest chain of updates of one element (estimated when None). A NaN is wrong wherever the
    reference has a number.
    """
    chain = longest_chain(program) if length is None else length
    for array in program.outputs:
        shape = array.extents
        message = _difference(array, expected[array.name].reshape(shape), got[array.name].reshape(shape), chain)
        if message:
            return message
    return None


def _difference(array: Array, expected: NDArray[Any], got: NDArray[Any], length: int) -> str | None:
    relative = relative_tolerance(array.type, length)
    wrong = expected != got if relative == 0 else _far(expected, got, relative)
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = "".join(f"[{index}]" for index in first)
    return (f"{array.name}{place} is {got[first]}, expected {expected[first]}; {count} of {wrong.size} elements "
            f"are wrong (relative tolerance {relative:.1e})")


def _far(expected: NDArray[Any], got: NDArray[Any], relative: float) -> NDArray[np.bool_]:
    """Where |got - expected| > relative * (|expected| + a usual element), or NaN where there was none."""
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(have - want) <= relative * (np.abs(want) + _magnitude(want))
    same = (have == want) | (np.isnan(have) & np.isnan(want))
    finite = np.isfinite(have) & np.isfinite(want)
    wrong: NDArray[np.bool_] = ~(same | (near & finite))
    return wrong


def _magnitude(values: NDArray[np.float64]) -> float:
    """The size of a usual element: elements that cancel to almost 0 are judged by their peers.

    The root mean square of the finite values, but at most PEERS times the median of those that are not 0: a few
    huge elements must not hide errors in all the others.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not sizes.size:
        return 0.0
    largest = float(np.max(sizes))
    rms = largest * math.sqrt(float(np.sum(np.square(sizes / largest))) / values.size)
    return min(rms, PEERS * float(np.median(sizes)))
