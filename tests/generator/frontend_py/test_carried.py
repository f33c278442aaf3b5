"""Minima in scans: the operand that waits for the previous iteration comes last, and results stay the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antune import halide as hl
from generator.expr import Binary, evaluate, loads_of, names_of
from generator.frontend_py.problem import program_of
from generator.program import Program
from generator.sequential.pipeline import run_sequential

WIDTH, HEIGHT = 12, 9
SIZES = [WIDTH + 4, HEIGHT + 4]
Value = Callable[[hl.Func, hl.RDom], hl.Expr]


def scan(value: Value, start: Callable[[hl.Var, hl.Var], hl.Expr] = lambda x, y: (x * 37 + y * 11) % 64) -> hl.Func:
    """An update of all elements but those of the border."""
    x, y, f, out = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("out")
    f[x, y] = start(x, y)
    r = hl.RDom([(2, WIDTH), (2, HEIGHT)], "r")
    f[r.x, r.y] = value(f, r)
    out[x, y] = f[x, y]
    return out


def reads(program: Program) -> list[tuple[int, int]]:
    """The elements (x, y) that the update reads, from the written one, in order."""
    body = program.statements[1].body
    loads = [load.index for value in body.computed for load in loads_of(value) if load.array == "f"]
    places = (dict.fromkeys(names_of(index), 7) for index in (load[0] for load in loads))
    assert all(place == {"r1": 7} for place in places)
    return list(dict.fromkeys((evaluate(x, {"r0": 7}) - 7, evaluate(y, {"r1": 7}) - 7) for y, x in loads))


def test_the_previous_iteration_comes_last() -> None:
    chamfer = program_of([scan(lambda f, r: hl.min(f[r.x, r.y], f[r.x - 1, r.y] + 3, f[r.x, r.y - 1] + 3,
                                                   f[r.x - 1, r.y - 1] + 4, f[r.x + 1, r.y - 1] + 4))], SIZES)
    assert reads(chamfer) == [(0, 0), (0, -1), (-1, -1), (1, -1), (-1, 0)]
    assert chamfer.statements[1].text.startswith("f(r.x, r.y) = min(min(min(min(f(r.x, r.y), f(r.x - 1, r.y) + 3)")


def test_inside_of_other_operations_and_in_nested_chains() -> None:
    paths = program_of([scan(lambda f, r: hl.clamp(f[r.x, r.y], 0, 9) + hl.min(
        hl.min(f[r.x - 1, r.y], f[r.x, r.y - 1]), hl.min(f[r.x - 2, r.y] + 1, f[r.x - 1, r.y - 1])))], SIZES)
    assert reads(paths) == [(0, 0), (0, -1), (-1, -1), (-1, 0), (-2, 0)]


@pytest.mark.parametrize(("value", "order"), [
    (lambda f, r: hl.min(f[r.x, r.y], f[r.x, r.y - 1] + 3), [(0, 0), (0, -1)]),
    (lambda f, r: hl.min(f[r.x, r.y], f[r.x - 1, r.y] + 3), [(0, 0), (-1, 0)]),
    (lambda f, r: f[r.x - 1, r.y] + f[r.x, r.y - 1] * 2, [(-1, 0), (0, -1)]),
    (lambda f, r: hl.max(hl.min(f[r.x - 1, r.y], 9), f[r.x - 1, r.y - 1] + f[r.x - 2, r.y]),
     [(-1, 0), (-1, -1), (-2, 0)]),
])
def test_others_keep_their_order(value: Value, order: list[tuple[int, int]]) -> None:
    """Chains without it, with it at the end, other operations, and if all operands wait for it."""
    assert reads(program_of([scan(value)], SIZES)) == order


def test_a_minimum_within_a_maximum_is_an_operand() -> None:
    found = program_of([scan(lambda f, r: hl.max(hl.min(f[r.x - 1, r.y], f[r.x, r.y - 1]), f[r.x, r.y]))], SIZES)
    assert reads(found) == [(0, 0), (0, -1), (-1, 0)]


def test_a_value_that_is_used_twice_is_computed_once() -> None:
    def value(f: hl.Func, r: hl.RDom) -> hl.Expr:
        near = hl.min(f[r.x - 1, r.y] * 5 % 7 + f[r.x, r.y - 1] * 3 % 11, f[r.x - 1, r.y - 1] * 13 % 17 + 3)
        return hl.min(near, f[r.x, r.y]) + near

    found = program_of([scan(value)], SIZES)
    minima = [named for _, named in found.statements[1].body.lets if isinstance(named, Binary) and named.op == "min"]
    assert len(minima) == 1 and len(reads(found)) == 4


OPERANDS = st.sampled_from([(0, 0), (-1, 0), (-2, 0), (0, -1), (-1, -1), (1, -1)])


@given(st.lists(st.tuples(OPERANDS, st.integers(0, 9), st.booleans()), min_size=2, max_size=6),
       st.sampled_from(("min", "max")), st.booleans())
@settings(max_examples=25, deadline=None)
def test_results_are_those_of_the_order_of_the_source(chosen: list[tuple[tuple[int, int], int, bool]], name: str,
                                                     floating: bool) -> None:
    """Of integers and of numbers some of which are NaN, against the interpreter, which keeps the order."""
    def value(f: hl.Func, r: hl.RDom) -> hl.Expr:
        made: hl.Expr | None = None
        for (dx, dy), more, left in chosen:
            one = f[r.x + dx, r.y + dy] + more
            made = one if made is None else getattr(hl, name)(*((one, made) if left else (made, one)))
        assert made is not None
        return made

    def start(x: hl.Var, y: hl.Var) -> hl.Expr:
        number = (x * 37 + y * 11) % 64
        return hl.select(number % 5 == 0, hl.f32(0) / hl.f32(number % 5), hl.f32(number)) if floating else number

    out = scan(value, start)
    computed = run_sequential(program_of([out], SIZES), {}, baselines=False).outputs["out"]
    assert np.array_equal(computed, np.array(out.realize(SIZES)).reshape(computed.shape), equal_nan=floating)
