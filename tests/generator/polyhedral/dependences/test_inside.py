"""The proof that a stored program stays inside its arrays: it succeeds for every program of the suites, and ranges are
right.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.search.trust import _ranges
from experiments.suites.image_pipelines import PIPELINES
from generator.errors import InputError
from generator.expr import Binary, Cast, Expr, Int, Load, Name, Select, Unary, evaluate, map_children
from generator.frontend_c.source import Compilation
from generator.intervals import Intervals
from generator.polyhedral.dependences.inside import unproven
from generator.program import Program
from generator.words_of_programs import check_words
from tests.support.paths import SUITES
from tests.support.programs import isl_schedule, program_of, scop
from tests.support.reading import read_untimed
from tests.support.slow import few

C_FILES = sorted([*SUITES.glob("polybench/*.c"), *SUITES.glob("everyday/*.c")])
FAST = ("durbin.c", "spmv.c")
AT_COMPUTED_PLACES = {"lens_blur": {"radius", "depth", "extended"}}
"""Arrays of pipelines that are read at places which another stage computes: nothing is known of its values."""


@pytest.mark.parametrize(
    "file", few(C_FILES, [file for file in C_FILES if file.name in FAST]), ids=lambda file: file.name
)
def test_every_c_program_is_proven(file: Path) -> None:
    problem = read_untimed(
        file, Compilation(defines=("MINI_DATASET",) if file.parent.name == "polybench" else ()), None, None, {}, 0
    )
    check_words(problem.program)
    assert unproven(problem.program, _ranges(problem.program, problem.reference.inputs)) == ()


@pytest.mark.parametrize(
    "pipeline",
    few(PIPELINES, [p for p in PIPELINES if p.name == "unsharp"]),
    ids=lambda pipeline: pipeline.name,
)
def test_every_pipeline_is_proven(pipeline: Any) -> None:
    problem = read_untimed(pipeline.file, Compilation(), None, None, dict(pipeline.parameters_at("small")), 0)
    check_words(problem.program)
    found = unproven(problem.program, _ranges(problem.program, problem.reference.inputs))
    assert {words.split("`")[1] for words in found} == AT_COMPUTED_PLACES.get(pipeline.name, set())


@pytest.mark.parametrize(
    ("body", "data", "proven"),
    [
        ("for (i = 0; i < 64; i++) x[idx[i]] = 1;", (0, 63), True),
        ("for (i = 0; i < 64; i++) x[idx[i]] = 1;", (0, 64), False),
        ("for (i = 0; i < 64; i++) x[idx[i]] = 1;", (-1, 63), False),
        ("for (i = 0; i < 64; i++) x[(idx[i] & 15) * 4] = 1;", None, True),
        ("for (i = 0; i < 64; i++) x[idx[i] & 63] = 1;", None, True),
        (
            "for (i = 0; i < 64; i++) if (idx[i] >= 0 && idx[i] < 64) x[i] = y[idx[i]];",
            None,
            False,
        ),  # of the values nothing is kept
        ("for (i = 0; i < 64; i++) x[i] = y[idx[i] < 0 ? 0 : 63];", None, True),
        ("for (i = 0; i < 64; i++) { s = 0; for (j = 0; j < idx[i]; j++) s += y[j]; x[i] = s; }", (-5, 64), True),
        ("for (i = 0; i < 64; i++) { s = 0; for (j = 0; j < idx[i]; j++) s += y[j]; x[i] = s; }", (0, 65), False),
        ("for (i = 0; i < 64; i++) { s = 0; for (j = 0; j < idx[i] && j < 64; j++) s += y[j]; x[i] = s; }", None, True),
        ("for (i = 0; i < 64; i++) { s = 0; for (j = idx[i]; j > 0; j--) s += y[j]; x[i] = s; }", (0, 63), True),
        ("for (i = 0; i < 64; i++) x[i] = y[idx[i] * 2147483647];", (0, 2), False),  # it wraps around
    ],
)
def test_what_data_decide(body: str, data: tuple[int, int] | None, proven: bool) -> None:
    program = program_of(scop(body))
    assert (unproven(program, {} if data is None else {"idx": data}) == ()) == proven


def test_values_of_arrays_that_are_written_prove_nothing() -> None:
    program = program_of(scop("for (i = 0; i < 64; i++) { x[idx[i]] = 1; idx[i] = 99; }"))
    assert unproven(program, {"idx": (0, 63)})


NAMES = {"i": (-3, 9), "j": (0, 4)}
DATA = {"a": (-7, 30)}
LEAVES = st.one_of(
    st.integers(-20, 20).map(lambda v: Int(v) if v >= 0 else Unary("-", Int(-v))),
    st.sampled_from([Name("i"), Name("j")]),
    st.just(Load("a")),
)


def grown(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    operators = ["+", "-", "*", "/", "%", "min", "max", "<", "<=", ">", ">=", "==", "!=", "&&", "||"]
    return st.one_of(
        st.builds(Binary, st.sampled_from(operators), inner, inner),
        st.builds(Unary, st.sampled_from(["-", "!", "+"]), inner),
        st.builds(Select, inner, inner, inner),
    )


def bound(expr: Expr, value: int) -> Expr:
    """`expr` with `value` for the array's element."""
    return Int(value) if isinstance(expr, Load) else map_children(expr, lambda part: bound(part, value))


