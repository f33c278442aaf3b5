"""Loops that are cut at the borders of images do what they did (`generator/emit/borders.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.emit.borders import LEAST_TRIPS, MOST_LOADS, cut_at_borders
from generator.expr import Binary, Expr, Int, Load, Name, Select, evaluate, map_children
from generator.nest import Assign, Barrier, Declare, For, If, Node, map_expressions, rounds

X, B = Name("x"), Name("b")
LENGTH = Binary("-", Int(200), Binary("*", Int(64), B))


def clamped(value: Expr, low: int, high: int, least_first: bool = False) -> Expr:
    """`value` clamped, in one of the two orders in which people write that."""
    if least_first:
        return Binary("min", Binary("max", value, Int(low)), Int(high))
    return Binary("max", Binary("min", value, Int(high)), Int(low))


def moved(scale: int, offset: Expr) -> Expr:
    return Binary("+", Binary("*", Int(scale), X), offset)


def loop(indices: Sequence[Expr], bound: Expr | None = None, start: int = 0) -> For:
    """`for (x = start; x <= bound; ++x) out[x] = in[indices[0]] + ..`."""
    loads: list[Expr] = [Load("in", (index,)) for index in indices]
    value = loads[0]
    for load in loads[1:]:
        value = Binary("+", value, load)
    condition = Binary("<=", X, bound or Binary("min", Int(63), LENGTH))
    return For("x", Int(start), condition, 1, (Assign(Load("out", (X,)), "", value),), unroll=2)


def subscripts(nodes: Sequence[Node], names: Mapping[str, int]) -> Iterator[list[int]]:
    """What every run of the update in `nodes` writes and reads, in order."""
    for node in nodes:
        match node:
            case For(iterator, start, condition, step, body):
                inside = {**names, iterator: evaluate(start, names)}
                while evaluate(condition, inside):
                    yield from subscripts(body, inside)
                    inside[iterator] += step
            case If(condition, then, otherwise):
                yield from subscripts(then if evaluate(condition, names) else otherwise, names)
            case Assign(target, _, value):
                yield [evaluate(target.index[0], names), *_read(value, names)]
            case _:
                raise AssertionError(node)


def _read(value: Expr, names: Mapping[str, int]) -> Iterator[int]:
    match value:
        case Load(_, (index,)):
            yield evaluate(index, names)
        case Binary("+", left, right):
            yield from _read(left, names)
            yield from _read(right, names)
        case Select(condition, then, otherwise):
            yield from _read(then if evaluate(condition, names) else otherwise, names)
        case _:
            raise AssertionError(value)


offsets = st.integers(-90, 90).flatmap(lambda n: st.sampled_from([
    Int(n), Binary("+", Binary("*", Int(64), B), Int(n)), Binary("-", Int(n), B), Binary("/", B, Int(2))]))
clamps = st.builds(
    clamped, st.builds(moved, st.integers(-1, 4), offsets), st.integers(-40, 60), st.integers(-10, 150), st.booleans()
)


@given(st.lists(clamps, min_size=1, max_size=4), st.integers(-3, 6), st.integers(0, 5))
def test_the_same_elements_in_the_same_order(indices: list[Expr], block: int, start: int) -> None:
    whole = loop(indices, start=start)
    cut = cut_at_borders((whole,))
    names = {"b": block}
    assert list(subscripts(cut, names)) == list(subscripts((whole,), names))


@pytest.mark.parametrize(("high", "trips"), [(100, [2, 97, 42]), (150, [2, 139])])
def test_constant_trip_counts_stay_constant(high: int, trips: list[int]) -> None:
    """Whoever marks long loops (`rolled.py`) needs them. The last element to clamp is in the loop, or behind its end.
    """
    parts = cut_at_borders((loop([clamped(moved(1, Int(n - 2)), 0, high) for n in range(5)], bound=Int(140)),))
    assert [rounds(part) for part in parts if isinstance(part, For)] == trips


def test_inside_no_clamp_is_left() -> None:
    before, inside, behind = cut_at_borders((loop([clamped(moved(1, Int(n - 2)), 0, 150) for n in range(5)]),))
    assert isinstance(before, For)
    assert isinstance(inside, For)
    assert isinstance(behind, For)
    assert "min" not in str(inside.body)
    assert (before.body, behind.body) == (loop([clamped(moved(1, Int(n - 2)), 0, 150) for n in range(5)]).body,) * 2
    assert (before.unroll, inside.unroll, behind.unroll) == (1, 2, 1), "a border is short"
    assert [evaluate(node.start, {"b": 0}) for node in (before, inside, behind)] == [0, 2, 149]


def test_a_loop_that_ends_before_its_bound_is_cut_in_the_same_places() -> None:
    whole = loop([clamped(moved(1, Int(-2)), 0, 150)], bound=Int(99))
    strict = replace(whole, condition=Binary("<", X, Int(100)))
    cut = cut_at_borders((strict,))
    assert len(cut) == 2, "no element behind the border"
    assert cut == cut_at_borders((whole,))
    assert list(subscripts(cut, {})) == list(subscripts((strict,), {}))


def test_nothing_is_cut_where_no_iteration_is_inside_all_borders() -> None:
    whole = loop([clamped(X, 0, 40), clamped(moved(1, Int(-50)), 0, 60)])
    assert cut_at_borders((whole,)) == (whole,)


@pytest.mark.parametrize("bound", [40, 63, 95, 96, 120])
def test_loops_are_split_where_they_choose_between_values(bound: int) -> None:
    """Two halves of a line with borders of their own, as an inverse wavelet transform reads them."""
    low, high = Load("in", (clamped(X, 0, 63),)), Load("in", (clamped(moved(1, Int(-64)), 0, 63),))
    whole = loop([X], bound=Int(bound))
    whole = replace(whole, body=(Assign(Load("out", (X,)), "", Select(Binary("<", X, Int(64)), low, high)),))
    cut = cut_at_borders((whole,))
    long = bound >= 64 + LEAST_TRIPS - 1
    assert [rounds(part) for part in cut if isinstance(part, For)] == ([64, bound - 63] if long else [bound + 1])
    assert ("min" in str(cut)) != long and ("Select" in str(cut)) != long
    assert list(subscripts(cut, {})) == list(subscripts((whole,), {}))


CORNER = Load("in_at0")


def named(expr: Expr) -> Expr:
    """The corner of a box as a name that tests can give a number to."""
    return Name("corner") if expr == CORNER else map_children(expr, named)


@given(st.integers(-90, 90))
def test_the_corner_of_a_box_is_a_number_like_others(corner: int) -> None:
    whole = (Declare("in_at0", "int", ()), Assign(CORNER, "", B), loop([clamped(moved(1, CORNER), 0, 150)]))
    cut = cut_at_borders(whole)
    assert len(cut) == len(whole) + 2
    names = {"b": 0, "corner": corner}
    plain, parts = (list(subscripts(map_expressions(nodes[2:], named), names)) for nodes in (whole, cut))
    assert parts == plain


@pytest.mark.parametrize(
    "before",
    [
        (Declare("in_at0", "uint", ()), Assign(CORNER, "", B)),
        (Declare("in_at0", "float", ()), Assign(CORNER, "", B)),
        (),
    ],
    ids=["no sign", "real", "of the program"],
)
def test_other_variables_are_no_corners(before: tuple[Node, ...]) -> None:
    whole = (*before, loop([clamped(moved(1, CORNER), 0, 150)]))
    assert cut_at_borders(whole) == whole


def test_what_the_loop_itself_computes_is_no_corner() -> None:
    inner = loop([clamped(moved(1, CORNER), 0, 150)])
    inside = replace(inner, body=(Declare("in_at0", "int", ()), Assign(CORNER, "", X), *inner.body))
    assert cut_at_borders((inside,)) == (inside,)


def test_conditions_and_loops_around_stay() -> None:
    inner = loop([clamped(moved(1, Int(-1)), 0, 9)])
    outer = For("y", Int(0), Binary("<=", Name("y"), Int(3)), 1, (If(Binary("<", B, Int(2)), (inner,)),))
    cut = cut_at_borders((outer,))
    assert list(subscripts(cut, {"b": 1})) == list(subscripts((outer,), {"b": 1}))
    assert len(str(cut)) > 2 * len(str(outer))


@pytest.mark.parametrize(
    "node",
    [
        loop([moved(1, Int(-1))]),
        loop([clamped(B, 0, 9)]),
        loop([clamped(Binary("/", X, Int(2)), 0, 9)]),
        loop([clamped(moved(-1, Int(40)), 0, 9)]),
        loop([clamped(Load("table", (X,)), 0, 9)]),
        loop([Select(Binary("<", X, B), clamped(moved(1, Load("table", (B,))), 0, 9), Int(0))]),
        loop([clamped(moved(1, Int(-1)), 0, 9)], bound=Int(20)),
        loop([clamped(moved(1, Int(-1)), 0, 9)], bound=LENGTH),
        loop([clamped(moved(1, Int(-1)), 0, 9)] * (MOST_LOADS + 1)),
        For("x", Int(0), Binary("<=", X, Int(63)), 1, (Barrier(), *loop([clamped(moved(1, Int(-1)), 0, 9)]).body)),
    ],
    ids=[
        "no clamp",
        "one for all",
        "not linear",
        "backwards",
        "of data",
        "by data",
        "short",
        "of unknown length",
        "large",
        "barrier",
    ],
)
def test_other_loops_stay(node: For) -> None:
    assert cut_at_borders((node,)) == (node,)
