"""Value-based flow on cases that are easy to get wrong."""

from __future__ import annotations

from itertools import pairwise

import islpy as isl
import numpy as np
import pytest

from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.dependences.model import model, sets
from generator.polyhedral.dependences.original import original_flow
from tests.support.programs import pairs, program_of, scop


def flow_of(body: str) -> list[str]:
    """The flow dependences as `S0(1)->S1(2)`."""
    return sorted(f"{a}{list(x)}->{b}{list(y)}" for (a, x), (b, y) in pairs(model(program_of(scop(body))).flow))


def test_the_last_write_is_seen_and_earlier_ones_are_not() -> None:
    assert flow_of("s = 1;\ns = 2;\nx[0] = s;") == ["S1[]->S2[]"]


@pytest.mark.parametrize("seed", range(3))
def test_every_read_sees_the_last_write_of_its_own_element(seed: int) -> None:
    """Straight-line programs on two arrays."""
    picks = np.random.default_rng(seed).integers(0, 6, (25, 2))
    steps = [("xy"[a % 2], a // 2, "xy"[b % 2], b // 2) for a, b in picks.tolist()]
    last: dict[tuple[str, int], int] = {}
    expected = []
    for number, (to, i, source, j) in enumerate(steps):
        if (source, j) in last:
            expected.append(f"S{last[source, j]}[]->S{number}[]")
        last[to, i] = number
    assert flow_of("\n".join(f"{to}[{i}] = {source}[{j}];" for to, i, source, j in steps)) == sorted(expected)


def test_a_partial_overwrite_leaves_the_rest() -> None:
    body = "for (i = 0; i < 3; i++) x[i] = 1;\nx[1] = 2;\nfor (i = 0; i < 3; i++) y[i] = x[i];"
    assert flow_of(body) == ["S0[0]->S2[0]", "S0[2]->S2[2]", "S1[]->S2[1]"]


def test_a_value_may_travel_between_iterations() -> None:
    assert flow_of("for (i = 3; i > 0; i--) x[i - 1] += x[i];") == ["S0[2]->S0[1]", "S0[3]->S0[2]"]


def test_reads_of_the_same_statement_come_before_its_write() -> None:
    assert flow_of("for (i = 0; i < 2; i++) s = s + 1;") == ["S0[0]->S0[1]"]


def test_an_uncertain_write_hides_nothing() -> None:
    schedule = isl.Schedule('{ domain: "{ A[]; B[]; C[] }", child: { sequence: [ { filter: "{ A[] }" }, '
                            '{ filter: "{ B[] }" }, { filter: "{ C[] }" } ] } }')
    sure, maybe = isl.UnionMap("{ A[] -> x[] }"), isl.UnionMap("{ B[] -> x[] }")
    flow = value_flow(isl.UnionMap("{ C[] -> x[] }"), sure, sure.union(maybe), schedule)
    assert pairs(flow.dependences) == {(("A", ()), ("C", ())), (("B", ()), ("C", ()))}
    assert flow.unsourced.is_empty()
    assert not value_flow(isl.UnionMap("{ C[] -> x[] }"), maybe.subtract(maybe), maybe, schedule).unsourced.is_empty()


@pytest.mark.parametrize("step", [2, 3])
def test_a_triangle_with_strides(step: int) -> None:
    """Every instance writes the same element, so each overwrites the one before it in the order of execution."""
    body = f"for (i = -1; i <= 5; i += {step}) for (j = 5; j >= i; j--) s = 1.5;"
    order = [(i, j) for i in range(-1, 6, step) for j in range(5, i - 1, -1)]
    found = {(a, b) for (_, a), (_, b) in pairs(model(program_of(scop(body))).false)}
    assert found == set(pairwise(order))


def test_reads_of_inputs_are_no_part_of_flow_and_see_older_data() -> None:
    """`y` is only read, `x` is written first, and `A` is updated."""
    program = program_of(scop("for (i = 1; i < 9; i++) x[i] = y[i - 1] + y[i];\n"
                              "for (i = 1; i < 9; i++) A[0][i] = A[0][i] + x[i];"))
    found = original_flow(program.statements, program.schedule)
    assert {one.array for one in found.inputs} == {"y"}
    assert pairs(found.flow.dependences) == {(("S0", (i,)), ("S1", (i,))) for i in range(1, 9)}
    older = {one.get_tuple_name() for one in sets(found.unsourced.range())}
    assert older == {"A", "y"}
    read = {one.get_tuple_name() for one in sets(model(program).reads.range())}
    assert read == {"A", "x", "y"}
    whole = value_flow(found.reads, found.writes, found.may, isl.Schedule(program.schedule))
    assert found.unsourced.is_equal(whole.unsourced)
    assert found.flow.dependences.is_equal(whole.dependences)
