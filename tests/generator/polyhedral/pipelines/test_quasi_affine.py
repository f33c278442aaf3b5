"""The linear part of functions with floors, and how far they are from it, beside all points of a box."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antune import halide as hl
from generator.frontend_py.problem import program_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.quasi_affine import linear_part

NUMBERS = st.integers(-4, 4)
LINEAR = st.builds("{}x + {}y + {}".format, NUMBERS, NUMBERS, NUMBERS)
FLOORS = st.recursive(
    LINEAR, lambda inner: st.builds("floor(({} + {}x)/{})".format, inner, NUMBERS, st.integers(2, 7)), max_leaves=2)


def aff(text: str) -> isl.Aff:
    """The only piece of a function of x and y."""
    [(_, found)] = isl.PwAff(f"{{ [x, y] -> [{text}] }}").get_pieces()
    return found


def value(function: isl.Aff, x: int, y: int) -> int:
    """Its value, by isl itself."""
    return int(str(isl.PwAff.from_aff(function).eval(isl.Set(f"{{ [{x}, {y}] }}").sample_point())))


def differences(function: isl.Aff, slopes: tuple[float, ...], count: int) -> list[float]:
    """How far it is from its linear part, in a box."""
    return [value(function, x, y) - slopes[0] * x - slopes[1] * y for x in range(count) for y in range(count)]


@settings(max_examples=30)
@given(first=FLOORS, second=FLOORS, factor=NUMBERS)
def test_functions_are_as_far_from_their_linear_part_as_said(first: str, second: str, factor: int) -> None:
    function = aff(f"{first} + {factor}*{second}")
    slopes, low, high = linear_part(function)
    found = differences(function, slopes, 9)
    assert low - 1e-9 <= min(found) and max(found) <= high + 1e-9


@pytest.mark.parametrize(("text", "slopes", "low", "high"), [
    ("x + 3", (1, 0), 3, 3),
    ("floor(x/2)", (0.5, 0), -0.5, 0),
    ("x mod 100", (0, 0), 0, 99),
    ("x mod 5000", (0, 0), 0, 4999),
    ("(x mod 2) + (y mod 2)", (0, 0), 0, 2),
    ("floor(x/2) - floor((x + 1)/2)", (0, 0), -1, 0),
    ("floor(x/100) + y", (0.01, 1), -0.99, 0),
    ("floor(x/49)", (1 / 49, 0), -48 / 49, 0),
    ("floor((floor(x/3) + y)/2)", (1 / 6, 0.5), -5 / 6, 0),
])
def test_the_range_is_exact(text: str, slopes: tuple[float, ...], low: float, high: float) -> None:
    found, *ends = linear_part(aff(text))
    assert found == pytest.approx(slopes) and ends == pytest.approx([low, high])


def test_a_table_that_is_read_in_turn_is_needed_completely() -> None:
    x = hl.Var("x")
    image, table, found = hl.ImageParam(hl.Float(32), 1, "image"), hl.Func("table"), hl.Func("found")
    table[x] = image[x] * 2.0
    found[x] = image[x] + table[x % 100]
    node = dataflow(program_of([found], (1000,), "turns")).node("found")
    assert node is not None
    [reach] = next(read.reach for read in node.reads if read.array == "table")
    assert (reach.slopes, reach.low, reach.high) == ((0.0,), 0.0, 99.0)
