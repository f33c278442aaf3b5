"""Loops that share elements among threads have the same iterations in all of them on Intel's CPU runtime."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.emit.counted import with_counted_loops
from generator.expr import Binary, Expr, Fold, Int, Load, Name
from generator.nest import Assign, Declare, For, If, Node

E, T, ALL, ONE = Name("e"), Name("t1"), Int(32), Int(1)


def shared(*body: Node, start: Expr = T, end: Expr = ALL, step: int = 16) -> For:
    return For("e", start, Binary("<", E, end), step, body)


def store(index: Expr, value: Expr = ONE) -> Assign:
    return Assign(Load("box", (index,)), "", value)


def test_loops_with_as_many_elements_per_thread_count_from_zero() -> None:
    at = Binary("+", E, T)
    assert with_counted_loops((shared(store(E, E)),), (16, 2)) == (shared(store(at, at), start=Int(0)),)
    under = If(Binary("<", Name("b0"), Int(3)), (shared(store(E)),), (shared(store(E)),))
    counted = shared(store(at), start=Int(0))
    assert with_counted_loops((under,), (16, 2)) == (If(under.condition, (counted,), (counted,)),)


@pytest.mark.parametrize("node", [
    shared(store(E), end=Int(40)),  # the last threads have one element less
    shared(store(E), end=Name("n")),
    shared(store(E), step=8),
    shared(store(E), start=Binary("+", T, Int(16)), end=Int(48)),
    shared(store(E), end=Int(16)),  # a single element per thread
    replace(shared(store(E)), condition=Binary("<=", E, Int(31))),
    shared(For("e", Int(0), Binary("<", E, Int(4)), 1, (store(E),))),
    shared(Declare("t1", "int", ()), store(E)),
    shared(store(Int(0), Fold(((Name("t1"), Int(0), E),), Name("k"), Int(0), Binary("<", Name("k"), Int(4)), 1, (),
                              4))),
])
def test_others_stay(node: For) -> None:
    assert with_counted_loops((node,), (16, 2)) == (node,)


def test_an_index_that_is_always_zero_is_left_out() -> None:
    def at(index: Expr) -> tuple[Node, ...]:
        return (store(index),)

    single, other = Name("t0"), Name("b0")
    for index, found in ((Binary("+", other, single), other), (Binary("+", single, other), other),
                         (Binary("-", other, single), other), (Binary("*", single, other), Binary("*", Int(0), other)),
                         (Binary("+", T, Int(0)), Binary("+", T, Int(0)))):
        assert with_counted_loops(at(index), (16, 1)) == at(found)
    again = For("t0", Int(0), Binary("<", single, Int(4)), 1, at(single))
    assert with_counted_loops((again,), (16, 1)) == (again,), "the program calls its own iterator so"
