"""Loops of at most one iteration become conditions or plain statements, and run what they ran before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.suites.image_pipelines import pipeline
from generator.emit.compilers import loops_for_compiler
from generator.emit.short_loops import without_short_loops
from generator.expr import Binary, Expr, Fold, Int, Load, Name, Select, evaluate
from generator.lowered_kernel import LoweredKernel
from generator.lowering.heuristics.default import default_plan
from generator.nest import Assign, Barrier, Declare, For, If, Node, Note
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.slow import in_turn
from tests.support.suite import ODD_SIZES, problem, small_problem
from tests.support.targets import CPU

BLOCK, GRID = (4, 3), (2, 2)  # x first
T0, T1, B0, J, ONE = Name("t0"), Name("t1"), Name("b0"), Name("j"), Int(1)
INDICES = {"b0": 2, "b1": 2, "t0": 3, "t1": 4}


def kernel(*body: Node) -> LoweredKernel:
    return LoweredKernel(("S0",), ("",), (), (), ("host",), BLOCK, GRID, body)


def below(name: str, bound: Expr) -> Expr:
    return Binary("<", Name(name), bound)


def at_most(name: str, bound: Expr) -> Expr:
    return Binary("<=", Name(name), bound)


def plus(left: Expr, right: Expr) -> Expr:
    return Binary("+", left, right)


def store(*index: Expr, value: Expr = ONE) -> Assign:
    return Assign(Load("out", index), "", value)


def run(nodes: tuple[Node, ...], names: dict[str, int]) -> Iterator[tuple[int, ...]]:
    """Yield the subscripts of the stores, in order of execution."""
    for node in nodes:
        match node:
            case For(iterator, start, condition, step, body):
                value = evaluate(start, names)
                while evaluate(condition, {**names, iterator: value}):
                    yield from run(body, {**names, iterator: value})
                    value += step
            case If(condition, then, otherwise):
                yield from run(then if evaluate(condition, names) else otherwise, dict(names))
            case Assign(Load("out", index)):
                yield tuple(evaluate(one, names) for one in index)
            case Assign(Load(variable, ()), "", value):
                names[variable] = evaluate(value, names)
            case Declare() | Note():
                pass
            case _:
                raise AssertionError(f"these loops have no {node}")


def threads() -> Iterator[Mapping[str, int]]:
    for values in product(*(range(n) for n in INDICES.values())):
        yield {**dict(zip(INDICES, values, strict=True)), "host": 5}


@st.composite
def bounds(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    """A bound as lowering makes them: a sum, or a minimum, a maximum, a choice or a quotient of some."""
    total: Expr = Int(draw(st.integers(-6, 9)))
    for name in draw(st.lists(st.sampled_from(names), max_size=2)):
        term = Binary("*", Int(draw(st.sampled_from((1, 1, 2, 4, 8, -1)))), Name(name))
        total = Binary(draw(st.sampled_from("+-")), term, total) if draw(st.booleans()) else plus(total, term)
    kind = draw(st.sampled_from(("sum", "sum", "min", "max", "select", "quotient")))
    if kind == "sum":
        return total
    if kind == "quotient":
        return plus(Binary("/", total, Int(draw(st.integers(2, 4)))), Int(draw(st.integers(0, 2))))
    other = draw(bounds(names))
    if kind == "select":
        return Select(below(draw(st.sampled_from(names)), Int(draw(st.integers(0, 3)))), total, other)
    return Binary(kind, total, other)


@st.composite
def nests(draw: st.DrawFn, depth: int = 0, names: tuple[str, ...] = (*INDICES, "host")) -> tuple[Node, ...]:
    """Loops and conditions around stores to places that tell all iterators."""
    if depth == 3 or draw(st.integers(0, 3)) == 0:
        return (store(Int(draw(st.integers(0, 99))), *(plus(Name(n), Int(1)) for n in names)),)
    inside = [*draw(nests(depth + 1, names))] if draw(st.integers(0, 4)) == 0 else []
    if draw(st.integers(0, 3)) == 0:
        test = Binary(draw(st.sampled_from(("<", "<=", ">", ">="))), Name(draw(st.sampled_from(names))),
                      draw(bounds(names)))
        return *inside, If(test, draw(nests(depth + 1, names)), draw(nests(depth + 1, names)))
    iterator, start, step = f"i{depth}", draw(bounds(names)), draw(st.sampled_from((1, 2, 3, 4, 8, 16, -1, -4)))
    near = draw(st.booleans())
    last = plus(start, Int(draw(st.integers(-2, 9)))) if near else draw(bounds(names))
    test = Binary(draw(st.sampled_from(("<", "<=") if step > 0 else (">", ">="))), Name(iterator), last)
    if draw(st.booleans()):
        test = Binary("&&", test, Binary(test.op, Name(iterator), draw(bounds(names))))
    return *inside, For(iterator, start, test, step, draw(nests(depth + 1, (*names, iterator))))


@pytest.mark.slow
@settings(max_examples=1500)
@given(nests())
def test_many_nests_run_the_same_instances_in_the_same_order(nodes: tuple[Node, ...]) -> None:
    check_order(nodes)


@in_turn
@settings(max_examples=50)
@given(nests())
def test_the_same_instances_run_in_the_same_order(nodes: tuple[Node, ...]) -> None:
    check_order(nodes)


def check_order(nodes: tuple[Node, ...]) -> None:
    shorter = without_short_loops(kernel(*nodes))
    for names in threads():
        assert list(run(shorter, dict(names))) == list(run(nodes, dict(names)))


@pytest.mark.parametrize(("loop", "expected"), [
    (For("j", T1, below("j", Int(4)), 4, (store(J),)), (store(T1),)),
    (For("j", T1, below("j", Int(3)), 4, (store(J),), "some"),
     (Note("some"), If(Binary("<", T1, Int(3)), (store(T1),)))),
    (For("j", plus(Binary("*", Int(2), B0), T0), below("j", plus(Binary("*", Int(2), B0), Int(1))), 16, (store(J),)),
     (If(Binary("<", T0, Int(1)), (store(plus(Binary("*", Int(2), B0), T0)),)),)),
    (For("j", Int(7), Binary(">=", J, Int(7)), -1, (store(plus(J, Int(1))),)), (store(Int(8)),)),
    (For("j", T0, at_most("j", Binary("min", Int(2), Binary("*", Int(3), B0))), 3, (store(J),)),
     (If(Binary("<=", T0, Binary("*", Int(3), B0)), (store(T0),)),)),
    (For("j", Binary("max", T0, B0), below("j", Int(1)), 1, (store(J),)),
     (If(Binary("&&", Binary("<", T0, Int(1)), Binary("<", B0, Int(1))),
         (Declare("j", "int", ()), Assign(Load("j"), "", Binary("max", T0, B0)), store(J))),)),
])
def test_at_most_one_iteration_is_no_loop(loop: For, expected: tuple[Node, ...]) -> None:
    assert without_short_loops(kernel(loop)) == expected


@pytest.mark.parametrize("loop", [
    For("j", T1, below("j", Int(5)), 4, (store(J),)),
    For("j", Int(0), below("j", Name("host")), 4, (store(J),)),
    For("j", Int(0), below("j", Int(4)), 1, (store(J),)),
    For("j", Load("n"), at_most("j", Load("n")), 1, (Assign(Load("n"), "", Int(9)), store(J))),
    For("j", T1, below("j", Int(3)), 4, (Barrier(), store(J))),
    For("j", T1, below("j", Int(4)), 4, (store(J),), unroll=1, vector=True),
    For("j", T1, below("j", Int(4)), 4, (For("t1", Int(0), below("t1", Int(4)), 1, (store(J),)),)),
    For("j", T1, below("j", Int(4)), 4, (store(J, value=Fold(
        ((Name("s"), Int(0), plus(Name("s"), T1)),), Name("t1"), Int(0), below("t1", Int(4)), 1, (), 4)),)),
])
def test_other_loops_stay(loop: For) -> None:
    body = (Declare("n", "int", ()), loop)
    assert without_short_loops(kernel(*body)) == body


@pytest.mark.parametrize("loop", [
    For("j", Name("n"), at_most("j", Name("n")), 1, (Assign(Load("n"), "", Int(9)), store(J))),
    For("j", Int(0), at_most("j", Int(0)), 1, (Assign(Load("j"), "", Int(-5)), store(J))),
    If(below("n", Int(1)), (Assign(Load("n"), "", Int(9)), For("j", Int(0), below("j", Name("n")), 1, (store(J),)))),
])
def test_loops_whose_variables_change_stay(loop: Node) -> None:
    body = (Declare("n", "int", ()), Assign(Load("n"), "", Int(0)), loop)
    assert without_short_loops(kernel(*body)) == body


@pytest.mark.parametrize("start", [Int(-1), Binary("-", T0, Int(1))])
def test_unsigned_comparisons_stay(start: Expr) -> None:
    """-1 is less than no unsigned number."""
    loop = For("j", start, below("j", Binary("%", Name("host", "unsigned int"), Int(2))), 4, (store(J),))
    assert without_short_loops(kernel(loop)) == (loop,)


def test_conditions_that_always_hold_in_deeply_nested_minima_are_left_out() -> None:
    last: Expr = plus(Name("host"), Int(1))
    for n in range(2, 8):
        last = Binary("min", plus(Name("host"), Int(n)), last)
    loop = For("j", Name("host"), at_most("j", Binary("min", last, Name("host"))), 1, (store(J),))
    assert without_short_loops(kernel(loop)) == (store(Name("host")),)


def test_variables_of_one_iteration_are_not_mixed_up_with_those_of_another() -> None:
    one = (Declare("v", "int", ()), Assign(Load("v"), "", J), store(Load("v")))
    loops = tuple(For("j", plus(T1, Int(n)), below("j", plus(Int(4), Int(n))), 4, one) for n in (0, 1))
    assert without_short_loops(kernel(*loops)) == loops
    assert without_short_loops(kernel(loops[0]))[0] == Declare("v", "int", ())


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_columns_of_16_bit_elements_by_one_thread_are_right_on_intel() -> None:
    """With loops in place of the conditions, nearly all results of the fifth kernel are wrong."""
    found = small_problem(pipeline("camera_pipe"))[0]
    inline = ("b_gb", "b_gr", "b_r", "blur", "corrected", "full_blue", "gb", "matrix", "r_gb")
    blocks = ("blur_y", "curve", "curved", "denoised", "g_r", "r_gr", "red", "shifted")
    schedule = Stages(tuple(sorted([*((s, "inline") for s in inline), *((s, "block") for s in blocks)])),
                      together=(("full_green", "full_red"),))
    column = KernelPlan(("S1", "S2", "S4"), (32, 16), (1, 16), order=(1, 0), unroll=4, walk=1)
    device = device_named("intel")
    kernels = default_plan(found.program, device.target, choice=schedule).kernels
    plan = Plan(schedule, tuple(column if one.statements == column.statements else one for one in kernels))
    assert column in plan.kernels
    [outcome] = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome.message


def test_several_conditions_in_a_kernel_with_barriers_are_right_on_pocl() -> None:
    """With conditions in place of the loops of this kernel, PoCL 3.0 computes 370 wrong elements."""
    found = problem("jacobi-2d", ODD_SIZES["jacobi-2d"])
    plan = Plan(TimeTiles(1), (KernelPlan(("S0", "S1"), (4, 16), (4, 8), padding=1, columns=True, exchange=True),))
    [outcome] = outcomes_of(device_named("pocl"), found, [plan])
    assert isinstance(outcome, Timed), outcome.message


@pytest.mark.parametrize(("body", "pocl", "shortened"), [
    ((store(T0),), True, True), ((Barrier(), store(T0)), True, False), ((Barrier(), store(T0)), False, True),
])
def test_kernels_with_barriers_keep_their_loops_on_pocl(body: tuple[Node, ...], pocl: bool, shortened: bool) -> None:
    loop = For("j", T1, below("j", Int(3)), 4, (store(J),))
    printed = loops_for_compiler(kernel(loop, *body), replace(CPU, pocl=pocl))
    assert isinstance(printed[0], If if shortened else For)
