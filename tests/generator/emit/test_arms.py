"""Both values of a choice are computed before it only where nothing can go wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.emit.arms import LEAST_TRIPS, with_both_arms
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Select
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node
from generator.program import Array

X, C = Name("x"), Name("c")
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


def numbered(*arms: Expr, at: Expr = C) -> Expr:
    """A choice of the first value if `at` is 0, of the second one if it is 1, ..., else of the last one."""
    *others, last = arms
    for number, arm in reversed([*enumerate(others)]):
        last = Select(Binary("==", at, Int(number)), arm, last)
    return last


def test_all_values_of_a_choice_by_a_number_are_computed_also_within_expressions() -> None:
    arms: tuple[Expr, ...] = Binary("*", Load("f", (X,)), Int(2)), Load("f", (X,)), Binary("+", Load("a", (X,)), Int(1))
    names = Load("out_choice0"), Load("out_choice1"), Load("out_choice2")
    (new,) = rewritten(loop(Assign(at("out"), "", Call("fmaxf", (numbered(*arms), Int(0))))))
    assert isinstance(new, For)
    kinds = ("float", "float", "int")
    assert new.body[:6:2] == tuple(Declare(name.array, kind, ()) for name, kind in zip(names, kinds, strict=True))
    assert new.body[1:6:2] == tuple(Assign(name, "", arm) for name, arm in zip(names, arms, strict=True))
    assert new.body[6:] == (Assign(at("out"), "", Call("fmaxf", (numbered(*names), Int(0)))),)


@pytest.mark.parametrize(
    "value",
    [
        Call("fmaxf", (numbered(at("f"), at("f", 1)), Int(0))),
        Call("fmaxf", (numbered(at("f"), at("f", 7), Int(0)), Int(0))),
        Call("fmaxf", (numbered(at("f"), Call("sqrtf", (at("f"),)), Int(0)), Int(0))),
        Call("fmaxf", (Select(Binary("==", C, Int(0)), at("f"), numbered(Int(1), Int(0), at=X)), Int(0))),
    ],
    ids=["of two", "behind the end", "a call", "by two numbers"],
)
def test_other_choices_within_expressions_stay(value: Expr) -> None:
    store = loop(Assign(at("out"), "", value))
    assert rewritten(store) == (store,)


def test_real_numbers_may_be_divided_by_anything() -> None:
    (new,) = rewritten(loop(chosen(Binary("/", at("f"), at("f", 1)), at("f"))))
    assert isinstance(new, For) and len(new.body) == 5
