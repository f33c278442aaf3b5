"""Conditions and subscripts that depend on data: what the model says of them, and that it computes what C computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import islpy as isl
import numpy as np
import pytest

from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.expr import Binary, Expr, Int, Load, Name, Unary, children
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.dependences.model import model
from generator.program import Program, Statement
from generator.schedules.choice import ScheduleChoice
from tests.support.conditions import Values, branching_text, run_program
from tests.support.interpreter import Device, Memory, assign, evaluate
from tests.support.plans import lowered_kernels
from tests.support.programs import instances, original_order, pairs, program_of, scop
from tests.support.random_nests import lowered_plan, random_choice
from tests.support.slow import in_turn
from tests.support.suite import TARGET

GARBAGE = 999_983
SCALARS = {"s": 3, "m": 2}  # sizes of the program where the SCoP does not write them


def access_sets(statement: Statement) -> list[tuple[str, str]]:
    """Kinds and arrays of the accesses, in order."""
    return [(access.kind, access.array) for access in statement.accesses]


def touched(statement: Statement, number: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(iteration, element) of one access."""
    return {(x, e) for (_, x), (_, e) in pairs(isl.UnionMap(statement.accesses[number].relation))}


def domain(statement: Statement) -> set[tuple[int, ...]]:
    return {values for _, values in instances(isl.UnionSet(statement.domain))}


def roles(program: Program) -> dict[str, str]:
    return {array.name: array.role for array in program.arrays}


def test_a_subscript_from_an_array_may_be_any_element() -> None:
    (statement,) = program_of(scop("for (i = 0; i < 3; i++) y[i] = x[idx[i]];")).statements
    assert access_sets(statement) == [("read", "idx"), ("read", "x"), ("write", "y")]
    assert touched(statement, 1) == {((i,), (e,)) for i in range(3) for e in range(64)}
    assert statement.body.value == Load("x", (Load("idx", (Name("i"),), 0),), 1)


def test_a_write_to_any_element_is_no_certain_one() -> None:
    program = program_of(scop("for (i = 0; i < 3; i++) x[idx[i]] += y[i];"))
    (statement,) = program.statements
    assert access_sets(statement) == [("read", "y"), ("read", "idx"), ("read", "x"), ("may_write", "x")]
    assert statement.body.target == Load("x", (Load("idx", (Name("i"),), 1),), 3)
    assert roles(program) == {"idx": "in", "x": "inout", "y": "in"}
    assert program.poison == ()


def test_affine_subscripts_beside_it_stay_exact() -> None:
    program = program_of(scop("for (i = 0; i < 3; i++) for (j = 0; j < 4; j++) A[i][idx[j]] += 1;"))
    assert touched(program.statements[0], 1) == {((i, j), (i, e)) for i in range(3) for j in range(4)
                                                 for e in range(16)}
    (shape,) = kernel_shapes(program, ScheduleChoice())
    assert shape.extents == (3,)


# Subscripts that are not affine, though no array stands in them.
OTHER = {"product": "i * i", "of two": "i * n % (i + 1)", "bits": "i & 5", "real": "(int)(0.5 * i)",
         "quotient": "n / (i + 1)", "unsigned": "(i - 1u) % 64", "narrow": "(unsigned char)(i + 300) / 8",
         "comparison": "i < 2", "chosen": "i > 1.5 ? i : 0"}


@pytest.mark.parametrize("name", OTHER)
def test_other_subscripts(name: str) -> None:
    (statement,) = program_of(scop(f"for (i = 0; i < 3; i++) y[i] = x[{OTHER[name]}];"), {"n": 5}).statements
    assert touched(statement, 0) == {((i,), (e,)) for i in range(3) for e in range(64)}
    assert statement.body.value == Load("x", statement.body.value.index, 0)  # type: ignore[union-attr]  # the value is a Load


def test_a_scalar_of_the_scop_as_subscript() -> None:
    program = program_of(scop("for (i = 0; i < 3; i++) { int m = (int)(y[i] + 1); x[m] = 0; }"))
    assert access_sets(program.statements[1]) == [("read", "m"), ("may_write", "x")]


def test_a_scalar_that_is_a_sum_of_iterators_is_the_subscript() -> None:
    (statement,) = program_of(scop("for (i = 0; i < 3; i++) { int m = i + 1; x[m] = 0; }")).statements
    assert access_sets(statement) == [("write", "x")]


def test_casts_of_affine_subscripts_go_and_of_others_stay() -> None:
    body = "for (unsigned u = 0; u < 3; u++) { x[u] = 0; y[idx[u] - u] = 0; }"
    first, second = program_of(scop(body)).statements
    assert first.body.target.index == (Name("u"),)
    assert "Cast(type='unsigned int', operand=Name(name='u'))" in str(second.body.target.index)


