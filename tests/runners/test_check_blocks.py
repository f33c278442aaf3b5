"""The comparison in blocks says what the comparison of whole arrays says, which is written out here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from generator.contract import NUMPY_TYPES, Array, Tolerance
from generator.program import Program
from generator.rounding import scale
from generator.templates.template import Template
from runners import check
from runners.check import Comparison, usual_tolerance

FINITE = [0.0, -0.0, 1.0, -1.0, 1.0000001, 0.9999, 3.0, 1e-30, 6e-8, 1e-4]
REALS = [*FINITE, 1e38, -3e38, np.inf, -np.inf, np.nan]
ALLOWED = [0.0, 0.0, 1e-3, 2.0, np.inf, np.nan]


def whole(array: Array, expected: NDArray[Any], got: NDArray[Any], length: int, allowed: NDArray[Any],
          tolerance: Tolerance | None, products: float) -> str | None:
    """The definition: one formula over all elements."""
    relative = usual_tolerance(array, length, products) if tolerance is None else tolerance.relative
    want, have = expected.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(have - want)
        if tolerance is not None:
            wrong = ~np.isclose(got, expected, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)
        elif relative == 0:
            wrong = expected != got
        else:
            near = (distance <= relative * scale(want)) & np.isfinite(have) & np.isfinite(want)
            wrong = ~((have == want) | (np.isnan(have) & np.isnan(want)) | near)
        wrong &= ~((np.isfinite(have) & (distance <= allowed) & (allowed > 0)) | np.isposinf(allowed))
    if not (count := int(np.count_nonzero(wrong))):
        return None
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = "".join(f"[{index}]" for index in first)
    note = f", {allowed[first]:.1e} for rounding errors here" if allowed[first] else ""
    note += f", absolute {tolerance.absolute:.1e}" if tolerance is not None else ""
    return (f"{array.name}{place} is {got[first]}, expected {expected[first]}; {count} of {wrong.size} elements "
            f"are wrong (relative tolerance {relative:.1e}{note})")


def subject_of(array: Array, tolerance: Tolerance | None) -> Program | Template:
    if tolerance is None:
        return Program("p", "p.c", (array,), (), "", (), ())
    return Template("t", "t.py", "opencl", "t", "", (), (), (array,), ("1",), ("1",), tolerance=tolerance)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, NDArray[Any], NDArray[Any], NDArray[Any] | None, Tolerance | None, float]:
    kind: Any = draw(st.sampled_from(["float", "double", "half", "int", "long"]))
    shape = tuple(draw(st.lists(st.integers(1, 7), max_size=3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = np.dtype(NUMPY_TYPES[kind])
    pool = np.array(draw(st.sampled_from([FINITE, REALS])) if dtype.kind == "f" else [0, 1, 5, 2**30], np.float64)
    with np.errstate(over="ignore"):
        expected = rng.choice(pool, shape).astype(dtype)
        got = np.array(expected)
        for _ in range(draw(st.integers(0, 3))):
            place = tuple(rng.integers(0, extent) for extent in shape)
            change = draw(st.sampled_from([1e-7, 1e-5, 1e-3, 0.5, None]))
            value = expected[place] * (1 + change) if change is not None else rng.choice(pool)
            got[place] = np.asarray(value).astype(dtype)
    allowed = rng.choice(ALLOWED, shape) if draw(st.booleans()) else None
    tolerance = draw(st.sampled_from([None, None, Tolerance(0.0, 0.0), Tolerance(1e-4, 1e-6)]))
    return Array("A", kind, shape, "inout"), expected, got, allowed, tolerance, draw(st.sampled_from([0.0, 2**-7]))


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(1, 10**6))
def test_blocks_give_the_verdict_and_the_message_of_the_whole(case: Any, length: int) -> None:
    array, expected, got, allowed, tolerance, products = case
    rounding = None if allowed is None else {"A": allowed}
    none = np.zeros(array.extents) if allowed is None else np.asarray(allowed)
    want = whole(array, expected, got, length, none, tolerance, products)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "BLOCK", 4)
        comparison = Comparison(subject_of(array, tolerance), {"A": expected}, length, rounding)
        assert comparison.difference({"A": got}, products) == want
        assert comparison.difference({"A": expected.copy()}, products) is None or not np.isfinite(expected).all()
        assert comparison.difference({"A": got}, products) == want  # it keeps nothing of a run


def test_an_error_in_the_last_block_is_counted_with_those_of_the_first() -> None:
    size = 3 * check.BLOCK + 5
    expected = np.linspace(-1, 1, size, dtype=np.float32)
    got = expected * np.float32(1 + 1e-6)
    got[[7, size - 1]] = 3
    array = Array("A", "float", (size,), "inout")
    message = Comparison(subject_of(array, None), {"A": expected}, 100).difference({"A": got})
    assert message is not None and message.startswith("A[7] is 3.0") and f"2 of {size} elements" in message


def test_arrays_in_another_order_of_memory_are_compared_by_element() -> None:
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = Array("A", "float", (3, 4), "inout")
    comparison = Comparison(subject_of(array, None), {"A": expected}, 1)
    assert comparison.difference({"A": np.asfortranarray(expected)}) is None
    assert comparison.difference({"A": np.asfortranarray(expected[:, ::-1])}) is not None
