"""Subscripts without isl are those that isl finds."""

from __future__ import annotations

import islpy as isl
import pytest

from generator.polyhedral.kit.plain import plain_subscripts
from generator.polyhedral.pipelines.stages import possible_stages
from tests.support.stages import case
from tests.support.suite import ALL_NAMES, polybench_program

DOMAIN = "{ S0[y, x] : 0 <= y <= 9 and 0 <= x <= 5 }"


def access(subscripts: str, condition: str = "0 <= y <= 9 and 0 <= x <= 5") -> str:
    return f"{{ S0[y, x] -> A[{subscripts}] : {condition} }}"


@pytest.mark.parametrize(("subscripts", "found"), [
    ("198 + y, x", ((198, (1, 0)), (0, (0, 1)))),
    ("-1 - 2y + 12x", ((-1, (-2, 12)),)),
    ("-y, 3, -7", ((0, (-1, 0)), (3, (0, 0)), (-7, (0, 0)))),
    ("y, floor((x)/2)", None),
    ("z", None),
    ("", None),
    ("-", None),
    ("y - ", None),
])
def test_sums_of_iterators(subscripts: str, found: object) -> None:
    assert plain_subscripts(access(subscripts), DOMAIN) == found


@pytest.mark.parametrize("relation", [
    access("y", "0 <= y <= 8 and 0 <= x <= 5"), "{ S0[y, x] -> A[y] }", "{ S1[y, x] -> A[y] : 0 <= y <= 9 }",
    f"{access('y')[:-2]}; S0[y, x] -> A[x] : y > 3 }}", access("i0", "exists (e0 : i0 = 2e0)"),
])
def test_what_is_not_of_all_instances_is_left_to_isl(relation: str) -> None:
    assert plain_subscripts(relation, DOMAIN) is None


def test_isl_finds_the_same_in_real_programs() -> None:
    programs = [*(polybench_program(name) for name in ALL_NAMES[:5]), *(case(seed).program for seed in range(6))]
    compared = 0
    for program in programs:
        steps = (step.statement for same in possible_stages(program).values() for step in same)
        for statement in (*program.statements, *steps):
            for one in statement.accesses:
                found = plain_subscripts(one.relation, statement.domain)
                if not found:
                    continue
                compared += 1
                names = statement.iterators
                sums = [" + ".join([str(constant), *(f"{a} * {name}" for a, name in zip(factors, names, strict=True))])
                        for constant, factors in found]
                text = f"{{ {statement.name}[{', '.join(names)}] -> {one.array}[{', '.join(sums)}] }}"
                assert isl.Map(one.relation).is_equal(isl.Map(text).intersect_domain(isl.Set(statement.domain)))
    assert compared > 50
