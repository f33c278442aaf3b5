"""Loops over the elements of two stages become one loop only where their order does not matter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.emit.merged import MOST_WRITTEN, with_merged_loops
from generator.expr import Binary, Expr, Int, Load, Name
from generator.lowering import lower
from generator.lowering.heuristics.starts import start_plans
from generator.nest import Assign, Barrier, Declare, For, If, Node
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from graph.stage_openings import openings
from tests.support.suite import small_problem
from tests.support.targets import CPU

X, END = Name("x"), Int(64)


def element(array: str, index: Expr = X) -> Load:
    return Load(array, (index,))


def put(target: str, source: str, at: Expr = X, op: str = "") -> Assign:
    return Assign(element(target), op, element(source, at))


def loop(*body: Node, end: Expr = END, iterator: str = "x", note: str = "") -> For:
    return For(iterator, Int(0), Binary("<", Name(iterator), end), 1, body, note)


def test_loops_that_read_the_same_array_are_one() -> None:
    one, other = loop(put("ix", "gray"), note="ix"), loop(put("iy", "gray", Binary("+", X, Int(1))), note="iy")
    both = loop(*one.body, *other.body, note="ix; iy")
    assert with_merged_loops((one, other)) == (both,)
    third = loop(put("iz", "gray"))
    assert with_merged_loops((If(Binary("<", Name("b"), Int(3)), (one, other, third)),)) == (
        If(Binary("<", Name("b"), Int(3)), (replace(both, body=(*both.body, *third.body)),)),)


def test_loops_inside_are_merged_too() -> None:
    rows = [loop(loop(put(name, "gray")), iterator="y") for name in ("ix", "iy")]
    assert with_merged_loops(rows) == (loop(loop(put("ix", "gray"), put("iy", "gray")), iterator="y"),)


FIRST = put("ix", "gray")


@pytest.mark.parametrize(
    "second",
    [
        loop(put("iy", "ix"), put("iz", "gray")),
        loop(put("gray", "other"), put("iz", "gray")),
        loop(put("ix", "gray", Binary("+", X, Int(1)))),
        loop(put("ix", "gray", op="+")),
        loop(Assign(element("iy", element("ix")), "", element("gray"))),
        loop(If(Binary("<", element("ix"), Int(0)), (put("iy", "gray"),))),
        loop(loop(put("iy", "gray"), end=element("ix"), iterator="y")),
        loop(put("iy", "gray"), Barrier()),
        loop(put("iy", "other")),
        loop(put("iy", "gray"), end=Int(65)),
        replace(loop(put("iy", "gray")), step=2),
        replace(loop(put("iy", "gray")), unroll=4),
        put("iy", "gray"),
    ],
    ids=["reads what the first writes", "writes what the first reads", "writes the same", "adds to the same",
         "in a subscript", "in a condition", "as a bound", "a barrier", "nothing in common", "other bounds",
         "other steps", "another mark", "no loop"],
)
def test_other_loops_stay(second: Node) -> None:
    assert with_merged_loops((loop(FIRST), second)) == (loop(FIRST), second)


def test_bounds_must_not_change() -> None:
    loops = (loop(put("n", "gray"), end=element("n", Int(0))), loop(put("iy", "gray"), end=element("n", Int(0))))
    assert with_merged_loops(loops) == loops
    counted = (loop(Assign(Load("n", ()), "", element("gray")), end=Name("n")), loop(put("iy", "gray"), end=Name("n")))
    assert with_merged_loops(counted) == counted


def test_variables_must_not_hide_others() -> None:
    """`v` of the second loop is a parameter; in one loop it would be the variable of the first."""
    own = loop(Declare("v", "float", ()), Assign(Load("v", ()), "", element("gray")),
               Assign(element("ix"), "", Load("v", ())))
    outer = loop(Assign(element("iy"), "", Binary("*", element("gray"), Load("v", ()))))
    assert with_merged_loops((own, outer)) == (own, outer)
    assert with_merged_loops((own, replace(own, body=own.body[:2]))) == (own, replace(own, body=own.body[:2]))


def test_few_arrays_are_written_together() -> None:
    loops = [loop(put(f"out{number}", "gray")) for number in range(MOST_WRITTEN + 1)]
    assert [len(node.body) for node in with_merged_loops(loops) if isinstance(node, For)] == [MOST_WRITTEN, 1]


def test_derivatives_of_harris_share_a_loop_on_intels_runtime() -> None:
    """Both boxes have 6 rows per step; that of `gray` has 8."""
    program, intel = small_problem(pipeline("harris"))[0].program, replace(CPU, intel_cpu=True)
    plan = start_plans(program, intel, openings(stage_facts(program), intel, computed_arrays(program))[2])[0]
    merged, apart = (lower(program, plan, target).source for target in (intel, CPU))
    assert apart.count("what is new of") == merged.count("what is new of") == 3
    assert merged.count("this thread computes what is new of ix_here (") == 1
    assert [line.count("what is new of") for line in merged.splitlines() if "what is new of" in line] == [1, 2]
