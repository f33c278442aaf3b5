"""Generated loops that run other instances than asked for are refused."""

from __future__ import annotations

import islpy as isl
import pytest

from generator.errors import IllegalPlan
from generator.expr import Binary, Call, Cast, Expr, Int, Name, Select, Unary
from generator.linear import simplify
from generator.nest import For, If, Instance, Node
from generator.polyhedral.memory.coverage import check_instances, floors

# S0[i, j] for 0 <= i < 4, j in 0, 2, 4 runs in thread i
EXPECTED = isl.UnionMap("{ S0[i, j] -> [i] : 0 <= i < 4 and 0 <= j < 6 and j % 2 = 0 }")
BOUNDS = (("t0", 0, 3),)


# c is meant to be j
INNER = {"S0": {"c": isl.Map("{ S0[i, j] -> [j] }")}}


def loop(body: Node, end: Expr, step: int = 2) -> For:
    return For("c", Int(0), Binary("<", Name("c"), end), step, (body,))


def s0(i: Expr, j: Expr) -> Instance:
    return Instance("S0", (i, j))


T0, C = Name("t0"), Name("c")
RIGHT = loop(s0(T0, C), Int(6))


def test_right_loops() -> None:
    check_instances((RIGHT,), BOUNDS, EXPECTED)
    check_instances((Instance("enter_0", ()), RIGHT, Instance("leave_0", ())), BOUNDS, EXPECTED)
    halves = loop(s0(T0, Binary("*", Int(2), C)), Int(3), 1)
    check_instances((halves,), BOUNDS, EXPECTED)
    last = If(Binary("<", T0, Int(4)), (s0(T0, Int(4)),), (s0(T0, Int(2)),))
    check_instances((loop(s0(T0, C), Int(4)), last), BOUNDS, EXPECTED)
    check_instances((Instance("K0", ()),), (), isl.UnionMap("{ K0[] -> [] }"))


def test_right_loops_whose_iterators_are_known() -> None:
    check_instances((RIGHT,), BOUNDS, EXPECTED, inner=INNER)
    last = If(Binary("<", T0, Int(4)), (s0(T0, Int(4)),), (s0(T0, Int(2)),))
    check_instances((loop(s0(T0, C), Int(4)), last), BOUNDS, EXPECTED, inner=INNER)
    halves = loop(s0(T0, Binary("*", Int(2), C)), Int(3), 1)  # c is something else, which is right all the same
    check_instances((halves,), BOUNDS, EXPECTED, inner=INNER)


def test_two_statements_in_one_loop_at_different_points() -> None:
    expected = isl.UnionMap("{ S0[j] -> [] : 0 <= j < 5; S1[j] -> [] : 0 <= j < 5 }")
    inner = {name: {"c": isl.Map(f"{{ {name}[j] -> [j{shift}] }}")} for name, shift in (("S0", ""), ("S1", " + 1"))}
    first = If(Binary("<=", C, Int(4)), (Instance("S0", (C,)),))
    second = If(Binary(">=", C, Int(1)), (Instance("S1", (Binary("-", C, Int(1)),)),))
    check_instances((loop(first, Int(5), 1), loop(second, Int(6), 1)), (), expected, inner=inner)
    with pytest.raises(IllegalPlan, match="do not run what they should of S1"):
        check_instances((loop(first, Int(5), 1), loop(second, Int(5), 1)), (), expected, inner=inner)


def test_bounds_with_divisions_and_extremes_are_one_set() -> None:
    up = Binary("-", Binary("+", Unary("-", Binary("-", T0, Int(9))), Int(4)), Int(1))
    floor = Select(
        Binary("<", Binary("-", T0, Int(9)), Int(0)),
        Unary("-", Binary("/", simplify(up), Int(4))),
        Binary("/", Binary("-", T0, Int(9)), Int(4)),
    )
    start = Binary("max", Binary("max", floor, Binary("-", T0, Int(50))), Unary("-", Int(30)))
    nest = For("c", start, Binary("<", C, Binary("min", T0, Int(2))), 1, (s0(T0, C),))
    expected = (
        "{ S0[i, j] -> [i] : 0 <= i < 9 and j >= floor((i - 9)/4) and j >= i - 50 and j >= -30 and j < i and j < 2 }"
    )
    bounds = (("t0", 0, 8),)
    check_instances((nest,), bounds, isl.UnionMap(expected), inner=INNER)
    check_instances((nest,), bounds, isl.UnionMap(expected))
    for wrong in ("i - 8", "i - 10"):
        with pytest.raises(IllegalPlan, match="do not run what they should of S0"):
            check_instances((nest,), bounds, isl.UnionMap(expected.replace("i - 9", wrong)), inner=INNER)


def test_a_quotient_that_is_rounded_otherwise_is_no_floor() -> None:
    below = Binary("<", T0, Int(0))
    right = Select(below, Unary("-", Binary("/", Binary("+", Unary("-", T0), Int(3)), Int(4))), Binary("/", T0, Int(4)))
    assert floors(right) == Call("floor", (Binary("/", Cast("double", T0), Cast("double", Int(4))),))
    for wrong in (
        Select(below, Unary("-", Binary("/", Unary("-", T0), Int(4))), Binary("/", T0, Int(4))),
        Select(below, right.then, Binary("/", T0, Int(2))),
        Select(below, right.then, Binary("/", C, Int(4))),
    ):
        assert floors(wrong) == wrong


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((loop(s0(T0, C), Int(4)),), "do not run what they should of S0"),
        ((loop(s0(T0, C), Int(6), 1),), "do not run what they should of S0"),
        ((), "do not run what they should of S0"),
        ((loop(s0(Binary("%", Binary("+", T0, Int(1)), Int(4)), C), Int(6)),), "do not run what they should of S0"),
        ((If(Binary(">", T0, Int(0)), (RIGHT,)),), "do not run what they should of S0"),
        ((RIGHT, s0(T0, Int(2))), "run an instance of S0 twice"),
        ((loop(s0(T0, Binary("%", C, Int(6))), Int(12)),), "run an instance of S0 twice"),
        ((loop(s0(Binary("/", T0, Int(2)), C), Int(6)),), "run an instance of S0 twice"),
    ],
)
def test_wrong_loops(nodes: tuple[Node, ...], message: str) -> None:
    for inner in (None, INNER):
        with pytest.raises(IllegalPlan, match=message):
            check_instances(nodes, BOUNDS, EXPECTED, inner=inner)
