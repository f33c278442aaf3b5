"""Flow found loop by loop is the flow that is found for all pairs of statements at once."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

from generator.polyhedral.dependences import flow
from generator.polyhedral.dependences.original import access_maps
from generator.program import Program
from tests.support.programs import program_of, scop
from tests.support.slow import few

BODIES = (
    "for (i = {a}; i < {b}; i++) x[i] = y[i];",
    "for (i = {a}; i < {b}; i++) y[i] = x[{b} - i] + 1;",
    "for (i = {a}; i < {b}; i += 2) x[i] += y[{a}];",
    "for (i = {a}; i < {b}; i++) {{ x[i] = 0; for (j = 0; j < i; j++) x[i] += A[i % 16][j % 16]; }}",
    "for (i = {a}; i < {b}; i++) if (x[i] > 0) y[i] = x[i];",
    "for (i = 1; i < 16; i++) for (j = 0; j < 16; j++) A[i][j] = A[i - 1][j];",
    "for (i = {a}; i < {b}; i++) y[idx[i]] = i;",
    "s = x[{a}];",
    "for (i = {a}; i < {b}; i++) x[i] = s * y[i];",
)


def random_program(seed: int) -> Program:
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rng.integers(2, 7)):
        low = int(rng.integers(0, 8))
        lines.append(BODIES[rng.integers(len(BODIES))].format(a=low, b=int(rng.integers(low + 1, 17))))
    return program_of(scop("\n".join(lines)))


def both(program: Program, false: bool) -> tuple[flow.Flow, flow.Flow]:
    """Flow of reads, or that of writes (`false` dependences): for all pairs, and loop by loop."""
    reads, must = access_maps(program.statements, "read"), access_maps(program.statements, "write")
    may = access_maps(program.statements, "may_write").union(must)
    sinks, sources = (may, reads.union(may)) if false else (reads, may)
    schedule: Any = isl.Schedule(program.schedule)
    times = schedule.get_map().intersect_domain(schedule.get_domain())
    places = flow._places(times)
    assert places
    return flow._exact(sinks, must, sources, times), flow.flow_of_sequence(sinks, must, sources, times, places)


@pytest.mark.parametrize("seed", few(range(200), 15))
def test_loop_by_loop_is_the_same(seed: int) -> None:
    program = random_program(seed)
    for false in (False, True):
        exact, found = both(program, false)
        assert found.dependences.is_equal(exact.dependences)
        assert found.unsourced.is_equal(exact.unsourced)


def test_loops_inside_a_loop_have_no_places() -> None:
    program = program_of(
        scop("for (k = 0; k < 3; k++) { for (i = 0; i < 9; i++) x[i] = y[i]; for (i = 0; i < 9; i++) y[i] = x[i]; }")
    )
    assert flow._places(isl.Schedule(program.schedule).get_map()) == {}


def test_many_loops_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> flow.Flow:
        raise AssertionError("all pairs")

    body = "\n".join(f"for (i = 1; i < 60; i++) {'xy'[k % 2]}[i] = {'yx'[k % 2]}[i - 1];" for k in range(40))
    monkeypatch.setattr(
        flow,
        "_earlier",
        lambda times, wanted, real=flow._earlier: real(times, wanted) if len(wanted) < 40 else refuse(),
    )
    assert len(program_of(scop(body)).statements) == 40
