"""Expansion: loops become parallel, and the expanded program computes what the original one does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import islpy as isl
import numpy as np
import pytest

from generator.errors import InputError
from generator.explain import explain
from generator.expr import Binary, Expr, Int, Load, Name, children, evaluate
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences import expansion
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.dependences.model import model
from generator.program import Access, Program
from generator.schedules.choice import ScheduleChoice
from tests.support.devices import check_default_plan
from tests.support.interpreter import run_original
from tests.support.nests import nest_texts
from tests.support.programs import pairs, program_of, scop
from tests.support.random_nests import check as check_plan
from tests.support.scalars import DECLARATIONS, scalar_nest
from tests.support.slow import few
from tests.support.suite import TARGET, polybench_program, problem


def expanded(body: str) -> Program:
    """The expanded program of a SCoP, checked."""
    program = program_of(scop(body), {"n": 5})
    result = expand(program)
    check(program, result)
    return result


def check(program: Program, result: Program) -> None:
    """`result` computes the results of `program`, by the same statements and the same flow of values."""
    assert run_original(result).global_values(result) == run_original(program).global_values(program)
    results = [{a.name: a for a in p.arrays if a.role != "temp"} for p in (program, result)]
    assert results[0] == results[1]
    old = {s.name: s.text for s in program.statements}
    assert {s.name: s.text for s in result.statements if s.name in old} == old
    assert {p for p in pairs(model(result).flow) if p[1][0] in old} == pairs(model(program).flow)
    for statement in result.statements:
        for load in (part for root in (statement.body.target, statement.body.value) for part in loads(root)):
            check_load(load, statement.accesses[load.access], statement.iterators)
        if statement.body.op:
            read = statement.accesses[statement.body.target.access - 1]
            check_load(statement.body.target, read, statement.iterators)
    for box in result.poison:
        assert len(box.low) == len(result.array(box.array).extents)


def loads(expr: Expr) -> Iterator[Load]:
    if isinstance(expr, Load):
        yield expr
    for child in children(expr):
        yield from loads(child)


def check_load(load: Load, access: Access, iterators: tuple[str, ...]) -> None:
    """The subscripts say what the access relation says."""
    assert access.array == load.array
    for (_, values), element in pairs(isl.UnionMap(access.relation)):
        names = dict(zip(iterators, values, strict=True))
        assert element == (load.array, tuple(evaluate(index, names) for index in load.index))


def copies(program: Program) -> dict[str, tuple[tuple[int, ...], tuple[str, ...]]]:
    """Extents and loops of the expanded arrays."""
    return {a.name: (a.extents, a.expanded) for a in program.arrays if a.expanded}


# SCoP text and its expanded arrays.
CASES: dict[str, tuple[str, dict[str, tuple[tuple[int, ...], tuple[str, ...]]]]] = {
    "per iteration": ("double w; for (i = 0; i < 8; i++) { w = x[i]; y[i] = w * w; }", {"w": ((8,), ("i",))}),
    "two live ranges": ("double w; for (i = 0; i < 8; i++) { w = x[i]; y[i] = w; w = A[i][0]; B[i][0] = w; }",
                        {"w": ((8,), ("i",)), "w_2": ((8,), ("i",))}),
    "an update ends one and begins another": (
        "double w; for (i = 0; i < 8; i++) { w = x[i]; w = w + 1; y[i] = w; }",
        {"w": ((8,), ("i",)), "w_2": ((8,), ("i",))}),
    "a compound update goes on with it": ("double w; for (i = 0; i < 8; i++) { w = x[i]; w += 1; y[i] = w; }",
                                          {"w": ((8,), ("i",))}),
    "two nests": (("double w; for (i = 0; i < 8; i++) { w = x[i]; y[i] = w; } "
                  "for (j = 0; j < 4; j++) { w = A[j][1]; B[j][1] = w; }"),
                  {"w": ((8,), ("i",)), "w_2": ((4,), ("j",))}),
    "crosses the loop": ("double w = 0; for (i = 0; i < 8; i++) { w = w + x[i]; y[i] = w; }", {}),
    "crosses the inner loop": (("double w; for (i = 0; i < 8; i++) { w = 0; for (j = 0; j < 4; j++) { w += A[i][j]; "
                               "B[i][j] = w; } }"), {"w": ((8,), ("i",))}),
    "one of its live ranges crosses": (
        "double w; for (i = 0; i < 8; i++) { w = x[i]; y[i] = w; } w = 0; for (i = 0; i < 8; i++) w += x[i]; s = w;",
        {"w_2": ((8,), ("i",))}),
    "triangle": ("double w; for (i = 0; i < 6; i++) for (j = 0; j < i; j++) { w = A[i][j]; B[i][j] = w * w; }",
                 {"w": ((5, 5), ("i", "j"))}),
    "zero trips": ("double w; for (i = 0; i < 4; i++) { w = x[i]; for (j = 2; j < i; j++) w += A[i][j]; y[i] = w; }",
                   {"w": ((4,), ("i",))}),
    "decreasing": ("double w; for (i = 7; i >= 2; i--) { w = x[i]; y[i] = w; }", {"w": ((6,), ("i",))}),
    "step": ("double w; for (i = 1; i < 8; i += 2) { w = x[i]; y[i] = w; }", {"w": ((7,), ("i",))}),
    "negative iterators": ("double w; for (i = -3; i < 3; i++) { w = x[i + 3]; y[i + 3] = w; }",
                           {"w": ((6,), ("i",))}),
    "the loop stays serial": ("double w; for (i = 1; i < 8; i++) { w = x[i - 1]; x[i] = w + 1; }", {}),
    "only the inner loop is freed": (("double w; for (i = 0; i < 8; i++) for (j = 0; j < 4; j++) { w = A[i][j]; "
                                     "A[i + 1][j] = w; }"), {"w": ((4,), ("j",))}),
    "only the outer loop is freed": (("double w; for (i = 0; i < 8; i++) for (j = 1; j < 4; j++) { w = A[i][j - 1]; "
                                     "A[i][j] = w; }"), {"w": ((8,), ("i",))}),
    "serial because of another": ("double w, v = 0; for (i = 0; i < 8; i++) { w = x[i]; v += w; y[i] = v; }", {}),
    "small array": (("double p[4]; for (i = 0; i < 8; i++) { for (j = 0; j < 4; j++) p[j] = A[i][j]; "
                    "for (j = 0; j < 4; j++) B[i][j] = p[3 - j]; }"), {"p": ((8, 4), ("i",))}),
    "free as it is": ("double p[8]; for (i = 0; i < 8; i++) { p[i] = x[i]; y[i] = p[i]; }", {}),
    "read first": ("for (i = 0; i < 8; i++) { y[i] = s; s = x[i]; }", {}),
    "name taken": ("double w, w_2 = 1; for (i = 0; i < 8; i++) { w = x[i]; w = w + w_2; y[i] = w; }",
                   {"w": ((8,), ("i",)), "w_3": ((8,), ("i",))}),
    "never read": ("double w; for (i = 0; i < 8; i++) { w = x[i]; y[i] = 1; }", {"w": ((8,), ("i",))}),
    "result": ("for (i = 0; i < 8; i++) { s = x[i]; y[i] = s * s; }", {"s_2": ((8,), ("i",))}),
    "small result": (("for (i = 0; i < 8; i++) { for (j = 0; j < 4; j++) y[j] = A[i][j]; "
                     "for (j = 0; j < 4; j++) B[i][j] = y[j]; }"), {"y_2": ((8, 64), ("i",))}),
    "growing result": (("for (i = 0; i < 4; i++) { for (j = 0; j <= i; j++) y[j] = A[i][j]; "
                       "for (j = 0; j <= i; j++) B[i][j] = y[j]; }"), {"y_2": ((4, 64), ("i",))}),
    "a result that several iterations leave": (
        ("for (i = 0; i < 4; i++) { for (j = i; j < 4; j++) y[j] = A[i][j]; "
        "for (j = i; j < 4; j++) B[i][j] = y[j]; }"), {}),
    "a later nest writes the result": (
        "for (i = 0; i < 8; i++) { s = x[i]; y[i] = s * s; } s = x[3]; B[0][0] = s;", {"s_2": ((8,), ("i",))}),
}


@pytest.mark.parametrize("name", CASES)
def test_copies(name: str) -> None:
    body, expected = CASES[name]
    assert copies(expanded(body)) == expected


def test_subscripts_begin_at_zero() -> None:
    (first, second) = expanded("double w; for (i = 7; i >= 2; i--) { w = x[i]; y[i] = w; }").statements
    index = (Binary("-", Name("i"), Int(2)),)
    assert first.body.target == Load("w", index, 1)
    assert second.body.value == Load("w", index, 0)
    assert first.text == "w = x[i];"


def test_the_last_value_of_a_result_is_copied_back() -> None:
    program = expanded("for (i = 0; i < 3; i++) { for (j = 2; j < 6; j++) y[j] = A[i][j]; "
                       "for (j = 2; j < 6; j++) B[i][j] = y[j]; }")
    copy = program.statements[-1]
    assert (copy.name, copy.text, copy.line, copy.iterators) == ("S2", "y[j] = y_2[2][j];", 5, ("j",))
    assert {values for _, values in (pair[0] for pair in pairs(isl.UnionMap(copy.accesses[1].relation)))} == {
        (2,), (3,), (4,), (5,)}
    assert [box.array for box in program.poison] == ["B", "y"]


def test_temporary_elements_are_no_longer_poisoned_one_by_one() -> None:
    body = "double p[4]; for (i = 0; i < 8; i++) { p[0] = x[i]; y[i] = p[0]; }"
    assert {box.array for box in program_of(scop(body)).poison} == {"p", "y"}
    assert {box.array for box in expanded(body).poison} == {"y"}


def test_nothing_to_do_changes_nothing() -> None:
    program = program_of(scop("for (i = 0; i < 8; i++) y[i] = s * x[i];"))
    assert expand(program) is program


def test_the_same_every_time() -> None:
    program = program_of(scop(CASES["two live ranges"][0]))
    assert expand(program) == expand(program)


SQUARES = "double w; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) { w = x[i]; B[i][j] = w; }"


@pytest.mark.parametrize(("most", "growth", "expected"), [
    (2**20, 64, ((8, 8), ("i", "j"))), (256, 64, ((8,), ("i",))), (2**20, 0.05, ((8,), ("i",))), (63, 64, None)])
def test_copies_are_bounded(most: int, growth: float, expected: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MAX_BYTES", most)
    monkeypatch.setattr(expansion, "MAX_GROWTH", growth)
    assert copies(expanded(SQUARES)).get("w") == expected


def with_kind(program: Program, name: str, relation: str, guard: Expr | None = None) -> Program:
    """`program` with statement `name` writing perhaps only (to `relation`), if `guard`."""
    statement = program.statement(name)
    accesses = list(statement.accesses)
    target = statement.body.target
    accesses[target.access] = Access(target.array, relation or accesses[target.access].relation, "may_write")
    changed = replace(statement, accesses=tuple(accesses), body=replace(statement.body, guard=guard))
    return replace(program, statements=tuple(changed if s.name == name else s for s in program.statements))


def test_writes_that_may_not_happen_keep_earlier_values_alive() -> None:
    body = "double w; for (i = 0; i < 8; i++) { w = x[i]; w = y[i]; B[0][i] = w; }"
    guarded = with_kind(program_of(scop(body)), "S1", "", Binary("<", Load("y", (Name("i"),), 0), Int(3)))
    result = expand(guarded)
    assert copies(result) == {"w": ((8,), ("i",))}  # one live range: what S0 wrote may be what S2 reads
    assert copies(expanded(body)) == {"w": ((8,), ("i",)), "w_2": ((8,), ("i",))}
    alone = "double w; for (i = 0; i < 8; i++) { w = y[i]; B[0][i] = w; }"
    assert copies(expand(with_kind(program_of(scop(alone)), "S0", ""))) == {}  # perhaps an earlier iteration's


def test_guards_move_with_their_arrays() -> None:
    body = "double w; for (i = 0; i < 8; i++) { w = x[i]; y[i] = w; }"
    program = program_of(scop(body))
    guarded = with_kind(program, "S1", "", Binary("<", Load("w", (), 0), Int(3)))
    assert expand(guarded).statements[1].body.guard == Binary("<", Load("w", (Name("i"),), 0), Int(3))


def test_results_and_subscripts_that_depend_on_data_stay() -> None:
    result = program_of(scop("for (i = 0; i < 8; i++) { s = x[i]; s = y[i]; B[0][i] = s; }"))
    assert expand(with_kind(result, "S1", "")) is not result
    assert copies(expand(with_kind(result, "S1", ""))) == {}
    body = "double p[4]; for (i = 0; i < 8; i++) { p[0] = x[i]; p[1] = y[i]; B[0][i] = p[0]; }"
    whole = "{ S1[i] -> p[e] : 0 <= i <= 7 and 0 <= e <= 3 }"
    assert copies(expand(with_kind(program_of(scop(body)), "S1", whole))) == {}


def test_explain_names_the_loops() -> None:
    program = expanded(SQUARES)
    text = explain(program, default_plan(program, TARGET), TARGET)
    assert "double w[8][8]: local to the SCoP; expanded along i, j (its values never cross these loops)" in text


def expand_seed(text: str, rng: np.random.Generator, plans: bool) -> str:
    """Expand a random nest and compare; what came of it."""
    try:
        program = program_of(text)
    except InputError:
        return "empty"  # nothing is ever executed
    result = expand(program)
    if result is program:
        return "as it was"
    check(program, result)
    if plans:
        check_plan(result, rng)
    return "copied back" if len(result.statements) > len(program.statements) else "expanded"


def test_random_nests() -> None:
    rng = np.random.default_rng(3)
    counts = Counter(expand_seed(scop(scalar_nest(seed), DECLARATIONS), rng, seed % 4 == 0) for seed in range(9))
    counts += Counter(expand_seed(nest_texts(seed)[0], rng, False) for seed in range(7))
    assert counts["expanded"] >= 5
    assert counts["copied back"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_many_random_nests(first: int) -> None:
    rng = np.random.default_rng(first)
    counts = Counter(expand_seed(scop(scalar_nest(seed), DECLARATIONS), rng, seed % 2 == 0)
                     for seed in range(first, first + 100))
    assert counts["expanded"] >= 20
    assert counts["copied back"] >= 10


# Parallel extents of the default schedule's kernels, by statements; () runs in one thread.
MINI: dict[str, dict[str, tuple[int, ...]]] = {
    "deriche": {"S13": (64,), "S20": (64,), "S30": (64,), "S37": (64,)},
    "doitgen": {"S1": (10, 8, 12), "S2": (10, 8, 12)},
    "ludcmp": {"S4": (40,), "S5": (40,), "S7": ()},
    "symm": {"S1": (30, 19), "S2": (30,), "S3": (30,)},
}


@pytest.mark.parametrize("name", few(MINI, ("symm",)))
def test_parallel_loops_of_polybench(name: str) -> None:
    shapes = {statement: shape.extents for shape in kernel_shapes(polybench_program(name), ScheduleChoice())
              for statement in shape.statements}
    assert {statement: shapes[statement] for statement in MINI[name]} == MINI[name]


@pytest.mark.parametrize("name", few(["adi", "correlation", "durbin", "gramschmidt", "nussinov"], ["durbin"]))
def test_loops_that_others_keep_serial_get_no_copies(name: str) -> None:
    assert copies(polybench_program(name)) == {}


@pytest.mark.parametrize("name", few(MINI, ("doitgen",)))
def test_expanded_programs_are_right_on_pocl(name: str, tmp_path: Path) -> None:
    found = problem(name)
    check_default_plan(found)
