"""Generated loops that run other instances than asked for are refused."""

from __future__ import annotations

import islpy as isl
import pytest

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Name
from generator.nest import For, If, Instance, Node
from generator.polyhedral.memory.coverage import check_instances

# S0[i, j] for 0 <= i < 4, j in 0, 2, 4 runs in thread i
EXPECTED = isl.UnionMap("{ S0[i, j] -> [i] : 0 <= i < 4 and 0 <= j < 6 and j % 2 = 0 }")
BOUNDS = (("t0", 0, 3),)


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


@pytest.mark.parametrize(("nodes", "message"), [
    ((loop(s0(T0, C), Int(4)),), "do not run what they should of S0"),
    ((loop(s0(T0, C), Int(6), 1),), "do not run what they should of S0"),
    ((), "do not run what they should of S0"),
    ((loop(s0(Binary("%", Binary("+", T0, Int(1)), Int(4)), C), Int(6)),), "do not run what they should of S0"),
    ((If(Binary(">", T0, Int(0)), (RIGHT,)),), "do not run what they should of S0"),
    ((RIGHT, s0(T0, Int(2))), "run an instance of S0 twice"),
    ((loop(s0(T0, Binary("%", C, Int(6))), Int(12)),), "run an instance of S0 twice"),
    ((loop(s0(Binary("/", T0, Int(2)), C), Int(6)),), "run an instance of S0 twice"),
])
def test_wrong_loops(nodes: tuple[Node, ...], message: str) -> None:
    with pytest.raises(IllegalPlan, match=message):
        check_instances(nodes, BOUNDS, EXPECTED)
