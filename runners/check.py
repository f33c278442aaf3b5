"""Compares a variant's whole output with the sequential reference.

Reordering a sum changes its rounding, so the tolerance grows with the longest chain of updates. A lost or doubled
update changes the result by about 1/n, which is far outside the tolerance for realistic n. Results that depend on
rounding errors have a tolerance of their own. `generator.rounding` defines both, `generator.precision` that of products
of lower precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.arithmetic import REAL
from generator.contract import Array, Tolerance
from generator.problem import Subject
from generator.rounding import relative_tolerance, scale
from generator.templates.template import Template


def longest_chain(subject: Subject) -> int:
    """Estimate the longest chain of updates of one element, from sizes alone.

    A reduction usually runs along a dimension of an array or a parameter (time steps), or reduces a large array to a
    smaller one; the result is the largest of these. A template's kernel may reduce its largest array to one element.
    The tolerance grows with the square root, so an estimate within a factor of ten is good enough.
    """
    if isinstance(subject, Template):
        return max((array.elements for array in subject.arrays), default=1)
    program = subject
    lengths = [1, *(value for _, value in program.parameters)]
    for array in program.arrays:
        lengths.extend(array.extents)
    for statement in program.statements:
        written = program.array(statement.body.target.array).elements
        lengths.extend(program.array(access.array).elements // max(written, 1) for access in statement.accesses)
    return max(lengths)


def compare(subject: Subject, expected: Mapping[str, NDArray[Any]], got: Mapping[str, NDArray[Any]],
            length: int | None = None, rounding: Mapping[str, NDArray[Any]] | None = None,
            products: float = 0.0) -> str | None:
    """Return None if all outputs agree, else a message about the first array that differs.

    `length`: the longest chain of updates of one element (None: estimated). `rounding`: by array, additional allowed
    absolute differences per element (`Reference.rounding`); inf allows every value. `products`: the relative difference
    allowed for products of lower precision (`Plan.rounded_products`); not used for integers. A NaN is wrong unless the
    reference has one, too.
    """
    contract = subject.contract
    chain = longest_chain(subject) if length is None else length
    for array in contract.outputs:
        shape, allowed = array.extents, (rounding or {}).get(array.name)
        message = _difference(array, expected[array.name].reshape(shape), got[array.name].reshape(shape), chain,
                              np.zeros(shape) if allowed is None else allowed.reshape(shape), contract.tolerance,
                              products)
        if message:
            return message
    return None


def usual_tolerance(array: Array, length: int, products: float) -> float:
    """Return the relative tolerance of the elements of `array`. `length`, `products`: see `compare`."""
    usual = relative_tolerance(array.type, length)
    return max(usual, products) if array.type in REAL else usual


def _difference(array: Array, expected: NDArray[Any], got: NDArray[Any], length: int,
                allowed: NDArray[Any], tolerance: Tolerance | None, products: float) -> str | None:
    relative = usual_tolerance(array, length, products) if tolerance is None else tolerance.relative
    if tolerance is not None:
        wrong = _farther(expected, got, tolerance)
    else:
        wrong = expected != got if relative == 0 else _far(expected, got, relative)
    wrong &= ~_within(expected, got, allowed)
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = "".join(f"[{index}]" for index in first)
    rounding = f", {allowed[first]:.1e} for rounding errors here" if allowed[first] else ""
    rounding += f", absolute {tolerance.absolute:.1e}" if tolerance is not None else ""
    return (f"{array.name}{place} is {got[first]}, expected {expected[first]}; {count} of {wrong.size} elements "
            f"are wrong (relative tolerance {relative:.1e}{rounding})")


def _farther(expected: NDArray[Any], got: NDArray[Any], tolerance: Tolerance) -> NDArray[np.bool_]:
    """Return where |got - expected| > absolute + relative * |expected|, or only one of the two is NaN."""
    wrong: NDArray[np.bool_] = ~np.isclose(got, expected, rtol=tolerance.relative, atol=tolerance.absolute,
                                           equal_nan=True)
    return wrong


def _far(expected: NDArray[Any], got: NDArray[Any], relative: float) -> NDArray[np.bool_]:
    """Return where |got - expected| > relative * scale, or only one of the two is NaN."""
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(have - want) <= relative * scale(want)
    same = (have == want) | (np.isnan(have) & np.isnan(want))
    finite = np.isfinite(have) & np.isfinite(want)
    wrong: NDArray[np.bool_] = ~(same | (near & finite))
    return wrong


def _within(expected: NDArray[Any], got: NDArray[Any], allowed: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where |got - expected| is finite and at most `allowed`, or `allowed` is inf."""
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(have) & (np.abs(have - want) <= allowed)
    result: NDArray[np.bool_] = (near & (allowed > 0)) | np.isposinf(allowed)
    return result