def test_a_condition_on_data_is_a_guard() -> None:
    program = program_of(scop("for (i = 0; i < 3; i++)\n if (x[i] > 0)\n y[i] = 1;\n else\n y[i] -= s;"))
    first, second = program.statements
    assert [s.text for s in program.statements] == ["if (x[i] > 0) y[i] = 1;", "if (!(x[i] > 0)) y[i] -= s;"]
    assert [s.line for s in program.statements] == [7, 9]
    test = Binary(">", Load("x", (Name("i"),), 0), Int(0))
    assert (first.body.guard, second.body.guard) == (test, Unary("!", test))
    assert access_sets(first) == [("read", "x"), ("may_write", "y")]
    assert access_sets(second) == [("read", "x"), ("read", "s"), ("read", "y"), ("may_write", "y")]
    assert second.body.target.access == 3
    assert roles(program) == {"x": "in", "y": "inout", "s": "in"}


def test_explain_shows_the_condition() -> None:
    program = program_of(scop("for (i = 0; i < 3; i++) if (x[i] > 0) y[i] = 0;"))
    text = explain(program, default_plan(program, TARGET), TARGET)
    assert "S0 (line 5): if (x[i] > 0) y[i] = 0;" in text
    assert "if (x[t0] > 0) {\n" in text


# Condition on i = 0..5 (j is 3), the iterations of `then` and of `else`, and whether they have guards.
ALL = set(range(6))
REGIONS: dict[str, tuple[str, set[int], set[int], tuple[bool, bool]]] = {
    "data": ("x[i] > 0", ALL, ALL, (True, True)),
    "affine first": ("i < 3 && x[i] > 0", {0, 1, 2}, ALL, (True, True)),
    "affine last": ("x[i] > 0 && i < 3", {0, 1, 2}, ALL, (True, True)),
    "affine around": ("i > 0 && x[i] > 0 && i < 3", {1, 2}, ALL, (True, True)),
    "or": ("i < 3 || x[i] > 0", ALL, {3, 4, 5}, (True, True)),
    "not and": ("!(i < 3 && x[i] > 0)", ALL, {0, 1, 2}, (True, True)),
    "not or": ("!(i < 3 || x[i] > 0)", {3, 4, 5}, ALL, (True, True)),
    "not not": ("!!(i < 3 && x[i] > 0)", {0, 1, 2}, ALL, (True, True)),
    "never": ("i < 0 && x[i] > 0", set(), ALL, (False, False)),
    "always": ("i >= 0 || x[i] > 0", ALL, set(), (False, False)),
    "not affine without data": ("i * i > 7", ALL, ALL, (True, True)),
    "wraps around": ("i - 3u < 2", ALL, ALL, (True, True)),
    "affine after all": ("i * 2 > 7", {4, 5}, {0, 1, 2, 3}, (False, False)),
}


@pytest.mark.parametrize("name", REGIONS)
def test_iterations_of_branches(name: str) -> None:
    condition, then, otherwise, guards = REGIONS[name]
    program = program_of(scop(f"for (i = 0; i < 6; i++) if ({condition}) y[i] = 1; else y[i + 10] = 2;"))
    found = {s.body.value: s for s in program.statements}
    for value, expected, guarded in ((Int(1), then, guards[0]), (Int(2), otherwise, guards[1])):
        assert (domain(found[value]) if value in found else set()) == {(i,) for i in expected}
        if value in found:
            assert (found[value].body.guard is not None) == guarded
            assert found[value].accesses[-1].kind == ("may_write" if guarded else "write")


def test_what_stands_before_protects_what_is_read() -> None:
    (statement,) = program_of(scop("for (i = 0; i < 4; i++) if (i == 0 || x[i - 1] > 0) y[i] = 0;")).statements
    assert touched(statement, 0) == {((i,), (i - 1,)) for i in (1, 2, 3)}


# SCoPs and whether their condition must be evaluated by a statement of its own.
ONCE = {
    "written last": ("if (x[i] > s) { y[i] = 1; s = x[i]; }", False),
    "written alone": ("if (x[i] > s) s = x[i];", False),
    "written first": ("if (x[i] > s) { s = x[i]; y[i] = 1; }", True),
    "in both parts": ("if (x[i] > s) y[i] = 1; else s = x[i];", False),
    "before the other part": ("if (x[i] > s) s = x[i]; else y[i] = 1;", True),
    "in a loop": ("if (x[i] > s) for (j = 0; j < 4; j++) s += 1;", True),
    "written inside": ("if (x[i] > s) { if (y[i] > 0) s = 1; y[i] = 1; }", True),
    "written inside last": ("if (x[i] > s) { y[i] = 1; if (y[i + 1] > 0) s = 1; }", False),
    "subscript of the condition": ("if (x[idx[i]] > 0) { idx[i] = 1; y[i] = 1; }", True),
    "counted": ("if (x[i] > s) { s++; y[i] = 1; }", True),
    "chained": ("if (x[i] > s) y[i] = s = 1;", True),
    "nothing of it": ("if (x[i] > s) { y[i] = 1; A[i][0] = 2; }", False),
}


