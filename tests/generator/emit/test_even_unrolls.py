"""PoCL and Intel's runtime unroll no loop that would leave a rest, behind barriers and in blocks of several threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.suites.image_pipelines import pipeline
from experiments.suites.polybench import program_file
from generator.emit.compilers import for_compiler
from generator.emit.even_unrolls import with_even_unrolls
from generator.expr import Binary, Expr, Int, Load, Name
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.nest import Assign, Barrier, For, If, Node, rounds
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.suite import small_problem
from tests.support.targets import CPU

POCL, INTEL = replace(CPU, pocl=True), replace(CPU, intel_cpu=True)
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
        even = (Barrier(), around(replace(node, unroll=1)))
        assert with_even_unrolls(body) == for_compiler(body, POCL, (8,)) == even
        assert for_compiler(body[1:], POCL, (8,)) == body[1:], "there is no barrier"
        assert for_compiler(body, INTEL, (8,)) == even
        assert for_compiler(body, INTEL, (1,)) == body, "the only thread of a block is not vectorized with others"


def test_even_loops_and_vectors_stay() -> None:
    body = (Barrier(), loop(Int(8)), replace(loop(Name("n")), vector=True))
    assert with_even_unrolls(body) == body


@in_turn
@pytest.mark.parametrize(("program", "rows"), few([("atax", 32), ("gesummv", 16)], 1))
def test_no_thread_runs_the_last_rounds_twice_on_pocl(program: str, rows: int, tmp_path: Path) -> None:
    found = read_untimed(program_file(program), Compilation(defines=("MINI_DATASET",)), None, None, {}, 0)
    plan = default_plan(found.program, CPU, choice=ScheduleChoice(serialize_sccs=True, reductions=("S2", "S3")))
    kernel = KernelPlan(("S2",), (rows, 8), (rows // 2, 1), shared=True, unroll=4, registers=True, combine="shared")
    plan = replace(plan, kernels=tuple(kernel if k.statements == ("S2",) else k for k in plan.kernels))
    [outcome] = outcomes_of(device_named("pocl"), found, [plan])
    assert isinstance(outcome, Timed), outcome.message


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_loops_with_a_rest_are_right_in_blocks_of_several_threads_on_intel() -> None:
    """Unrolled by 8, the loop over the columns of `ratio_here` gives wrong values almost everywhere."""
    found = small_problem(pipeline("unsharp"))[0]
    schedule = Stages((("blur_y", "inline"), ("gray", "block"), ("ratio", "block"), ("sharpen", "inline")))
    last = KernelPlan(("S1", "S4", "S5", "S6"), (4, 4, 8), (4, 1, 8), order=(0, 2, 1), unroll=8, walk=1, exchange=True)
    device = device_named("intel")
    kernels = default_plan(found.program, device.target, choice=schedule).kernels
    plan = Plan(schedule, tuple(last if kernel.statements == last.statements else kernel for kernel in kernels))
    assert last in plan.kernels
    [outcome] = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome.message


def test_steps_with_rings_are_even_even_if_the_thread_is_alone() -> None:
    at = Binary("&", Name("y"), Int(1))
    element = Load("ring", (at, J))
    fill = replace(loop(Name("n")), body=(Assign(element, "", element),))
    steps = For("y", Int(0), Binary("<", Name("y"), Int(8)), 1, (fill,))
    [made] = for_compiler((steps,), INTEL, (1,))
    assert isinstance(made, For) and made.in_order
    assert [node.unroll for node in made.body if isinstance(node, For)] == [1]
    assert for_compiler((loop(Name("n")),), INTEL, (1,)) == (loop(Name("n")),)


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_steps_of_a_thread_that_is_alone_are_right_on_intel() -> None:
    """With an unroll factor of 8 for the columns that are new in a step, nearly all results are wrong."""
    found = small_problem(pipeline("local_laplacian"))[0]
    inline = ("chosen_0", "chosen_1", "chosen_2", "collapsed_0", "gray", "remapped_1", "remapped_1_x",
              "up_collapsed_0_x", "up_collapsed_1", "up_collapsed_1_x", "up_remapped_0", "up_remapped_1_x")
    blocks = ("gray_1_x", "gray_2", "laplacian_1", "laplacian_2", "remapped_0", "remapped_2", "remapped_2_x",
              "repeat_edge", "up_remapped_0_x")
    schedule = Stages(tuple(sorted([*((s, "inline") for s in inline), *((s, "block") for s in blocks)])))
    statements = ("S0", "S1", "S15", "S16", "S19", "S20", "S21", "S7", "S8", "S9")
    columns = KernelPlan(statements, (8, 8), (1, 1), order=(1, 0), unroll=8, walk=1, level="thread")
    device = device_named("intel")
    kernels = default_plan(found.program, device.target, choice=schedule).kernels
    plan = Plan(schedule, tuple(columns if one.statements == statements else one for one in kernels))
    assert columns in plan.kernels
    [outcome] = outcomes_of(device, found, [plan])
    assert isinstance(outcome, Timed), outcome.message
