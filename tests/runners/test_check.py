"""The comparison with the reference: what passes, what does not, what the message says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from generator.chains import longest_chain
from generator.contract import Tolerance
from generator.program import Array, Program
from generator.rounding import relative_tolerance
from generator.templates.template import Template
from runners.check import compare
from runners.data import garbage, initial_values, scalar_arguments
from tests.support.runners import scale_problem, scale_program


def program_of(*arrays: Array) -> Program:
    return Program("p", "p.c", arrays, (), "", (), ())


def difference(type_name: str, expected: NDArray[Any], got: NDArray[Any], length: int = 1) -> str | None:
    program = program_of(Array("A", type_name, expected.shape, "inout"))  # type: ignore[arg-type]  # by parameter
    return compare(program, {"A": expected}, {"A": got}, length)


def test_equal_arrays_agree() -> None:
    values = np.array([[0.0, -1.5], [np.inf, 1e30]], np.float32)
    assert difference("float", values, values.copy()) is None


def test_products_of_a_lower_precision_say_nothing_of_integers() -> None:
    whole = np.arange(1000, 2000, dtype=np.int32)
    for kind, values, right in (("int", whole, False), ("float", whole.astype(np.float32), True)):
        program = program_of(Array("A", kind, values.shape, "inout"))  # type: ignore[arg-type]  # by loop
        message = compare(program, {"A": values}, {"A": values + values.dtype.type(7)}, 1, products=2**-7)
        assert (message is None) is right


def test_the_message_names_array_place_and_numbers() -> None:
    expected = np.ones((4, 5), np.float32)
    got = expected.copy()
    got[2, 3], got[3, 0] = 2.0, 7.0
    message = difference("float", expected, got)
    assert message is not None
    assert message.startswith("A[2][3] is 2.0, expected 1.0; 2 of 20 elements are wrong")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.01])
def test_a_single_bad_element_is_found(bad: float) -> None:
    expected = np.linspace(1, 2, 1000)
    got = expected.copy()
    got[999] = bad
    assert difference("double", expected, got) is not None


def test_a_nan_of_the_reference_must_be_met_by_a_nan() -> None:
    expected = np.array([1.0, np.nan])
    assert difference("double", expected, np.array([1.0, np.nan])) is None
    assert difference("double", expected, np.array([1.0, 1.0])) is not None


def test_infinities_must_have_the_same_sign() -> None:
    assert difference("double", np.array([np.inf]), np.array([-np.inf])) is not None


def test_integers_must_be_equal() -> None:
    expected = np.array([1_000_000_000, 5], np.int32)
    assert difference("int", expected, expected + np.array([1, 0], np.int32), length=10**6) is not None
    assert difference("int", expected, expected.copy()) is None


@pytest.mark.parametrize(("type_name", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("length", [10, 1000, 100_000])
def test_a_reordered_sum_passes_and_a_lost_update_does_not(type_name: str, dtype: Any, length: int) -> None:
    rng = np.random.default_rng(length)
    terms = rng.uniform(0.5, 1.5, (8, length)).astype(dtype)
    expected = np.cumsum(terms, axis=1, dtype=dtype)[:, -1]
    backwards = np.cumsum(terms[:, ::-1], axis=1, dtype=dtype)[:, -1]
    assert difference(type_name, expected, backwards, length) is None
    if type_name == "double" or length <= 1000:
        lost = np.cumsum(terms[:, 1:], axis=1, dtype=dtype)[:, -1]
        assert difference(type_name, expected, lost, length) is not None


def test_small_elements_are_judged_by_their_peers() -> None:
    expected = np.array([1.0, 1e-9], np.float32)  # 1e-9 is what cancellation left of numbers around 1
    assert difference("float", expected, np.array([1.0, -2e-8], np.float32)) is None


def test_a_few_huge_elements_hide_no_errors_in_the_others() -> None:
    expected = np.ones(1000, np.float32)
    expected[:3] = 1e9
    got = expected.copy()
    got[500] = 1.01
    assert difference("float", expected, got, 1000) is not None


def test_zeros_are_no_peers() -> None:
    expected = np.zeros(1000, np.float32)
    expected[:10] = 1.0
    expected[10] = 1e-9  # what cancellation left of numbers around 1
    assert difference("float", expected, expected - np.float32(3e-8) * (expected == np.float32(1e-9))) is None


def test_huge_values_do_not_make_everything_equal() -> None:
    expected = np.full(10, 1e200)
    assert difference("double", expected, expected * 1.001) is not None


def test_the_tolerance_grows_and_is_bounded() -> None:
    values = [relative_tolerance("float", length) for length in (1, 100, 10_000, 10**12)]
    assert values == sorted(values) and values[-1] <= 0.01
    assert relative_tolerance("int", 100) == 0
    assert relative_tolerance("double", 100) < relative_tolerance("float", 1)


def test_the_longest_chain_is_estimated_from_sizes() -> None:
    assert longest_chain(scale_program(500)) == 500
    assert longest_chain(program_of()) == 1


def test_scalars_compare_too() -> None:
    program = program_of(Array("s", "double", (), "inout"))
    message = compare(program, {"s": np.array(1.0)}, {"s": np.array(2.0)})
    assert message is not None and message.startswith("s is 2.0, expected 1.0")


def test_poisoned_elements_hold_garbage_before_a_run() -> None:
    problem = scale_problem(64)
    values = initial_values(problem)
    assert np.isnan(values["B"]).all() and not np.isnan(values["A"]).any()
    assert not np.isnan(problem.reference.inputs["B"]).any()


@pytest.mark.parametrize("type_name", ["int", "unsigned char", "long", "float", "double"])
def test_garbage_fits_its_type(type_name: Any) -> None:
    value = garbage(Array("A", type_name, (), "temp"))
    assert np.isnan(value) if value.dtype.kind == "f" else int(value) % 2 == 1


def test_scalars_by_value_have_their_type() -> None:
    problem = scale_problem(64)
    scalars = scalar_arguments(problem, initial_values(problem))
    assert scalars.keys() == {"a"} and scalars["a"].dtype == np.float32 and scalars["a"] == 3.0


def test_rounding_errors_allow_more_where_they_were_found() -> None:
    program = program_of(Array("A", "double", (4,), "inout"))
    expected = np.ones(4)
    rounding = {"A": np.array([0.0, 0.5, np.inf, 0.5])}

    def check(*got: float) -> str | None:
        return compare(program, {"A": expected}, {"A": np.array(got)}, 1, rounding)

    assert check(1, 1.4, np.nan, 0.6) is None
    assert check(1.4, 1, 1, 1) is not None
    message = check(1, 1, 1, 1.6)
    assert message is not None and "5.0e-01 for rounding errors here" in message
    assert check(1, np.nan, 1, 1) is not None and check(1, np.inf, 1, 1) is not None


def test_integers_that_depend_on_rounding() -> None:
    program = program_of(Array("k", "int", (3,), "inout"))
    expected, rounding = np.array([5, 5, 5], np.int32), {"k": np.array([0.0, 16.0, 0.0])}
    assert compare(program, {"k": expected}, {"k": np.array([5, 9, 5], np.int32)}, 1, rounding) is None
    assert compare(program, {"k": expected}, {"k": np.array([5, 5, 6], np.int32)}, 1, rounding) is not None


@pytest.mark.parametrize(("absolute", "right"), [(0.0, False), (2.0, False), (3.0, True)])
def test_a_tolerance_of_large_integers_is_exact(absolute: float, right: bool) -> None:
    """Doubles of both numbers are equal."""
    array = Array("k", "long", (2,), "inout")
    template = Template("t", "t.cl", "opencl", "t", "", (), (), (array,), (), (), tolerance=Tolerance(0.0, absolute))
    expected = np.array([2**62, 2**62])
    assert (compare(template, {"k": expected}, {"k": expected + np.array([0, 3])}) is None) is right
