"""Compares a variant's whole output with the sequential reference.

A reordered sum is not the same sum, so the tolerance grows with the longest chain of updates; a lost or doubled
update is off by about 1/n of the result, which stays well outside of it for realistic n. Results that rounding
errors decide come with a tolerance of their own. `generator.rounding` defines both. Products of a lower precision have
one that `generator.precision` derives.
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
    """An estimate of the longest chain of updates of one element, from sizes alone. Of a template's kernel nothing else
    is known: it may fold its largest array into one element.

    A reduction usually runs along a dimension of an array or a parameter (time steps), or folds a large array
    into a smaller one; the greatest of these is taken. The tolerance goes with its square root, so that an
    estimate within a factor of ten is good enough.
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
    """None when all outputs agree, else what is wrong with the first array that differs.

    `length` is the longest chain of updates of one element (estimated when None). `rounding` holds, by array, the
    absolute differences that are allowed besides (`Reference.rounding`); where one is infinite everything passes.
    `products` is the relative difference that products of a lower precision explain (`Plan.rounded_products`); it
    says nothing of integers.
    A NaN is wrong wherever the reference has a number.
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
    """The relative tolerance of the elements of `array`; the rest as for `compare`."""
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
    """Where |got - expected| > absolute + relative * |expected|, or NaN where there was none."""
    wrong: NDArray[np.bool_] = ~np.isclose(got, expected, rtol=tolerance.relative, atol=tolerance.absolute,
                                           equal_nan=True)
    return wrong


def _far(expected: NDArray[Any], got: NDArray[Any], relative: float) -> NDArray[np.bool_]:
    """Where |got - expected| > relative * scale, or NaN where there was none."""
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(have - want) <= relative * scale(want)
    same = (have == want) | (np.isnan(have) & np.isnan(want))
    finite = np.isfinite(have) & np.isfinite(want)
    wrong: NDArray[np.bool_] = ~(same | (near & finite))
    return wrong


def _within(expected: NDArray[Any], got: NDArray[Any], allowed: NDArray[Any]) -> NDArray[np.bool_]:
    """Where |got - expected| is a number and at most `allowed`, or anything is."""
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(have) & (np.abs(have - want) <= allowed)
    result: NDArray[np.bool_] = (near & (allowed > 0)) | np.isposinf(allowed)
    return result