@pytest.mark.parametrize("name", ONCE)
def test_conditions_are_evaluated_once(name: str) -> None:
    body, kept = ONCE[name]
    program = program_of(scop(f"for (i = 2; i < 7; i++) {body}"))
    tests = [a for a in program.arrays if a.name == "test_1"]
    assert bool(tests) == kept
    assert all((a.type, a.extents, a.role) == ("int", (5,), "temp") for a in tests)
    assert program.statements[0].text.startswith("test_1[i - 2] = (" if kept else "if (x[i] > s)")


def test_nested_kept_conditions() -> None:
    body = ("for (i = 0; i < 4; i++) for (j = i; j < 4; j++) if (x[i] > 0) { if (y[j] > 0) { y[j] = 0; x[i] = 0; } "
            "else s = 1; s = 2; }")
    program = program_of(scop(body))
    assert [s.text for s in program.statements] == [
        "test_1[i][j] = (x[i] > 0) != 0;", "test_2[i][j] = test_1[i][j] && ((y[j] > 0) != 0);",
        "if (test_1[i][j] && test_2[i][j]) y[j] = 0;", "if (test_1[i][j] && test_2[i][j]) x[i] = 0;",
        "if (test_1[i][j] && (!test_2[i][j])) s = 1;", "if (test_1[i][j]) s = 2;"]
    assert [s.accesses[-1].kind for s in program.statements[:2]] == ["write", "write"]


def test_names_of_kept_conditions_are_free() -> None:
    body = "for (i = 0; i < 4; i++) if (x[i] > s) { s = test_1; y[i] = 1; }"
    declarations = "double x[64], y[64], s, test_1; int test_2;"
    assert program_of(scop(body, declarations)).statements[0].text.startswith("test_2[i] = ")
    more = body.replace("y[i] = 1", "test_2 = 1")
    assert program_of(scop(more, declarations)).statements[0].text.startswith("test_3[i] = ")


def test_a_condition_outside_all_loops() -> None:
    program = program_of(scop("if (s > 0) { s = 0; x[0] = 1; }"))
    assert program.array("test_1").extents == ()
    assert [s.text for s in program.statements] == ["test_1 = (s > 0) != 0;", "if (test_1) s = 0;",
                                                    "if (test_1) x[0] = 1;"]


def test_elements_that_may_keep_their_values_are_live() -> None:
    program = program_of(
        scop("for (i = 0; i < 4; i++) { y[i] = 0; if (x[i] > 0) y[i] = 1; if (x[i] > 1) A[i][0] = 1; }")
    )
    assert roles(program) == {"x": "in", "y": "out", "A": "inout"}
    assert [(box.array, box.low, box.high) for box in program.poison] == [("y", (0,), (3,))]
    later = program_of(scop("for (i = 0; i < 4; i++) if (x[i] > 0) y[i] = 1; for (i = 1; i < 4; i++) y[i] = 2;"))
    assert roles(later)["y"] == "inout"
    assert [(box.array, box.low, box.high) for box in later.poison] == [("y", (1,), (3,))]


def test_reads_of_what_may_be_overwritten_reach_back() -> None:
    program = program_of(scop("y[0] = 1; if (x[0] > 0) y[0] = 2; s = y[0];"))
    assert {(a[0], b[0]) for a, b in pairs(model(program).flow)} == {("S0", "S2"), ("S1", "S2")}


def test_a_condition_does_not_make_loops_serial() -> None:
    program = program_of(scop("for (i = 0; i < 9; i++) for (j = 0; j < 7; j++) if (A[i][j] > s) B[i][j] = A[i][j]; "
                              "else B[i][j] += 1;"))
    assert [shape.extents for shape in kernel_shapes(program, ScheduleChoice())] == [(9, 7)]
    gather = program_of(scop("for (i = 0; i < 9; i++) y[i] = x[idx[i]];"))
    assert [shape.extents for shape in kernel_shapes(gather, ScheduleChoice())] == [(9,)]
    histogram = program_of(scop("for (i = 0; i < 9; i++) x[idx[i]] += 1;"))
    assert [shape.extents for shape in kernel_shapes(histogram, ScheduleChoice())] == [()]


def test_no_shared_copies_of_arrays_with_unknown_subscripts() -> None:
    program = program_of(
        scop("for (i = 0; i < 9; i++) for (j = 0; j < 7; j++) A[i][j] += x[idx[i]] * y[j] * y[j + 1];")
    )
    (shape,) = kernel_shapes(program, ScheduleChoice())
    assert {"idx", "y"} <= set(shape.shareable)
    assert "x" not in shape.shareable


