"""PoCL unrolls no loop behind a barrier that would leave a rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.suites.polybench import program_file
from generator.emit.even_unrolls import with_even_unrolls
from generator.expr import Binary, Expr, Int, Load, Name
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.nest import Assign, Barrier, For, If, Node, rounds
from generator.plan import KernelPlan
from generator.reading import read_problem
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named
from tests.support.targets import CPU

J = Name("j")
STORE = Assign(Load("out", (J,)), "", Int(0))


def loop(bound: Expr, op: str = "<", unroll: int = 4, step: int = 1) -> For:
    return For("j", Int(0), Binary(op, J, bound), step, (STORE,), unroll=unroll)


@pytest.mark.parametrize(
    ("node", "count"),
    [(loop(Int(8)), 8), (loop(Int(8), "<="), 9), (loop(Int(9), step=4), 3), (loop(Int(-1)), 0), (loop(Name("n")), None),
     (replace(loop(Int(8)), start=Name("t0")), None)],
)
def test_how_often_loops_run(node: For, count: int | None) -> None:
    assert rounds(node) == count


@pytest.mark.parametrize("node", [loop(Name("n")), loop(Int(7)), loop(Int(2))])
def test_what_would_leave_a_rest_is_not_unrolled(node: For) -> None:
    for around in (lambda one: one, lambda one: If(Binary("<", J, Int(3)), (one,))):
        body: tuple[Node, ...] = (Barrier(), around(node))
        assert with_even_unrolls(body) == (Barrier(), around(replace(node, unroll=1)))
        assert with_even_unrolls(body[1:]) == body[1:], "there is no barrier"


def test_even_loops_and_vectors_stay() -> None:
    body = (Barrier(), loop(Int(8)), replace(loop(Name("n")), vector=True))
    assert with_even_unrolls(body) == body


@pytest.mark.parametrize(("program", "rows"), [("atax", 32), ("gesummv", 16)])
def test_no_thread_runs_the_last_rounds_twice_on_pocl(program: str, rows: int, tmp_path: Path) -> None:
    found = read_problem(program_file(program), Compilation(defines=("MINI_DATASET",)), None, None, {}, 0)
    plan = default_plan(found.program, CPU, choice=ScheduleChoice(serialize_sccs=True, reductions=("S2", "S3")))
    kernel = KernelPlan(("S2",), (rows, 8), (rows // 2, 1), shared=True, unroll=4, registers=True, combine="shared")
    plan = replace(plan, kernels=tuple(kernel if k.statements == ("S2",) else k for k in plan.kernels))
    [outcome] = outcomes_of(device_named("pocl"), found, [plan])
    assert isinstance(outcome, Timed), outcome.message
