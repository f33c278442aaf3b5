"""Features of the language one by one: as numpy says, in C as in the interpreter, and as Halide's own package has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from numpy.typing import NDArray

from tests.support import definitions as cases
from tests.support.halide_wheel import Case, agree, as_in_c, as_in_halide
from tests.support.slow import few

Expected = Callable[[], list[NDArray[Any]]]
WITH_NUMPY: list[tuple[Case, Expected]] = [
    (cases.implicit_vars, cases.expected_implicit_vars),
    (cases.several_outputs, cases.expected_several_outputs),
    (cases.undefined_values, cases.expected_undefined_values),
    (cases.declared_types, cases.expected_declared_types),
    (cases.ranges_of_funcs, cases.expected_ranges_of_funcs),
    (cases.bits, cases.expected_bits),
    (cases.same_bits, cases.expected_same_bits),
    (cases.halves, cases.expected_halves),
    (cases.generator_class, cases.expected_generator_class),
    (cases.buffer_parts, cases.expected_buffer_parts),
    (cases.short_forms, cases.expected_short_forms),
    (cases.plain_generators, cases.expected_plain_generators),
]
ALL = [*(case for case, _ in WITH_NUMPY), cases.integer_lerp, cases.shifts, cases.buffers_in_place]


@pytest.mark.parametrize(("case", "expected"), few(WITH_NUMPY, 7))
def test_it_is_what_numpy_says(case: Case, expected: Expected) -> None:
    agree(as_in_c(case), expected())


@pytest.mark.parametrize("case", ALL)
def test_halide_has_the_same(case: Case) -> None:
    as_in_halide(case)


@pytest.mark.slow
def test_integers_are_blended_in_c_as_in_the_interpreter() -> None:
    as_in_c(cases.integer_lerp)


@pytest.mark.slow
def test_shifts_are_in_c_as_in_the_interpreter() -> None:
    as_in_c(cases.shifts)
