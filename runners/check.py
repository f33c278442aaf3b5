"""Compares a variant's whole output with the sequential reference.

Reordering a sum changes its rounding, so the tolerance grows with the longest chain of updates. A lost or doubled
update changes the result by about 1/n, which is far outside the tolerance for realistic n. Results that depend on
rounding errors have a tolerance of their own. `generator.rounding` defines both, `generator.precision` that of products
of lower precision.

Arrays are compared in blocks that fit in a core's caches. Most blocks are equal, or agree by the part of the tolerance
that depends on the element alone; only the others need the size of a usual element, which takes several passes over the
whole array and is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.arithmetic import REAL
from generator.chains import longest_chain
from generator.contract import Array, Tolerance
from generator.distances import near
from generator.problem import Subject
from generator.rounding import relative_tolerance, usual_size, within
from runners.memory import same_bytes

BLOCK = 2**14
"""The number of elements that are compared at once."""


class Comparison:
    """Compares the outputs of many runs with one reference; what it computes from the reference alone is kept."""

    def __init__(self, subject: Subject, expected: Mapping[str, NDArray[Any]], length: int | None = None,
                 rounding: Mapping[str, NDArray[Any]] | None = None) -> None:
        """`expected`: the reference's outputs; the rest is as for `compare`. The arrays must not change later."""
        self._chain = longest_chain(subject) if length is None else length
        self._tolerance = subject.contract.tolerance
        allowed = rounding or {}
        self._outputs = [_Output(array, _row(array, expected), _row(array, allowed) if array.name in allowed else None)
                         for array in subject.contract.outputs]

    def difference(self, got: Mapping[str, NDArray[Any]], products: float = 0.0) -> str | None:
        """Return None if all outputs agree, else a message about the first array that differs; see `compare`."""
        for output in self._outputs:
            usual = usual_tolerance(output.array, self._chain, products)
            message = _difference(output, _row(output.array, got), usual, self._tolerance)
            if message:
                return message
        return None


def compare(subject: Subject, expected: Mapping[str, NDArray[Any]], got: Mapping[str, NDArray[Any]],
            length: int | None = None, rounding: Mapping[str, NDArray[Any]] | None = None,
            products: float = 0.0) -> str | None:
    """Return None if all outputs agree, else a message about the first array that differs.

    `length`: the longest chain of updates of one element (None: estimated). `rounding`: by array, additional allowed
    absolute differences per element (`generator.rounding.within`); inf allows every value. `products`: the relative
    difference allowed for products of lower precision (`Plan.rounded_products`); not used for integers. A NaN is wrong
    unless the reference has one, too.
    """
    return Comparison(subject, expected, length, rounding).difference(got, products)


def usual_tolerance(array: Array, length: int, products: float) -> float:
    """Return the relative tolerance of the elements of `array`. `length`, `products`: see `compare`."""
    usual = relative_tolerance(array.type, length)
    return max(usual, products) if array.type in REAL else usual


@dataclass(frozen=True)
class _Output:
    """An array of the reference, its elements in one row. `allowed`: the additional differences, None for none."""

    array: Array
    expected: NDArray[Any]
    allowed: NDArray[Any] | None

    @cached_property
    def usual(self) -> float:
        """The size of a usual element (`generator.rounding.scale`)."""
        return usual_size(self.expected)


def _row(array: Array, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the elements of an array in one row, contiguous; a copy only if they are not so already."""
    return np.ascontiguousarray(values[array.name].reshape(array.extents)).reshape(-1)


def _difference(output: _Output, got: NDArray[Any], usual: float, tolerance: Tolerance | None) -> str | None:
    relative = usual if tolerance is None else tolerance.relative
    wrong = _wrong(output, got, relative, tolerance)
    if not wrong:
        return None
    first, count = min(wrong), sum(wrong.values())
    place = "".join(f"[{index}]" for index in np.unravel_index(first, output.array.extents))
    allowed = 0.0 if output.allowed is None else output.allowed[first]
    rounding = f", {abs(allowed):.1e} for rounding errors here" if allowed else ""
    rounding += f", absolute {tolerance.absolute:.1e}" if tolerance is not None else ""
    return (f"{output.array.name}{place} is {got[first]}, expected {output.expected[first]}; {count} of {got.size} "
            f"elements are wrong (relative tolerance {relative:.1e}{rounding})")


def _wrong(output: _Output, got: NDArray[Any], relative: float, tolerance: Tolerance | None) -> dict[int, int]:
    """Return the number of wrong elements of each block that has any, by the position of the first of them."""
    found: dict[int, int] = {}
    for begin in range(0, got.size, BLOCK):
        part = slice(begin, begin + BLOCK)
        want, have = output.expected[part], got[part]
        if tolerance is None and relative == 0:
            wrong: NDArray[np.bool_] = want != have
        elif _same_bits(want, have) or (tolerance is None and _near(want, have, relative)):
            continue
        elif tolerance is None:
            wrong = _far(want, have, relative, output.usual)
        else:
            wrong = _farther(want, have, tolerance)
        if wrong.any() and output.allowed is not None:
            wrong &= ~within(want, have, output.allowed[part])
        if count := int(np.count_nonzero(wrong)):
            found[begin + int(np.argmax(wrong))] = count
    return found


def _same_bits(expected: NDArray[Any], got: NDArray[Any]) -> bool:
    return expected.dtype == got.dtype and same_bytes(expected, got)


def _near(expected: NDArray[Any], got: NDArray[Any], relative: float) -> bool:
    """Return whether all elements are finite and |got - expected| <= relative * |expected|; then none is far."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance: NDArray[np.float64] = np.subtract(got, expected, dtype=np.float64)
        np.abs(distance, out=distance)
        allowed: NDArray[np.float64] = np.abs(expected, dtype=np.float64)
        allowed *= relative
        return bool((distance <= allowed).all()) and float(distance.max()) < inf


def _farther(expected: NDArray[Any], got: NDArray[Any], tolerance: Tolerance) -> NDArray[np.bool_]:
    """Return where |got - expected| > absolute + relative * |expected|, or only one of the two is NaN."""
    if expected.dtype.kind in "iu":
        return ~near(expected, got, tolerance.absolute + tolerance.relative * np.abs(expected.astype(np.float64)))
    wrong: NDArray[np.bool_] = ~np.isclose(got, expected, rtol=tolerance.relative, atol=tolerance.absolute,
                                           equal_nan=True)
    return wrong


def _far(expected: NDArray[Any], got: NDArray[Any], relative: float, usual: float) -> NDArray[np.bool_]:
    """Return where |got - expected| > relative * (|expected| + usual), or only one of the two is NaN."""
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(have - want) <= relative * (np.abs(want) + usual)
    same = (have == want) | (np.isnan(have) & np.isnan(want))
    finite = np.isfinite(have) & np.isfinite(want)
    wrong: NDArray[np.bool_] = ~(same | (close & finite))
    return wrong
