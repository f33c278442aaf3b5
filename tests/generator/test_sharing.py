"""Values that expressions repeat: what gets a name, what keeps its place, and that everything grows with the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from antune import halide as hl
from experiments.values.program_json import from_json, to_json
from generator.errors import InputError
from generator.expr import Binary, Expr, Int, Load, Name, Select, parts
from generator.frontend_py.problem import program_of
from generator.frontend_py.types import Type
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.inside import unproven
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import Program, Where
from generator.schedules.stages import Stages
from generator.sequential.pipeline import c_program
from generator.sharing import TooLong, shared
from generator.target import Target
from tests.support.graphs import REAL, Step, computed, expression, graphs
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.slow import few
from tests.support.stages import values_of
from tests.support.targets import CPU, CUDA, RDNA

x = hl.Var("x")
SIZE = 8


def squares(count: int) -> Program:
    """A value that is used three times, `count` times over: a tree of 3^count leaves."""
    image, f = hl.ImageParam(hl.Float(32), 1, "image"), hl.Func("f")
    value: hl.Expr = image[x]
    for _ in range(count):
        value = value * value + value * 0.5
    f[x] = value
    return program_of([f], [64], "squares")


def in_a_row(count: int) -> Program:
    """The same, where each stage is a Func, all but the last computed inline."""
    last: hl.Func | hl.ImageParam = hl.ImageParam(hl.Float(32), 1, "image")
    for number in range(count):
        stage = hl.Func(f"stage{number}")
        stage[x] = last[x] * last[x] + last[x] * 0.5
        last = stage
    assert isinstance(last, hl.Func)
    return program_of([last], [64], "row")


def text(program: Program, target: Target = CPU) -> str:
    """The kernels, with all that can be inlined inlined."""
    computed_there: list[tuple[str, Where]] = [(array, "inline") for array in sorted(possible_stages(program))]
    found = lower(program, default_plan(program, CPU, choice=Stages(tuple(computed_there))), target)
    return "".join(kernel.text.after for kernel in found.kernels)


def stored(program: Program) -> str:
    """As a store has it; what is read again is the same program."""
    found = to_json(program)
    assert from_json(found, Program) == program
    return found


MEASURES: dict[str, Callable[[Program], int]] = {
    "operators": lambda p: sum(1 for s in p.statements for value in s.body.computed for _ in parts(value)),
    "JSON": lambda p: len(stored(p)),
    "identity": lambda p: len(repr(p)),
    "sequential C": lambda p: len(c_program(p)),
    "OpenCL": lambda p: len(text(p)),
    "CUDA": lambda p: len(text(p, CUDA)),
    "HIP": lambda p: len(text(p, RDNA)),
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("made", [squares, in_a_row])
def test_texts_grow_with_the_graph_and_not_with_the_tree(made: Callable[[int], Program], measure: str) -> None:
    ten, twenty, thirty = (MEASURES[measure](made(count)) for count in (10, 20, 30))
    assert 0 < thirty - twenty <= 1.3 * (twenty - ten)
    assert thirty < 100_000


def test_the_interpreter_computes_each_value_once() -> None:
    data = np.linspace(0, 0.9, 16, dtype=np.float32)
    value: hl.Expr = hl.Buffer(data, "data")[x]
    expected = data
    for _ in range(60):
        value, expected = value * value + value * -0.5, expected * expected + expected * np.float32(-0.5)
    f = hl.Func("f")
    f[x] = value
    np.testing.assert_array_equal(np.asarray(f.realize([16])), expected)


def check(steps: list[Step], kind: Type, names: bool) -> None:
    """The interpreter against numpy; the program in its original order and two plans, each operation exact."""
    rng = np.random.default_rng(len(steps))
    pixels = rng.integers(0, 200, SIZE + 1).astype(kind.numpy)
    image = hl.Buffer(pixels, "image")
    first, second = hl.Func("first"), hl.Func("second")
    first[x] = expression(steps, [image[x], image[x + 1]])
    second[x] = expression(steps, [first[x], image[x]])
    between = computed(steps, [pixels[:-1], pixels[1:]], kind)
    expected = computed(steps, [between, pixels[:-1]], kind)
    found = np.asarray(second.realize([SIZE]))
    given_image = hl.ImageParam(kind, 1, "image")
    first, second = hl.Func("first"), hl.Func("second")
    first[x] = expression(steps, [given_image[x], given_image[x + 1]])
    second[x] = expression(steps, [first[x], given_image[x]])
    program = program_of([second], [SIZE])
    original = run_original(program)
    if names:
        np.testing.assert_array_equal(found, expected)
        read = values_of(original, "image", program)  # one element less where none reads its neighbour
        here, beside = read[:SIZE], np.append(read, read[:1])[1 : SIZE + 1]
        between = computed(steps, [here, beside], kind)
        np.testing.assert_array_equal(values_of(original, "second", program), computed(steps, [between, here], kind))
    for choice in (Stages(), Stages((("first", "inline"),)), Stages((("first", "block"),))):
        if all(array in possible_stages(program) for array, _ in choice.computed):
            memory = run_plan(program, default_plan(program, CPU, choice=choice), rng)
            assert not differences(program, memory, original), choice


@settings(max_examples=12)
@given(graphs())
@pytest.mark.parametrize("kind", few([hl.UInt(8), hl.UInt(32)], 1))
def test_graphs_of_integers_have_the_values_of_their_trees(kind: Type, steps: list[Step]) -> None:
    check(steps, kind, True)


@pytest.mark.slow
@settings(max_examples=40)
@given(graphs())
@pytest.mark.parametrize("kind", [hl.UInt(8), hl.UInt(32)])
def test_many_graphs_of_integers_have_the_values_of_their_trees(kind: Type, steps: list[Step]) -> None:
    check(steps, kind, True)


@settings(max_examples=25)
@given(graphs(REAL))
def test_graphs_of_real_numbers_do_the_operations_of_their_trees(steps: list[Step]) -> None:
    check(steps, hl.Float(32), False)


A, N, C = Load("a", (Name("i"),), 0), Load("n", (Name("i"),), 1), Load("c", (Name("i"),), 2)
TYPES = {"a": "int", "n": "int", "c": "int"}


def long(expr: Expr) -> Expr:
    """Something longer."""
    for k in range(3, 8):
        expr = Binary("+", Binary("*", expr, Int(k)), A)
    return expr


QUOTIENT = Binary("/", long(A), N)
EITHER = Select(Binary("<", C, Int(3)), Binary("+", QUOTIENT, QUOTIENT), A)


def test_a_division_stays_behind_the_condition_that_protects_it() -> None:
    found = shared([EITHER], TYPES, ())
    assert not any(isinstance(part, Binary) and part.op == "/" for _, value in found.lets for part in parts(value))
    ((name, value),) = found.lets  # what is divided does no harm
    assert value == long(A)
    assert sum(1 for part in parts(found.roots[0]) if part == name) == 2


def test_a_division_that_happens_in_any_case_gets_a_name() -> None:
    both = Select(Binary("<", C, Int(3)), Binary("+", QUOTIENT, A), Binary("-", QUOTIENT, C))
    for root in (both, Binary("+", EITHER, QUOTIENT)):
        found = shared([root], TYPES, ())
        assert QUOTIENT in [value for _, value in found.lets]


def test_divisions_by_numbers_and_of_real_numbers_do_no_harm() -> None:
    for value, kinds in ((Binary("/", long(A), Int(3)), TYPES), (QUOTIENT, dict.fromkeys(TYPES, "float"))):
        root = Select(Binary("<", C, Int(3)), Binary("+", value, value), A)
        assert value in [one for _, one in shared([root], kinds, ()).lets]


def test_names_have_the_types_of_their_values_and_no_name_twice() -> None:
    found = shared([Binary("*", QUOTIENT, QUOTIENT)], {"a": "unsigned char", "n": "float"}, {"value_0", "value_2"})
    assert [(name.name, name.type) for name, _ in found.lets] == [("value_1", "float")]


def test_short_values_and_elements_get_no_names() -> None:
    square = Binary("*", Binary("-", A, N), Binary("-", A, N))
    assert shared([square], TYPES, ()).lets == ()


def test_what_cannot_be_shared_and_is_too_long_is_refused() -> None:
    root: Expr = A
    for _ in range(40):
        quotient = Binary("/", Int(7), root)
        root = Select(Binary("<", C, Int(3)), Binary("+", quotient, quotient), N)
    with pytest.raises(TooLong):
        shared([root], TYPES, ())


def test_a_pipeline_that_is_too_long_is_refused_with_name_and_line() -> None:
    image, f = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("far")
    value: hl.Expr = image[x]
    for k in range(30):
        value = hl.select(image[x + k] > 3, (17 / value) * (17 / value) + 19 / value, k)
    f[x] = value
    with pytest.raises(InputError, match="Func `far`"):
        program_of([f], [8])


def test_a_guard_comes_before_what_it_protects() -> None:
    image, f = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("f")
    r = hl.RDom([(0, 8)], "r")
    seen = image[r] * 3 + image[r] * image[r] * 5 + image[r] * 7
    r.where(seen * seen > 40)
    quotient = (seen * seen + image[r + 1] * 3 + image[r + 2]) * image[r + 1]
    f[x] = 0
    f[x] += quotient * quotient
    body = program_of([f], [8]).statements[-1].body
    assert body.guard is not None
    assert 0 < body.before_guard < len(body.lets)
    assert not any(load.access == -1 for load in parts(body.guard) if isinstance(load, Load))


def test_a_stored_program_whose_names_are_wrong_is_refused() -> None:
    program = squares(4)
    statement = program.statements[0]
    (one, value), *more = statement.body.lets

    def changed(*lets: tuple[Name, Expr]) -> str:
        body = replace(statement.body, lets=lets)
        return to_json(replace(program, statements=(replace(statement, body=body),)))

    assert from_json(changed((one, value), *more), Program) == program
    hostile = [
        [*more, (one, value)],  # used before it has a value
        [(one, value)],  # used without one
        [(Name("image", "float"), value), (one, value), *more],
        [(Name("x", "float"), value), (one, value), *more],
        [(Name("value_0;", "float"), value), *more],
        [(one, value), (one, value), *more],
        [(Name(one.name, "float x; int"), value), *more],
    ]
    for lets in hostile:
        with pytest.raises(InputError, match="stored"):
            from_json(changed(*lets), Program)


def test_a_stored_name_proves_no_more_than_its_value() -> None:
    table, image = hl.ImageParam(hl.Int(32), 1, "table"), hl.ImageParam(hl.Int(32), 1, "image")
    level = hl.clamp(image[x] * 3 + image[x] * image[x] * 5 + image[x] * 7, 0, 495)
    f = hl.Func("f")
    f[x] = table[level * 2] + level
    program = program_of([f], [8])
    statement = program.statements[0]
    data = {"image": (0, 9)}
    assert statement.body.lets
    assert not unproven(program, data)
    doubled = tuple((name, Binary("*", value, Int(5000))) for name, value in statement.body.lets)
    large = replace(program, statements=(replace(statement, body=replace(statement.body, lets=doubled)),))
    assert unproven(large, data)