@settings(max_examples=400)
@given(st.recursive(LEAVES, grown, max_leaves=8), st.integers(-3, 9), st.integers(0, 4), st.integers(-7, 30))
def test_ranges_hold_every_value(expr: Expr, i: int, j: int, element: int) -> None:
    low, high = Intervals(DATA, {"a": "int"}).integer(expr, NAMES)
    try:
        value = evaluate(bound(expr, element), {"i": i, "j": j})
    except ZeroDivisionError:
        return
    assert low <= value <= high


@pytest.mark.parametrize(("expr", "expected"), [
    (Cast("unsigned char", Load("a")), (0, 255)),
    (Cast("unsigned char", Binary("+", Load("a"), Int(7))), (0, 37)),
    (Binary("%", Load("a"), Int(8)), (-7, 7)),
    (Binary("&", Load("a"), Int(12)), (0, 12)),
    (Binary(">>", Binary("+", Load("a"), Int(7)), Int(1)), (0, 18)),
])
def test_ranges(expr: Expr, expected: tuple[int, int]) -> None:
    assert Intervals(DATA, {"a": "int"}).integer(expr, {}) == expected


def test_data_with_no_numbers_have_no_range() -> None:
    program = program_of(scop("for (i = 0; i < 64; i++) x[i] = y[i];"))
    values = np.ones(64)
    values[3] = np.nan
    assert "y" not in _ranges(program, {"y": values})
    assert _ranges(program, {"y": np.ones(64)})["y"] == (1.0, 1.0)


def test_a_schedule_with_foreign_nodes_is_refused() -> None:
    program = program_of(scop("for (i = 0; i < 64; i++) x[i] = y[i];"))
    band = isl_schedule(program.schedule).get_root().child(0)
    marked = band.insert_mark(isl.Id("hello")).get_schedule()
    with pytest.raises(InputError, match="other kinds"):
        unproven(replace(program, schedule=str(marked)), {})


I = Name("i")


def writes_at(index: Expr, **changes: Any) -> Program:
    """`for (i = 0; i < 64; i++) x[index] = 1;` as a stored program may have it."""
    program = program_of(scop("for (i = 0; i < 64; i++) x[i] = 1;"))
    (statement,) = program.statements
    target = replace(statement.body.target, index=(index,))
    return replace(program, statements=(replace(statement, body=replace(statement.body, target=target), **changes),))


@pytest.mark.parametrize(
    ("factor", "proven"), [(3, True), (2**21, True), (2**31 - 1, False), (2**32, False), (2**63 - 1, False)]
)
def test_large_numbers_prove_nothing(factor: int, proven: bool) -> None:
    """For integers, `2 i - factor i / factor` is `i`; in the `int` of a kernel the product wraps around, and it is
    nearly `2 i`.
    """
    back = Binary("/", Binary("*", Int(factor), I), Int(factor))
    assert (unproven(writes_at(Binary("-", Binary("*", Int(2), I), back)), {}) == ()) == proven
    assert (unproven(writes_at(Select(Binary("==", back, I), I, Int(64))), {}) == ()) == proven


@pytest.mark.parametrize(("order", "proven"), [("(i)", True), ("(3 * i)", True), ("(2147483647 * i)", False),
                                               ("(floor((40000000 * i) / 9))", False)])
def test_loops_that_count_with_large_numbers_prove_nothing(order: str, proven: bool) -> None:
    program = writes_at(I)
    schedule = f'{{ domain: "{{ S0[i] : 0 <= i <= 63 }}", child: {{ schedule: "[{{ S0[i] -> [{order}] }}]" }} }}'
    assert (unproven(replace(program, schedule=schedule), {}) == ()) == proven


@pytest.mark.parametrize(
    ("condition", "proven"), [("floor((4 * i) / 5) >= 0", True), ("(30000001 * i) mod 40000003 <= 30000001", False)]
)
def test_domains_with_large_numbers_prove_nothing(condition: str, proven: bool) -> None:
    instances = str(isl.Set(f"{{ S0[i] : 0 <= i <= 63 and {condition} }}"))
    program = replace(writes_at(I, domain=instances), schedule=f'{{ domain: "{instances}" }}')
    (statement,) = program.statements
    accesses = tuple(
        replace(access, relation=str(isl.Map("{ S0[i] -> x[i] }").intersect_domain(isl.Set(instances))))
        for access in statement.accesses
    )
    assert (unproven(replace(program, statements=(replace(statement, accesses=accesses),)), {}) == ()) == proven