def test_terms_of_real_subscripts_keep_their_order() -> None:
    program = program_of(scop("for (i = 0; i < 9; i++) B[0][i] = x[(int)(y[i] - s + A[0][i])];"))
    text = explain(program, default_plan(program, TARGET), TARGET)
    assert "x[(int)(y[t0] - s + A[0 * 16 + t0])]" in text


# ---- what C computes


class Watched(Memory):
    """A memory that notes which elements are used."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.used: set[tuple[str, tuple[int, ...]]] = set()

    def check(self, array: str, index: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        self.used.add((array, index))
        return super().check(array, index)


def run_original(program: Program, memory: Watched) -> None:
    """The program in its original order; every access must be among those that the model knows."""
    statements = {s.name: s for s in program.statements}
    allowed: dict[tuple[str, tuple[int, ...]], set[tuple[str, tuple[int, ...]]]] = {}
    for statement in program.statements:
        for access in statement.accesses:
            for instance, element in pairs(isl.UnionMap(access.relation)):
                allowed.setdefault(instance, set()).add(element)
    for name, values in original_order(program):
        statement = statements[name]
        names = dict(zip(statement.iterators, values, strict=True))
        memory.used.clear()
        if statement.body.guard is None or evaluate(statement.body.guard, names, memory):
            assign(statement.body, names, memory)
        assert memory.used <= allowed[name, values]


def started(program: Program, values: Values) -> Watched:
    """A memory with the given values, and garbage where the program says that they do not matter."""
    memory = Watched(program)
    memory.values = {e: v for e, v in values.items() if e[0] in memory.extents}
    for box in program.poison:
        for index in product(*(range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))):
            memory.values[box.array, index] = GARBAGE
    return memory


def results(program: Program, memory: Memory) -> Values:
    written = {array.name for array in program.outputs}
    return {element: value for element, value in memory.values.items() if element[0] in written}


def loads(expr: Expr) -> Iterator[Load]:
    if isinstance(expr, Load):
        yield expr
    for child in children(expr):
        yield from loads(child)


def check_numbers(program: Program) -> None:
    """Every load has the number of an access to its array; reads and writes are told apart."""
    for statement in program.statements:
        body = statement.body
        found = [load for part in (body.guard, body.value, *body.target.index) if part is not None
                 for load in loads(part)]
        assert sorted(load.access for load in found) == [
            k for k, a in enumerate(statement.accesses) if a.kind == "read" and k != body.target.access - bool(body.op)]
        assert all(statement.accesses[load.access].array == load.array for load in (*found, body.target))
        assert statement.accesses[body.target.access].kind != "read"


def compare(seed: int, rng: np.random.Generator, plans: int) -> str:
    """Run a random program in C, by its model, and by random plans; what came of it."""
    text = branching_text(seed)
    try:
        program = program_of(text, SCALARS)
    except InputError as error:
        assert "no statement that is ever executed" in str(error), text
        return "empty"
    before, after = run_program(text)
    for one in (program, expand(program)):
        check_numbers(one)
        memory = started(one, before)
        run_original(one, memory)
        assert results(one, memory) == {e: v for e, v in after.items() if e in results(one, memory)}, text
        assert {e for e, v in after.items() if before[e] != v} <= set(results(one, memory)), text
    for _ in range(plans):
        run_plan(expand(program), before, after, rng)
    kept = any(array.name.startswith("test_") for array in program.arrays)
    guarded = any(s.body.guard is not None for s in program.statements)
    return "kept" if kept else "guarded" if guarded else "plain"


def run_plan(program: Program, before: Values, after: Values, rng: np.random.Generator) -> None:
    choice = random_choice(rng)
    try:
        plan, variant = lowered_plan(program, choice, rng)
    except IllegalPlan as error:
        assert "isl " in str(error) or "was given up" in str(error)
        return
    kernels = lowered_kernels(program, plan)
    device = Device(program, kernels, rng)
    device.memory.values = dict(started(program, before).values)
    device.run(variant.host, {})
    found = results(program, device.memory)
    assert found == {e: v for e, v in after.items() if e in found}, plan.to_json()


@in_turn
def test_random_programs() -> None:
    rng = np.random.default_rng(7)
    counts = Counter(compare(seed, rng, int(seed % 3 == 0)) for seed in range(9))
    assert counts["guarded"] >= 1
    assert counts["kept"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_many_random_programs(first: int) -> None:
    rng = np.random.default_rng(first)
    counts = Counter(compare(seed, rng, 1) for seed in range(first, first + 100))
    assert counts["guarded"] >= 10
    assert counts["kept"] >= 30
