"""Loops in pairs of iterations do what they did, and know which of the two elements is even."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.emit.phases import LEAST_TRIPS, in_phases
from generator.expr import Binary, Expr, Int, Load, Name, Select, evaluate, map_children, names_of, parts
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node, Note, expressions, walk
from tests.support.slow import in_turn

X, Y, B = Name("x"), Name("y"), Name("b0")
ZERO, TWO, END = Int(0), Int(2), Int(63)
BLOCKS = 3


def plus(left: Expr, right: Expr | int) -> Expr:
    return Binary("+", left, Int(right) if isinstance(right, int) else right)


def times(factor: int, name: Expr) -> Expr:
    return Binary("*", Int(factor), name)


def even(expr: Expr, op: str = "==") -> Expr:
    return Binary(op, Binary("%", expr, TWO), ZERO)


def half(expr: Expr) -> Expr:
    return Binary("/", expr, TWO)


def store(value: Expr, at: Expr = X) -> Assign:
    return Assign(Load("out", (at,)), "", value)


def loop(*body: Node, last: Expr = END, start: Expr = ZERO, iterator: str = "x") -> For:
    return For(iterator, start, Binary("<=", Name(iterator), last), 1, body)


def kernel(*body: Node) -> LoweredKernel:
    return LoweredKernel(("S0",), ("",), (), (), (), (1,), (BLOCKS,), body)


def paired(*body: Node) -> tuple[Node, ...]:
    return in_phases(kernel(*body), body)


MOSAIC = Select(even(X), Load("even", (half(X),)), Load("odd", (half(X),)))


def known(expr: Expr, names: dict[str, int]) -> Expr:
    """Return `expr` with numbers in place of variables and elements, which are different for different subscripts."""
    match expr:
        case Load(name, ()):
            return Int(names[name])
        case Load(array, index):
            place = [evaluate(known(one, names), names) for one in index]
            return Int(sum(1000**d * one for d, one in enumerate(place)) * 10 + len(array))
        case _:
            return map_children(expr, lambda child: known(child, names))


def run(nodes: tuple[Node, ...], names: dict[str, int]) -> Iterator[tuple[object, ...]]:
    """Yield the subscripts and values of the stores, in order of execution."""
    for node in nodes:
        match node:
            case For(iterator, start, condition, step, body):
                value = evaluate(known(start, names), names)
                while evaluate(known(condition, names), {**names, iterator: value}):
                    yield from run(body, {**names, iterator: value})
                    value += step
            case If(condition, then, otherwise):
                yield from run(then if evaluate(known(condition, names), names) else otherwise, dict(names))
            case Assign(Load("out", index), "", value):
                found = *index, value
                yield tuple(evaluate(known(one, names), names) for one in found)
            case Assign(Load(variable, ()), "", value):
                names[variable] = evaluate(known(value, names), names)
            case Declare() | Note():
                pass
            case _:
                raise AssertionError(f"these loops have no {node}")


def assert_same(nodes: tuple[Node, ...], new: tuple[Node, ...]) -> None:
    for block in range(BLOCKS):
        assert list(run(new, {"b0": block})) == list(run(nodes, {"b0": block}))


def divisions(nodes: tuple[Node, ...]) -> int:
    """Return the number of divisions inside of innermost loops that depend on their iterators, and of conditions."""
    loops = [node for node in walk(nodes) if isinstance(node, For)
             and not any(isinstance(inner, For) for inner in walk(node.body))]
    every = [part for one in loops for node in walk(one.body) for expr in expressions(node) for part in parts(expr)
             if isinstance(part, Select) or (isinstance(part, Binary) and part.op in "/%&"
                                             and one.iterator in names_of(part))]
    return len(every)


def test_even_and_odd_elements_are_computed_without_conditions() -> None:
    (pairs,) = paired(loop(store(MOSAIC)))
    pair = Name("x_pair")
    assert pairs == For("x_pair", ZERO, Binary("<", pair, Int(32)), 1,
                        (store(Load("even", (pair,)), times(2, pair)),
                         store(Load("odd", (pair,)), plus(times(2, pair), 1))))


def test_the_parity_of_a_row_is_tested_before_the_loop() -> None:
    rows = loop(loop(store(Select(even(Y), MOSAIC, Load("gray", (X,))), plus(times(64, Y), X))), iterator="y")
    new = paired(rows)
    assert_same((rows,), new)
    assert divisions(new) == 0
    (outer,) = new
    assert isinstance(outer, For) and [type(node) for node in outer.body] == [If]


def test_variables_of_the_second_element_have_other_names() -> None:
    body = (Declare("site", "short", ()), Assign(Load("site"), "", MOSAIC), store(Load("site")))
    (pairs,) = new = paired(loop(*body, last=Int(64)))[:1]
    assert [node.name for node in walk(new) if isinstance(node, Declare)] == ["site", "site_next"]
    assert_same((loop(*body, last=Int(64)),), paired(loop(*body, last=Int(64))))
    assert isinstance(pairs, For)


def test_variables_that_iterations_assign_stay_in_their_iteration() -> None:
    """`k` is assigned once in the text, but anew in each iteration, and its double is even."""
    k = Load("k")
    body = (Declare("k", "int", ()), Assign(k, "", half(X)), store(Load("a", (half(plus(times(2, k), X)),))))
    assert_same((loop(*body),), paired(loop(*body)))


@pytest.mark.parametrize(
    "node",
    [
        loop(store(Load("gray", (X,)))),
        loop(store(MOSAIC), last=Int(LEAST_TRIPS - 2)),
        replace(loop(store(MOSAIC)), unroll=4),
        replace(loop(store(MOSAIC)), in_order=True),
        loop(If(Binary("<", X, B), (store(MOSAIC),))),
        loop(store(MOSAIC), last=Load("end", (B,))),
        loop(Declare("n", "int", ()), Assign(Load("n"), "", X), store(MOSAIC), last=Load("n")),
        loop(store(Select(even(plus(X, Load("data", (X,)))), Int(1), Int(2)))),
        loop(store(Load("even", (half(Binary("-", X, Int(9))),)))),
        loop(store(Load("eight", (Binary("/", X, Int(8)),)))),
    ],
    ids=["nothing to gain", "short", "the plan unrolls it", "in order", "conditional", "bound by data",
         "a bound that it changes", "parity of data", "C rounds negative numbers up", "another divisor"],
)
def test_others_stay(node: For) -> None:
    assert paired(node) == (node,)


def test_conditions_that_read_elements_are_not_tested_earlier() -> None:
    """The element need not exist where the loop has no iterations, or another condition does not hold."""
    first = even(Load("data", (Y,)))
    (new,) = paired(loop(store(Select(first, MOSAIC, ZERO))))
    assert isinstance(new, For)


def test_a_variable_before_the_loop_is_known_by_its_only_value() -> None:
    at, last = Load("at"), Int(64)
    before = (Declare("at", "int", ()), Assign(at, "", Select(Binary("==", B, ZERO), ZERO, Int(34))))
    rows = loop(store(Select(even(plus(at, X)), Load("even", (half(plus(at, X)),)), ZERO)), last=last)
    new = paired(*before, rows)
    assert_same((*before, rows), new)
    assert isinstance(new[2], For) and not any(isinstance(part, Select) for node in walk(new[2:3])
                                               for expr in expressions(node) for part in parts(expr))
    again = (*before, Assign(at, "", B))
    assert paired(*again, rows) == (*again, rows), "its parity is not known"


@st.composite
def sums(draw: st.DrawFn) -> Expr:
    """A sum of the iterator and others, as subscripts are."""
    total: Expr = plus(times(draw(st.sampled_from((1, 1, 2, 3, -1))), X), draw(st.integers(-3, 70)))
    names: tuple[Expr, ...] = (B, Y, Load("at"))
    for name in draw(st.lists(st.sampled_from(names), max_size=2)):
        total = plus(total, times(draw(st.sampled_from((1, 2, 32, -2))), name))
    return total


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> Expr:
    kind = draw(st.sampled_from(("half", "rest", "bit", "row", "site") if depth else ("half",)))
    one = draw(sums())
    if kind in ("half", "rest", "bit"):
        return Load("a", (half(one) if kind == "half" else Binary("%", one, TWO) if kind == "rest"
                          else Binary("&", one, Int(1)),))
    test = even(one if kind == "site" else plus(Y, B), draw(st.sampled_from(("==", "!="))))
    return Select(test, draw(values(depth - 1)), draw(values(depth - 1)))


@in_turn
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_all_loops_do_what_they_did(data: st.DataObject) -> None:
    start, last = data.draw(st.integers(0, 3)), data.draw(st.integers(30, 41))
    ends: tuple[Expr, ...] = (Int(last), Binary("min", Int(last), Binary("-", Int(80), times(40, B))))
    end = data.draw(st.sampled_from(ends))
    body = [store(data.draw(values()), plus(times(100, Y), X)) for _ in range(data.draw(st.integers(1, 2)))]
    offset = data.draw(st.sampled_from((Int(2), times(6, B), Binary("-", B, Int(1)))))
    nodes = (Declare("at", "int", ()), Assign(Load("at"), "", offset),
             loop(loop(*body, start=Int(start), last=end), last=Int(2), iterator="y"))
    assert_same(nodes, paired(*nodes))
