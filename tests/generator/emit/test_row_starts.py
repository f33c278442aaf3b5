"""Local arrays are addressed from the start of their row where Intel's compiler needs it; the elements are the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antune import halide as hl
from generator.emit.row_starts import LEAST, from_row_start
from generator.expr import Binary, Cast, Expr, Int, Load, Name, Unary, evaluate
from generator.frontend_py.problem import program_of
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.suite import TARGET

I, J = Name("i"), Name("j")


def times(left: Expr, length: int) -> Expr:
    return Binary("*", left, Int(length))


def plus(*terms: Expr) -> Expr:
    total, *rest = terms
    for term in rest:
        total = Binary("+", total, term)
    return total


@given(
    length=st.sampled_from([1, 3, 31, 32, 48, 64, 512, 1536]),
    terms=st.lists(st.sampled_from([J, Int(3), times(J, 2), Unary("-", J)]), min_size=1, max_size=3),
    minus=st.booleans(),
    i=st.integers(0, 9),
    j=st.integers(0, 9),
)
def test_the_element_is_the_same(length: int, terms: list[Expr], minus: bool, i: int, j: int) -> None:
    index = plus(times(Binary("&", I, Int(3)), length), *terms)
    index = Binary("-", index, J) if minus else index
    found = from_row_start(index)
    assert (found is not None) == (length in (32, 64, 512))
    if found is not None:
        start, position = found
        known = {"i": i, "j": j}
        assert start == times(Binary("&", I, Int(3)), length)
        assert evaluate(start, known) + evaluate(position, known) == evaluate(index, known)


@pytest.mark.parametrize("index", [J, times(J, 512), plus(J, times(I, 512)), plus(times(I, LEAST // 2), J)])
def test_others_stay_as_they_are(index: Expr) -> None:
    assert from_row_start(index) is None


@pytest.mark.parametrize("part", [Load("b", (I, J)), Name("u", "unsigned int"), Cast("unsigned int", J)],
                         ids=["an element", "a scalar", "converted"])
def test_what_may_be_unsigned_wraps_as_a_whole(part: Expr) -> None:
    """`(a + i * 32)[j - u]` is beyond the row where `a[i * 32 + j - u]` is in it."""
    assert from_row_start(Binary("-", plus(times(I, 32), J), part)) is None
    assert from_row_start(plus(times(part, 32), J)) is None


def blurred() -> Program:
    """A blur along x, then along y: rows of the first have exactly the width of a tile."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    across, out = hl.Func("across"), hl.Func("out")
    across[x, y] = image[x, y] + image[x + 1, y]
    out[x, y] = across[x, y] + across[x, y + 1]
    return program_of([out], [128, 9])


@pytest.mark.parametrize(("intel", "threads"), [(True, 1), (True, 2), (False, 1)],
                         ids=["alone", "several threads", "another compiler"])
def test_only_where_a_thread_of_intels_runtime_is_alone(intel: bool, threads: int) -> None:
    program = blurred()
    names = tuple(sorted(one.name for one in program.statements))
    plan = Plan(Stages((("across", "block"),)), (KernelPlan(names, (4, 64), (1, threads)),))
    source = lower(program, plan, replace(TARGET, intel_cpu=intel)).source
    assert "across_here" in source
    assert ("(across_here + e0 * 64)[e1] =" in source) == (intel and threads == 1)
