"""Random loop nests: the model says exactly what the compiled program does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from generator.errors import InputError
from generator.polyhedral.dependences.model import model
from generator.program import Program
from tests.support.nests import Event, nest_texts, run_logged
from tests.support.programs import Instance, Pair, access_pairs, instances, original_order, pairs, program_of
from tests.support.slow import in_turn

QUICK = settings(max_examples=5, derandomize=True, database=None,
                 suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
MAX_EVENTS = 250
SEEDS = st.integers(0, 2**32 - 1)


def check_nest(plain: str, logged: str) -> None:
    events = run_logged(logged)
    assume(len(events) <= MAX_EVENTS)
    if not events:
        with pytest.raises(InputError, match="no statement that is ever executed"):
            program_of(plain)
        return
    program = program_of(plain)
    lines = {s.line: s.name for s in program.statements}
    order = [(lines[event.line], event.iterators) for event in events]
    assert instances(model(program).domain) == set(order)
    assert original_order(program) == order
    check_accesses(program, events, order)
    check_flow(program, events, order)
    check_false(program, events, order)
    check_roles(program, events)


def check_accesses(program: Program, events: list[Event], order: list[Instance]) -> None:
    assert access_pairs(program, "read") == {(x, e) for x, event in zip(order, events, strict=True)
                                             for e in event.reads}
    assert access_pairs(program, "write") == {(x, event.write) for x, event in zip(order, events, strict=True)}


def check_flow(program: Program, events: list[Event], order: list[Instance]) -> None:
    last: dict[Instance, Instance] = {}
    expected: set[Pair] = set()
    for instance, event in zip(order, events, strict=True):
        expected |= {(last[element], instance) for element in event.reads if element in last}
        last[event.write] = instance
    assert pairs(model(program).flow) == expected


def check_false(program: Program, events: list[Event], order: list[Instance]) -> None:
    """Each dependence is a conflict in the right order; together they order all conflicts, transitively."""
    position = {instance: k for k, instance in enumerate(order)}
    dependences = {(position[a], position[b]) for a, b in pairs(model(program).dependences)}
    conflicting = set(conflicts(events))
    assert dependences <= conflicting
    reach = [0] * len(order)
    successors: list[list[int]] = [[] for _ in order]
    for a, b in dependences:
        successors[a].append(b)
    for k in reversed(range(len(order))):
        for b in successors[k]:
            reach[k] |= reach[b] | 1 << b
    assert [(order[a], order[b]) for a, b in conflicting if not reach[a] >> b & 1] == []


def conflicts(events: list[Event]) -> Iterator[tuple[int, int]]:
    """Pairs of events, in order, that touch one element, at least one of them writing it."""
    touched: dict[Instance, list[tuple[int, bool]]] = {}
    for k, event in enumerate(events):
        for element, writes in ((event.write, True), *((e, False) for e in event.reads)):
            yield from ((j, k) for j, before in touched.get(element, ()) if j < k and (before or writes))
            touched.setdefault(element, []).append((k, writes))


def check_roles(program: Program, events: list[Event]) -> None:
    written: set[Instance] = set()
    live: set[Instance] = set()
    for event in events:
        live |= set(event.reads) - written
        written.add(event.write)
    for array in program.arrays:
        mine, alive = {e for e in written if e[0] == array.name}, {e for e in live if e[0] == array.name}
        expected = "temp" if array.name[0] == "t" else "in" if not mine else "inout" if alive else "out"
        assert array.role == expected, array.name
    poisoned = [(box.array, point) for box in program.poison for point in points(box.low, box.high)]
    assert set(poisoned) <= written - live
    assert {e for e in written - live if not e[1]} <= set(poisoned)


def points(low: tuple[int, ...], high: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not low:
        yield ()
        return
    for first in range(low[0], high[0] + 1):
        yield from ((first, *rest) for rest in points(low[1:], high[1:]))


@in_turn
@QUICK
@given(SEEDS)
@example(114)  # isl's own flow analysis fails on its subscripts with divisions
@example(1708)  # isl's own flow analysis misses an output dependence between its strided domains
def test_the_model_is_what_the_program_does(seed: int) -> None:
    check_nest(*nest_texts(seed))


@pytest.mark.slow
@settings(QUICK, max_examples=1500, derandomize=False)
@given(SEEDS)
def test_the_model_is_what_many_programs_do(seed: int) -> None:
    check_nest(*nest_texts(seed))
