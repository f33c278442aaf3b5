"""Which arrays can be computed where they are read, which cannot, and that nothing is computed that has no value."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.pipelines.sections import kernels_of, sections
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import Program, Where
from generator.schedules.stages import Stages
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import random_kernel, run_plan
from tests.support.programs import program_of, scop
from tests.support.stages import any_plan, offered_plans
from tests.support.suite import TARGET

N = 24
DECLARATIONS = (
    f"int in[{N}], out[{N}], other[{N}], B[8][8], C[8][8]; unsigned char u[{N}]; unsigned w[{N}]; double d[{N}], "
    f"e[{N}];"
)
FILL = f"int t[{N}]; for (i = 0; i < {N}; i++) t[i] = in[i] * 2;"
COPY = f"for (i = 0; i < {N}; i++) out[i] = t[i];"
SQUARE = "int t[8][8]; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) t[i][j] = B[i][j] + 1;"


def program(body: str) -> Program:
    return expand(program_of("#include <math.h>\n" + scop(body, DECLARATIONS)))


POSSIBLE = {
    "plain": FILL + COPY,
    "stencil": FILL + f"for (i = 1; i < {N - 1}; i++) out[i] = t[i - 1] + t[i] + t[i + 1];",
    "every second": FILL + f"for (i = 0; i < {N // 2}; i++) out[i] = t[2 * i] - t[{N - 1} - 2 * i];",
    "quotients": FILL + f"for (i = 0; i < {N}; i++) out[i] = t[i / 2] + t[(i + 1) / 3] * (i % 2);",
    "nobody reads it": FILL + f"for (i = 0; i < {N}; i++) out[i] = in[i];",
    "subscripts with a constant": f"int t[{N}]; for (i = -3; i < {N - 3}; i++) t[i + 3] = in[i + 3] * i;" + COPY,
    "updates": FILL
    + f"for (i = 0; i < {N}; i++) t[i] *= in[{N - 1} - i]; for (i = 0; i < {N}; i++) t[i] = 7 - t[i] - i;"
    f"for (i = 0; i < {N - 4}; i++) out[i] = t[i + 4] - t[i];",
    "sums": "int t[8]; for (i = 0; i < 8; i++) t[i] = 0; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) t[i] += "
        "B[i][j];"
    "for (i = 0; i < 8; i++) out[i] = t[i] + t[7 - i];",
    "sums, other loop outside": "int t[8]; for (i = 0; i < 8; i++) t[i] = i; for (j = 0; j < 8; j++) for (i = 0; i < "
        "8; i++) "
    "t[i] = t[i] * 3 + B[i][j]; for (i = 0; i < 8; i++) out[i] = t[i] + t[7 - i];",
    "transposed": "int t[8][8]; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) t[j][i] = B[i][j];"
    "for (i = 0; i < 8; i++) for (j = 0; j < 7; j++) C[i][j] = t[i][j] + t[j + 1][i];",
    "triangular reader": SQUARE + "for (i = 0; i < 8; i++) for (j = 0; j <= i; j++) C[i][j] = t[i][j] + t[j][i];",
    "an input that was written before": f"for (i = 0; i < {N}; i++) in[i] += 1;" + FILL + COPY,
    "a scalar that was written before": f"int q, t[{N}]; q = 3; for (i = 0; i < {N}; i++) t[i] = in[i] * q;" + COPY,
    "narrow type": f"unsigned char t[{N}]; for (i = 0; i < {N}; i++) t[i] = in[i] * 3; for (i = 0; i < {N}; i++) t[i] "
        f"+= in[{N - 1} - i];"
    f"for (i = 0; i < {N - 4}; i++) out[i] = t[i + 4] - t[i];",
    "subscripts from data": FILL + f"for (i = 0; i < {N}; i++) out[i] = t[u[i] % {N}] - t[(in[i] & 15) + i / 3];",
    "target from data": FILL + f"for (i = 0; i < {N}; i++) out[(t[i] & 1023) % {N}] += t[i];",
    "loops that start later": FILL + f"for (i = 1; i < {N}; i++) out[i] = t[i - 1];",
    "condition on loops": FILL + f"for (i = 0; i < {N}; i++) if (i > 0) out[i] = t[i - 1];",
    "an update of a part": FILL + f"for (i = 1; i < {N}; i++) t[i] += in[i - 1];" + COPY,
    "a write that data decide": FILL + f"for (i = 0; i < {N}; i++) if (in[i] > 5) t[i] = 0;" + COPY,
    "a write that loops decide": FILL + f"for (i = 0; i < {N}; i++) if (i > 5) t[i] = 0;" + COPY,
    "a sum over a triangle": "int t[8]; for (i = 0; i < 8; i++) t[i] = 0; for (i = 0; i < 8; i++) for (j = 0; j <= i; "
        "j++) t[i] += B[i][j];"
    "for (i = 0; i < 8; i++) out[i] = t[i];",
    "a sum where data decide": FILL + f"for (i = 0; i < {N}; i++) if (in[i] > t[i] - 9) t[i] += in[{N - 1} - i] * t[i];"
    + COPY,
    "a part, assigned": FILL + f"for (i = 9; i < {N}; i++) t[i] = i;" + COPY,
    "a condition on the element and a loop": "int t[8]; for (i = 0; i < 8; i++) t[i] = i; for (i = 0; i < 8; i++) "
        "for (j = 0; j < 8; j++) if ((i + j) % 3 == 1) t[i] = t[i] * 2 + B[i][j];"
    "for (i = 0; i < 8; i++) out[i] = t[i] - t[7 - i];",
    "neighbours as far as there are any": SQUARE + "for (i = 1; i < 8; i++) for (j = 0; j < 7; j++) t[i][j] += "
        "B[i - 1][j + 1]; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) C[i][j] = t[i][j] + t[7 - i][j];",
    "two parts": FILL + f"for (i = 0; i < {N}; i++) if (i < 3 || i > {N - 5}) t[i] += in[{N - 1} - i];" + COPY,
}
"""C programs whose array `t` can be computed where it is read."""

SAFE = {
    "the same element": "t[i]",
    "a remainder": f"t[u[i] % {N}]",
    "bits": "t[in[i] & 15]",
    "of an array that exists": f"t[u[i % 3] % {N}]",
    "a quotient": f"t[u[i] / {256 // N + 1}]",
    "unsigned": f"t[w[i] % {N}]",
    "cast": f"t[(unsigned char)in[i] % {N}]",
    "chosen": f"t[u[i] > 7 ? i : u[i] % {N}]",
}
"""Subscripts that can be evaluated whatever the condition around them says; the array has as many elements as there are
i.
"""

UNSAFE = {
    "an element before": ("i > 0", "t[i - 1]"),
    "an element behind": (f"i < {N - 1}", "t[i + 1]"),
    "an index that may be anything": (f"in[i] >= 0 && in[i] < {N}", "t[in[i]]"),
    "an index of a narrow type": (f"u[i] < {N}", "t[u[i]]"),
    "a negative remainder": ("in[i] >= 0", f"t[in[i] % {N}]"),
    "a division by zero": ("in[i] > 0", f"t[{N - 1} % (in[i] + i + 1) & 7]"),
    "unsigned below zero": (f"w[i] % {N} > 3", f"t[w[i] % {N} - 3]"),
    "an index outside of an index": ("i > 0", f"t[u[i - 1] % {N}]"),
    "a sum": ("u[i] > 250", f"t[u[i] % {N} + 1]"),
}
"""Conditions and reads that have no value without them."""

IMPOSSIBLE = {
    "an input that changes": FILL + f"for (i = 0; i < {N}; i++) in[i] = 0;" + COPY,
    "an input that its reader changes": FILL + f"for (i = 0; i < {N}; i++) {{ out[i] = t[i]; in[i] = 0; }}",
    "an input that its reader overwrites": FILL + f"for (i = 0; i < {N}; i++) in[i] = t[{N - 1} - i];",
    "a scalar that changes": f"int q, t[{N}]; q = in[0]; for (i = 0; i < {N}; i++) t[i] = in[i] * q; q = in[1]; for "
        f"(i = 0; i < {N}; i++) out[i] = t[i] * q;",
    "a decreasing loop": "int t[8]; for (i = 0; i < 8; i++) t[i] = 0; for (i = 0; i < 8; i++) for (j = 7; j >= 0; j--) "
    "t[i] = t[i] * 2 + B[i][j]; for (i = 0; i < 8; i++) out[i] = t[i];",
    "a decreasing target": f"int t[{N}]; for (i = {N - 1}; i >= 0; i--) t[i] = in[i];" + COPY,
    "a mirrored target": f"int t[{N}]; for (i = 0; i < {N}; i++) t[{N - 1} - i] = in[i];" + COPY,
    "steps of two": f"int t[{N}]; for (i = 0; i < {N}; i += 2) t[i] = in[i]; for (i = 0; i < {N // 2}; i++) out[i] = "
        f"t[2 * i];",
    "every second element": f"int t[{N}]; for (i = 0; i < {N // 2}; i++) t[2 * i] = in[i]; for (i = 0; i < {N // 2}; "
        f"i++) t[2 * i + 1] = i;"
    + COPY,
    "two halves": f"int t[{N}]; for (i = 0; i < 9; i++) t[i] = in[i]; for (i = 9; i < {N}; i++) t[i] = i;" + COPY,
    "two writers": FILL + f"for (i = 0; i < {N}; i++) out[i] = t[i]; for (i = 0; i < {N}; i++) t[i] = in[i] * 7;"
    f"for (i = 0; i < {N}; i++) other[i] = t[i];",
    "another statement in the nest": f"int t[{N}]; for (i = 0; i < {N}; i++) {{ t[i] = in[i]; other[i] = t[i] + 1; }}"
    + COPY,
    "time steps": f"int t[{N}]; for (k = 0; k < 3; k++) {{ for (i = 0; i < {N}; i++) t[i] = out[i] + in[i]; "
    + COPY
    + " }",
    "a triangle": "int t[8][8]; for (i = 0; i < 8; i++) for (j = 0; j <= i; j++) t[i][j] = B[i][j];"
    "for (i = 0; i < 8; i++) for (j = 0; j <= i; j++) C[i][j] = t[i][j] + t[i][0];",
    "a diagonal": "int t[8][8]; for (i = 0; i < 8; i++) t[i][i] = B[i][i]; for (i = 0; i < 8; i++) out[i] = t[i][i];",
    "a scalar": f"int t; t = in[3] * 2; for (i = 0; i < {N}; i++) out[i] = t;",
    "a result": f"for (i = 0; i < {N}; i++) other[i] = in[i]; for (i = 0; i < {N}; i++) out[i] = other[i];",
    **{
        f"read where a condition holds: {name}": FILL + f"for (i = 0; i < {N}; i++) out[i] = {condition} ? {read} : 1;"
        for name, (condition, read) in UNSAFE.items()
    },
    "read where loops decide": FILL + f"for (i = 0; i < {N}; i++) out[i] = i % 2 == 0 ? t[i] : in[i];",
    "a statement under a condition": FILL
    + f"for (i = 0; i < {N}; i++) if (in[i] >= 0 && in[i] < {N}) out[i] = t[in[i]];",
    "a target under a condition": FILL + f"for (i = 0; i < {N}; i++) if (u[i] < {N}) out[t[u[i]] & 15] = i;",
    "the right side of an and": FILL + f"for (i = 0; i < {N}; i++) out[i] = u[i] < {N} && t[u[i]] > 3;",
    "the right side of an or": FILL + f"for (i = 0; i < {N}; i++) out[i] = u[i] >= {N} || t[u[i]] > 3;",
}
"""C programs in which nothing can be computed where it is read."""


def check(found: Program, plan: Plan, seed: int) -> None:
    """What a plan computes is what the program computes; a barrier may turn out to stand under a condition."""
    try:
        memory = run_plan(found, plan, np.random.default_rng(seed))
    except IllegalPlan as illegal:
        if "barrier would stand" in str(illegal) and any(where == "block" for _, where in computed(plan)):
            return
        raise
    assert not differences(found, memory, run_original(found)), plan.to_json()


def computed(plan: Plan) -> tuple[tuple[str, Where], ...]:
    return plan.schedule.computed if isinstance(plan.schedule, Stages) else ()


def computing(found: Program, where: Where, seed: int) -> Plan:
    """A plan with all possible stages there."""
    rng = np.random.default_rng(seed)
    schedule = Stages(tuple((array, where) for array in sorted(possible_stages(found))))
    kernels = [random_kernel(one.statements, len(one.part.parallel), rng) for one in kernels_of(found, schedule)]
    return Plan(schedule, tuple(sorted(kernels, key=lambda k: k.statements)))


@pytest.mark.parametrize("name", POSSIBLE)
def test_what_can_be_a_stage_is_right_in_threads_and_in_blocks(name: str) -> None:
    found = program(POSSIBLE[name])
    assert list(possible_stages(found)) == ["t"]
    assert [fact.array for fact in stage_facts(found)] == ["t"]
    for seed, where in enumerate(get_args(Where)):
        plan = computing(found, where, seed)
        written = {
            found.statement(s).body.target.array for k in kernels_of(found, plan.scheduled) for s in k.part.statements
        }
        assert "t" not in written
        check(found, plan, seed)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_a_stage_is_refused_by_name(name: str) -> None:
    found = program(IMPOSSIBLE[name])
    assert not possible_stages(found)
    with pytest.raises(IllegalPlan, match=r"`t` cannot be computed where it is read; arrays that can: none"):
        sections(found, Stages((("t", "inline"),)))


@pytest.mark.parametrize("read", SAFE.values(), ids=list(SAFE))
def test_reads_under_conditions_that_exist_in_any_case(read: str) -> None:
    guards = (f"for (i = 0; i < {N}; i++) out[i] = in[i] > 4 ? {read} : 1;",
              f"for (i = 0; i < {N}; i++) if (in[i] > 4) out[i] = {read};",
              f"for (i = 0; i < {N}; i++) out[i] = in[i] > 4 && {read} % 3 == 0;")
    for seed, guard in enumerate(guards):
        found = program(FILL + guard)
        assert list(possible_stages(found)) == ["t"]
        check(found, any_plan(found, np.random.default_rng(seed)), seed)
        check(found, computing(found, "inline", seed), seed)


@pytest.mark.parametrize(
    ("index", "safe"),
    [
        ("fmin(fmax(d[i] * 3.0, 0.0), 23.0)", True),
        ("fmin(fmax(d[i], 0.0), 23.5)", False),
        ("fmax(d[i], 0.0)", False),
        ("d[i]", False),
        ("fmin(fmax((double)u[i], 1.0), 2.0) + 1.0", False),
    ],
)
def test_real_numbers_as_subscripts_under_conditions(index: str, safe: bool) -> None:
    found = program(FILL + f"for (i = 0; i < {N}; i++) out[i] = d[i] >= 0.0 && d[i] < 20.0 ? t[(int)({index})] : 1;")
    assert list(possible_stages(found)) == ["t"] * safe


@pytest.mark.parametrize("name", UNSAFE)
def test_reads_that_exist_under_conditions_only_do_not_happen_elsewhere(name: str) -> None:
    """Also where the stage that must not be computed is read by one that may."""
    condition, read = UNSAFE[name]
    middle = f"int v[{N}]; for (i = 0; i < {N}; i++) v[i] = {condition} ? {read} : 1;"
    found = program(FILL + middle + f"for (i = 0; i < {N - 2}; i++) out[i] = v[i] + v[i + 2];")
    assert list(possible_stages(found)) == ["v"]
    for seed, where in enumerate(get_args(Where)):
        check(found, computing(found, where, seed), seed)


def test_stages_of_stages_and_several_readers() -> None:
    chain = (f"int v[{N}]; for (i = 0; i < {N - 1}; i++) v[i] = t[i] * t[i + 1]; v[{N - 1}] = 3;", )
    assert possible_stages(program(FILL + chain[0] + f"for (i = 0; i < {N}; i++) out[i] = v[i];")).keys() == {"t"}
    found = program(FILL + f"int v[{N}]; for (i = 0; i < {N}; i++) v[i] = t[i] + t[{N - 1} - i] * 3;"
                    f"for (i = 0; i < {N - 2}; i++) out[i] = v[i] - v[i + 2] + t[i + 1];"
                    f"for (i = 0; i < {N}; i++) other[i] = v[i] * t[i];")
    facts = {fact.array: fact for fact in stage_facts(found)}
    assert [(r.array, r.elements, r.often) for r in facts["t"].readers] == [("v", 2, 1), ("out", 1, 1), ("other", 1, 1)]
    assert [(r.array, r.elements, r.often) for r in facts["v"].readers] == [("out", 2, 1), ("other", 1, 1)]
    for seed, (one, two) in enumerate((a, b) for a in ("root", *get_args(Where)) for b in ("root", *get_args(Where))):
        schedule = Stages(tuple((array, where) for array, where in (("t", one), ("v", two)) if where != "root"))
        rng = np.random.default_rng(seed)
        kernels = [random_kernel(k.statements, len(k.part.parallel), rng) for k in kernels_of(found, schedule)]
        check(found, Plan(schedule, tuple(sorted(kernels, key=lambda k: k.statements))), seed)


def test_blocks_compute_all_that_threads_read_of_a_stage_before_they_test_a_condition() -> None:
    """`v` needs more of `t` than the iterations at which the program reads `v`: so it is no stage."""
    found = program(FILL + f"int v[{N}]; for (i = 0; i < {N}; i++) v[i] = t[{N - 1} - i] + 1;"
                    f"for (i = 0; i < {N}; i++) out[i] = t[i / 2] + (i < {N - 3} ? in[i] : v[i]);")
    assert list(possible_stages(found)) == ["t"]
    check(found, computing(found, "block", 3), 3)


def test_a_kernel_is_known_by_all_that_it_computes() -> None:
    found = program(POSSIBLE["updates"])
    names = {statement.name for statement in found.statements}
    (kernel,) = kernels_of(found, Stages((("t", "inline"),)))
    assert set(kernel.statements) == names and len(names) == 4
    assert len(kernels_of(found, Stages())) == 2  # what writes t is one kernel or several, but never with its readers


def test_names_that_no_plan_may_use() -> None:
    found = program(FILL + COPY)
    for array in ("in", "out", "nothing"):
        with pytest.raises(IllegalPlan, match=f"`{array}` cannot be computed where it is read; arrays that can: t"):
            sections(found, Stages(((array, "block"),)))
    with pytest.raises(IllegalPlan, match="S9 is not a reduction; reductions are none"):
        sections(found, Stages((), ("S9",)))
    with pytest.raises(IllegalPlan, match=r"this schedule has the kernels \{S0, S1\} but the plan describes \{S1\}"):
        check(found, Plan(Stages((("t", "inline"),)), (KernelPlan(("S1",), (8,), (8,)),)), 0)
    with pytest.raises(IllegalPlan, match=r"but the plan describes \{S0, S1\}"):
        check(found, Plan(Stages(), (KernelPlan(("S0", "S1"), (8,), (8,)),)), 0)


def test_a_reduction_of_a_stage_is_no_decision() -> None:
    """Whoever computes a sum where it is read has no loop to share out; the name does no harm."""
    found = program(POSSIBLE["sums"])
    assert [s.name for s in found.statements] == ["S0", "S1", "S2"]
    kernels = (KernelPlan(("S0", "S1", "S2"), (4,), (2,)),)
    check(found, Plan(Stages((("t", "inline"),), ("S1",)), kernels), 1)


def test_a_default_plan_of_stages_is_right() -> None:
    for where in get_args(Where):
        found = program(POSSIBLE["stencil"])
        check(found, default_plan(found, TARGET, choice=Stages((("t", where),))), 3)


@pytest.mark.parametrize("room", [40, 400])
def test_a_device_with_little_shared_memory_gets_plans_all_the_same(room: int) -> None:
    """Where not even the smallest tile fits, the plan is refused, not the walk; threads need no shared memory."""
    found, target = program(POSSIBLE["stencil"]), replace(TARGET, local_bytes=room)
    plans = [plan for plan in offered_plans(found, target, 12, 1) if computed(plan) == (("t", "block"),)]
    refused = 0
    for plan in plans:
        try:
            lower(found, plan, target)
        except IllegalPlan as illegal:
            assert f"bytes of local memory; test device has {room}" in str(illegal)
            refused += 1
    shared = [plan for plan in plans if any(kernel.level == "block" for kernel in plan.kernels)]
    assert shared and refused == (len(shared) if room == 40 else 0)


PLANS = st.builds(
    lambda computed, reductions: Plan(Stages(tuple(sorted(computed.items())), tuple(sorted(reductions))),
                                      (KernelPlan(("S0",), (8, 8), (4, 4)),)),
    st.dictionaries(st.sampled_from(["blur_x", "a", "sum_1", "t"]), st.sampled_from(get_args(Where))),
    st.sets(st.sampled_from(["S0", "S1", "S2"])))


@given(PLANS)
def test_json_round_trip(plan: Plan) -> None:
    again = plan_from_json(plan.to_json())
    assert again == plan and again.digest == plan.digest
    assert isinstance(again.schedule, Stages)


def test_order_in_json_does_not_matter() -> None:
    text = '{"schedule": {"computed": [["b", "block"], ["a", "inline"]], "reductions": ["S2", "S1"]}, "kernels": []}'
    assert plan_from_json(text) == Plan(Stages((("a", "inline"), ("b", "block")), ("S1", "S2")), ())
    assert plan_from_json('{"schedule": {"computed": []}, "kernels": []}') == Plan(Stages(), ())


@pytest.mark.parametrize(("schedule", "essence"), [
    ({"computed": "t"}, "plan.schedule.computed is \"t\"; use a list of [array, where]"),
    ({"computed": {"t": "inline"}}, "use a list of [array, where]"),
    ({"computed": [["t"]]}, "use a list of [array, where]"),
    ({"computed": [["t", "root"]]}, "where one of inline, block"),
    ({"computed": [["t", "inline"], ["t", "block"]]}, "each array once"),
    ({"computed": [[1, "inline"]]}, "use a list of [array, where]"),
    ({"computed": [], "reductions": "S0"}, "use a list of statement names"),
    ({"computed": [], "algorithm": "pluto"}, "unknown field 'algorithm'"),
    ({"computed": None}, "use a list of [array, where]")])
def test_bad_stages_are_refused(schedule: object, essence: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_from_json(json.dumps({"schedule": schedule, "kernels": []}))
    assert essence in str(caught.value)
