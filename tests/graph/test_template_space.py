"""Spaces of named parameters under restrictions, and spaces of what was recorded."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.errors import InputError
from generator.plan import Plan, Value, plan_from_json
from generator.schedules.choice import ScheduleChoice
from generator.templates.expressions import Restriction, parse_restriction
from generator.templates.template import Parameter, template_plan
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.recorded import Answer, RecordedSpace
from graph.space import Option
from graph.template import TemplateSpace, restriction
from graph.walk import choices_from_json, walk_to_json
from runners.replay.reading import read_recording
from runners.replay.t1 import read_t1
from tests.support.recordings import all_plans, all_walks, recorded_space
from tests.support.slow import few

CONDITIONS = ("{} * {} <= 12", "{} % 2 == 0 or {} > 2", "{} != {}", "{} + {} > 4", "min({}, {}) == 1",
              "{} in (1, 3) or {} == 2", "not ({} == 2 and {} < 3)")


@st.composite
def templates(draw: st.DrawFn) -> tuple[list[Parameter], list[str]]:
    """A few parameters (some with one value) and restrictions between neighbours and strangers."""
    count = draw(st.integers(1, 6))
    parameters = [Parameter(f"p{i}", tuple(range(1, draw(st.integers(1, 4)) + 1))) for i in range(count)]
    names = st.sampled_from([parameter.name for parameter in parameters])
    return parameters, [draw(st.sampled_from(CONDITIONS)).format(draw(names), draw(names))
                        for _ in range(draw(st.integers(0, 6)))]


def legal(parameters: Sequence[Parameter], restrictions: Sequence[str]) -> set[Plan]:
    """By trying everything."""
    names = [parameter.name for parameter in parameters]
    found = set()
    for values in product(*(parameter.values for parameter in parameters)):
        chosen = dict(zip(names, values, strict=True))
        if all(eval(text, {"min": min}, chosen) for text in restrictions):
            found.add(template_plan(chosen.items()))
    return found


def check_walks(template: tuple[list[Parameter], list[str]], look_ahead: int) -> None:
    expected = legal(*template)
    if not expected:
        try:
            assert all_walks(TemplateSpace(*template, look_ahead)) == []
        except InputError as error:
            assert "no configuration fulfils" in str(error)
        return
    walks = [walk.plan for walk in all_walks(TemplateSpace(*template, look_ahead))]
    assert len(walks) == len(expected)
    assert set(walks) == expected


@settings(max_examples=40)
@given(templates(), st.sampled_from([1, 3, 4000]))
def test_the_walks_are_the_legal_configurations(template: tuple[list[Parameter], list[str]], look_ahead: int) -> None:
    check_walks(template, look_ahead)


@pytest.mark.slow
@settings(max_examples=500)
@given(templates(), st.sampled_from([1, 3, 4000]))
def test_the_walks_of_many_templates_are_the_legal_configurations(
    template: tuple[list[Parameter], list[str]], look_ahead: int
) -> None:
    check_walks(template, look_ahead)


def test_parameters_without_common_restrictions_are_independent() -> None:
    parameters = [Parameter(name, (1, 2, 3)) for name in "abcd"]
    graph, rng = OptimizationGraph(), np.random.default_rng(0)
    space = TemplateSpace(parameters, ["a * c <= 4"])
    for _ in range(200):
        graph.walk(space, uniform(rng))
    depends: dict[str, set[tuple[tuple[str, Option], ...]]] = {}
    for decision in graph.nodes:
        depends.setdefault(decision.name, set()).add(decision.depends)
    assert depends["a"] == depends["b"] == depends["d"] == {()}
    assert depends["c"] == {(), (("a", 2),)}  # with a = 3 only c = 1 is left, which is no decision


def test_equal_reasons_share_a_node() -> None:
    parameters = [Parameter("x", tuple(range(1, 17))), Parameter("y", (1, 2, 4)), Parameter("pad", (0, 1))]
    graph, rng = OptimizationGraph(), np.random.default_rng(0)
    space = TemplateSpace(parameters, ["x * y <= 1024", "pad == 0 or x % 4 != 0"])
    for _ in range(300):
        graph.walk(space, uniform(rng))
    assert len(graph.nodes) == 3


def test_a_space_of_a_trillion_configurations_is_walked_at_once() -> None:
    parameters = [Parameter(f"p{i}", tuple(2**k for k in range(11))) for i in range(12)]
    levels = [" * ".join(f"p{i}" for i in range(first, first + 4)) + " == 1024" for first in (0, 4, 8)]
    between = [f"p{i} * p{i + 4} <= 1024 and p{i} + p{i + 4} > 2" for i in range(8)]
    assert math.prod(len(parameter.values) for parameter in parameters) > 10**12
    space, graph, rng = TemplateSpace(parameters, [*levels, *between]), OptimizationGraph(), np.random.default_rng(1)
    started_s = time.process_time()
    walks = [graph.walk(space, uniform(rng)) for _ in range(20)]
    assert (time.process_time() - started_s) / 20 < 0.2
    for walk in walks:
        assert walk is not None
        values = dict(walk.plan.parameters)
        assert all(eval(text, {}, values) for text in (*levels, *between))


def test_a_restriction_may_be_a_function() -> None:
    parameters = [Parameter("n", (1, 2, 3, 4)), Parameter("kind", ("x", "y"))]
    space = TemplateSpace(parameters, [restriction(("kind", "n"), lambda kind, n: kind == "x" or n > 3)])
    assert {walk.plan.parameters for walk in all_walks(space)} == {
        (("kind", "x"), ("n", 1)), (("kind", "x"), ("n", 2)), (("kind", "x"), ("n", 3)), (("kind", "x"), ("n", 4)),
        (("kind", "y"), ("n", 4))}


def test_functions_and_names_of_parameters_do_not_clash() -> None:
    parsed = parse_restriction("max(max, abs(min)) <= 3")
    assert parsed.names == ("max", "min")
    assert parsed.allows((2, -3)) and not parsed.allows((2, -4))


@pytest.mark.parametrize(("text", "essence"), [
    ("a +", "not a Python expression"),
    ("", "not a Python expression"),
    ("a = 3", "not a Python expression"),
    ("a.b > 1", "uses Attribute"),
    ("a[0]", "uses Subscript"),
    ("(lambda: 1)()", "calls `lambda: 1`; only min, max, abs and ceil"),
    ("(1, 2) * 1000000000 == a", "calculates with a text or sequence"),
    ("'x' * 1000000000 == a", "calculates with a text or sequence"),
    ("+".join(["a"] * 5000), "too long"),
    ("__import__('os')", "only min, max, abs and ceil"),
    ("len(a) > 1", "calls `len`; only min, max, abs and ceil"),
    ("min(*a) > 1", "uses Starred"),
    ("max(a, key=b)", "only min, max, abs and ceil"),
    ("[x for x in a]", "uses ListComp"),
    ("(a := 3) > 2", "uses NamedExpr"),
    ("a ** b < 3", "exponent"),
    ("9 ** 9999 > a", "exponent"),
    ("a is None", "uses Is"),
    ("a == b'x'", "constant b'x'"),
    ("f'{a}' == 'x'", "uses JoinedStr"),
    ("not " * 5000 + "a", "too long"),
])
def test_other_restrictions_are_refused(text: str, essence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_restriction(text)
    assert essence in str(caught.value)


A, B = Parameter("a", (0, 1, 2)), Parameter("b", (1, 2))


@pytest.mark.parametrize(("parameters", "restrictions", "essence"), [
    ([A, B], ["a * c < 3"], "names `c`, which is not a parameter; there are a, b"),
    ([A, A], [], "`a` is given twice"),
    ([Parameter("a", ())], [], "`a` has no values"),
    ([Parameter("a", (1, 1))], [], "a value twice"),
    ([A, B], ["b % a == 0"], "cannot be computed for b = 1, a = 0: integer modulo by zero"),
    ([A, B], ["a < 'x'"], "cannot be computed"),
    ([A, B], ["a + b > 9"], "no configuration fulfils `a + b > 9`"),
    ([A, B], ["1 > 2"], "no configuration fulfils `1 > 2`"),
    ([Parameter("a", (3,)), B], ["a < 3"], "no configuration fulfils `a < 3`"),
])
def test_bad_templates_are_refused(parameters: list[Parameter], restrictions: list[str | Restriction],
                                   essence: str) -> None:
    with pytest.raises(InputError) as caught:
        TemplateSpace(parameters, restrictions)
    assert essence in str(caught.value)


@pytest.mark.parametrize(("recorded", "described", "count"), few([
    ("convolution_A100.json.gz", "convolution_milo.T1.json", 4362),
    ("dedispersion_W6600.json.gz", "dedispersion_milo.T1.json", 11130),
], 1))
def test_both_spaces_of_a_hub_file_are_the_same(recorded: str, described: str, count: int) -> None:
    recording, t1 = read_recording(recorded_space(recorded)), read_t1(recorded_space(described))
    trie = RecordedSpace((row.choices, plan) for row, plan in zip(recording.rows, recording.plans, strict=True))
    legal = all_plans(TemplateSpace(t1.parameters, t1.restrictions))
    assert len(legal) == len(set(legal)) == count
    recorded_plans = all_plans(trie)
    assert len(recorded_plans) == count
    assert set(recorded_plans) == set(legal)


# ---- Plans and walks of templates

VALUES = st.one_of(
    st.integers(-5, 300), st.booleans(), st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), VALUES, max_size=5))
def test_parameters_round_trip(values: dict[str, Value]) -> None:
    plan = template_plan(values.items())
    again = plan_from_json(plan.to_json())
    assert again == plan and again.digest == plan.digest
    assert again == template_plan(reversed(values.items()))  # the order does not matter


def test_plans_of_programs_do_not_name_parameters() -> None:
    assert "parameters" not in Plan(ScheduleChoice(), ()).to_json()


@pytest.mark.parametrize("parameters", [{"a": 1}, [["a"]], [[1, 2]], [["a", 1], ["a", 2]], [["a", None]], [["a", [1]]],
                                        [["a", float("nan")]]])
def test_bad_parameters_of_a_plan_are_refused(parameters: object) -> None:
    text = json.dumps({"schedule": {}, "kernels": [], "parameters": parameters})
    with pytest.raises(InputError, match=r"plan\.parameters is .*; use a list of \[name, value\]"):
        plan_from_json(text)


def test_walks_with_all_kinds_of_values_round_trip() -> None:
    space = TemplateSpace([Parameter("f", (0.5, 1.5)), Parameter("n", (1, 2)), Parameter("s", ("x", "y")),
                           Parameter("b", (False, True))], ["f * n < 3", "s == 'x' or b"])
    for walk in all_walks(space):
        assert choices_from_json(walk_to_json(walk)) == walk.choices


# ---- recorded walks


def numbered(number: int) -> Plan:
    return Plan(None, (), parameters=(("walk", number),))


ROWS: list[tuple[str, ...]] = [("fuse", "x"), ("split", "x", "p"), ("split", "y", "p"), ("split", "y", "q")]


def answers(row: tuple[str, ...]) -> tuple[Answer, ...]:
    return tuple((f"d{depth}", ("S",) * (depth > 1), option) for depth, option in enumerate(row))


@given(st.lists(st.lists(st.sampled_from([1, 2, 8, (1, 2), (2, 1)]), min_size=3, max_size=3), min_size=1, max_size=30))
def test_recorded_walks_are_exactly_those_given(rows: list[list[Value]]) -> None:
    given = {tuple(row): numbered(number) for number, row in enumerate(rows)}  # of equal ones the last
    space = RecordedSpace((answers_of(row), numbered(number)) for number, row in enumerate(rows))
    walks = all_walks(space)
    assert {walk.plan for walk in walks} == set(given.values())
    assert len(walks) == len(given)


def answers_of(row: Sequence[Value]) -> list[Answer]:
    return [(f"d{depth}", (), option) for depth, option in enumerate(row)]


def test_walks_of_different_lengths_keep_names_subjects_and_only_real_decisions() -> None:
    walks = all_walks(RecordedSpace((answers(row), numbered(i)) for i, row in enumerate(ROWS)))
    chosen = {walk.plan.parameters[0][1]: [(c.decision.name, c.decision.subject, c.option) for c in walk.choices]
              for walk in walks}
    assert chosen == {0: [("d0", (), "fuse")], 1: [("d0", (), "split"), ("d1", (), "x")],
                      2: [("d0", (), "split"), ("d1", (), "y"), ("d2", ("S",), "p")],
                      3: [("d0", (), "split"), ("d1", (), "y"), ("d2", ("S",), "q")]}


def test_nodes_with_equal_options_are_shared() -> None:
    rows = [(a, b, c) for a in (1, 2, 3) for b in (1, 2) for c in ((1, 2, 3) if b == 1 else (2, 1))]
    graph, rng = OptimizationGraph(), np.random.default_rng(0)
    space = RecordedSpace((answers_of(row), numbered(i)) for i, row in enumerate(rows))
    for _ in range(100):
        graph.walk(space, uniform(rng))
    assert {(d.name, d.depends): node.options for d, node in graph.nodes.items()} == {
        ("d0", ()): (1, 2, 3), ("d1", ()): (1, 2), ("d2", ()): (1, 2, 3), ("d2", (("options", "1, 2"),)): (1, 2)}


def test_a_question_may_be_asked_again() -> None:
    rows: list[list[Answer]] = [[("next", (), a), ("next", (), b)] for a in (1, 2) for b in (1, 2)]
    walks = all_walks(RecordedSpace((row, numbered(i)) for i, row in enumerate(rows)))
    assert len(walks) == 4


@pytest.mark.parametrize("rows", [
    [[("a", (), 1), ("b", (), 1)], [("a", (), 1), ("c", (), 1)]],
    [[("a", (), 1), ("b", (), 1)], [("a", (), 1)]],
    [[("a", (), 1)], [("a", ("S",), 2)]],
])
def test_walks_of_different_spaces_are_refused(rows: list[list[Answer]]) -> None:
    with pytest.raises(InputError, match="not from one space"):
        RecordedSpace((row, numbered(i)) for i, row in enumerate(rows))


def test_no_walks_are_refused() -> None:
    with pytest.raises(InputError, match="at least one walk"):
        RecordedSpace([])
