"""Steps that come back to the rows of a ring stay in order on Intel's CPU runtime."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.learning.collect import problem_of, random_origin
from generator.emit.in_order import with_steps_in_order
from generator.expr import Binary, Expr, Int, Load, Name
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.nest import Assign, For, Node
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.slow import in_turn
from tests.support.targets import CPU

Y, X = Name("y"), Name("x")
WORD = "#pragma clang loop vectorize(disable)"


def at(row: Expr) -> Load:
    """An element of a ring of two rows of eight."""
    return Load("ring", (Binary("+", Binary("*", Binary("&", row, Int(1)), Int(8)), X),))


def over(iterator: str, *body: Node) -> For:
    return For(iterator, Int(0), Binary("<", Name(iterator), Int(8)), 1, body)


def test_only_loops_that_write_and_read_a_ring_stay_in_order() -> None:
    fills, reads = over("x", Assign(at(Y), "", Int(1))), over("x", Assign(Load("out", (Y, X)), "", at(Y)))
    assert with_steps_in_order((over("y", fills, reads),)) == (replace(over("y", fills, reads), in_order=True),)
    for body in (fills, reads), (reads, over("x", Assign(Load("ring", (X,)), "", Int(1)))):
        assert with_steps_in_order((over("y", *body[:1]),)) == (over("y", *body[:1]),)
        assert with_steps_in_order(body) == body


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_rows_that_stay_are_those_of_their_step_on_intel() -> None:
    """The last kernel has eight steps at once without the word, and most results are wrong."""
    found = problem_of(random_origin(6))
    schedule = Stages((("repeat_edge", "inline"), ("repeat_edge_2", "inline"), ("stage_3", "block"),
                       ("stage_6", "inline"), ("stage_7", "block")))
    last = KernelPlan(("S10", "S8", "S9"), (64, 8), (1, 1), walk=1, level="thread")
    kernels = default_plan(found.program, CPU, choice=schedule).kernels
    plan = Plan(schedule, tuple(last if kernel.statements == last.statements else kernel for kernel in kernels))
    device = device_named("intel")
    assert WORD in lower(found.program, plan, device.target).source
    assert WORD not in lower(found.program, plan, CPU).source
    [outcome] = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome.message
