"""Both values of a choice are computed before it only where nothing can go wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.emit.arms import LEAST_TRIPS, with_both_arms
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Select
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node
from generator.program import Array

X = Name("x")
ARRAYS = tuple(Array(name, "float" if name == "f" else "short", (70,), "in") for name in ("a", "c", "f", "out"))


def at(array: str, offset: int = 0) -> Load:
    return Load(array, (Binary("+", X, Int(offset)),))


def chosen(then: Expr, otherwise: Expr) -> Assign:
    return Assign(at("out"), "", Select(Binary("<", at("c"), Int(0)), then, otherwise))


def loop(*body: Node, trips: int = 64) -> For:
    return For("x", Int(0), Binary("<", X, Int(trips)), 1, body)


def rewritten(node: Node) -> tuple[Node, ...]:
    return with_both_arms(LoweredKernel(("S0",), ("",), ARRAYS, (), (), (1,), (1,), (node,)), (node,))


def test_both_values_are_computed_with_their_types() -> None:
    then, otherwise = Cast("short", Binary("-", at("a"), at("a", 6))), Binary("/", at("a", 1), Int(2))
    store = chosen(then, otherwise)
    names = Load("out_then"), Load("out_otherwise")
    assert isinstance(store.value, Select)
    assert rewritten(loop(store)) == (loop(
        Declare("out_then", "short", ()), Assign(names[0], "", then),
        Declare("out_otherwise", "int", ()), Assign(names[1], "", otherwise),
        replace(store, value=Select(store.value.condition, *names))),)


@pytest.mark.parametrize(
    "node",
    [
        loop(chosen(at("a", 7), Int(0))),
        loop(chosen(at("a", -1), at("a"))),
        loop(chosen(Load("a", (at("c"),)), Int(0))),
        loop(chosen(Load("elsewhere", (X,)), Int(0))),
        loop(chosen(Binary("/", at("a"), at("c")), Int(0))),
        loop(chosen(Binary("%", at("a"), Int(0)), Int(0))),
        loop(chosen(Binary("<<", at("a"), at("c")), Int(0))),
        loop(chosen(Call("sqrtf", (at("f"),)), Int(0))),
        loop(chosen(Int(1), X)),
        loop(chosen(at("a"), Int(0)), trips=LEAST_TRIPS - 1),
        loop(If(Binary("<", X, Int(9)), (chosen(at("a"), Int(0)),))),
    ],
    ids=["behind the end", "before the first", "chosen by data", "of unknown size", "a division by data",
         "a division by 0", "a shift", "a call", "nothing to load", "short", "conditional"],
)
def test_others_stay(node: Node) -> None:
    assert rewritten(node) == (node,)


def test_real_numbers_may_be_divided_by_anything() -> None:
    (new,) = rewritten(loop(chosen(Binary("/", at("f"), at("f", 1)), at("f"))))
    assert isinstance(new, For) and len(new.body) == 5
