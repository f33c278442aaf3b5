"""Scans along both dimensions of an image: loops that the device runs, instead of one launch per wavefront."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from antune import halide as hl
from experiments.exports.flat import rows_of
from experiments.search.modelled import model_plans
from experiments.search.parts import PARTS
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.frontend_c.source import Compilation
from generator.frontend_py.problem import problem_of, program_of
from generator.lowering import lower
from generator.lowering.heuristics.usual import usual_plan
from generator.plan import plan_from_json
from generator.polyhedral.pipelines.sections import kernels_of
from generator.problem import Problem
from generator.schedules.schedule import serial_of
from generator.schedules.stages import Stages
from generator.variant import Launch
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.reaching import walk_to
from tests.support.devices import check_plans, device_named
from tests.support.suite import TARGET
from tests.support.targets import HOPPER

CPU = replace(TARGET, shares_host_cores=True)
OPTIONS = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")


def distances(width: int, height: int) -> hl.Func:
    """A distance transform in one pass: each element follows from its left and upper neighbours."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(32), 2, "image")
    d, twice, out, r = hl.Func("d"), hl.Func("twice"), hl.Func("out"), hl.RDom([(0, width), (0, height)], "r")
    d[x, y] = hl.select(image[hl.clamp(x, 0, width - 1), hl.clamp(y, 0, height - 1)] > 2, 0, 600)
    d[r.x, r.y] = hl.min(d[r.x, r.y], d[r.x - 1, r.y] + 3, d[r.x, r.y - 1] + 3, d[r.x + 1, r.y - 1] + 4)
    twice[x, y] = d[x, y] * 2
    out[x, y] = twice[x, y] + twice[hl.min(x + 1, width - 1), y]
    return out


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problem_of([distances(140, 120)], [140, 120], name="distances")


def test_by_default_one_thread_runs_them_in_the_order_of_the_source(problem: Problem) -> None:
    plan = usual_plan(problem.program, CPU, Stages())
    assert serial_of(plan.scheduled) == ("S1",)
    variant = lower(problem.program, plan, CPU)
    assert all(isinstance(operation, Launch) for operation in variant.host)
    rows, columns = (variant.source.index(f"for (int {name} = 0;") for name in ("r1", "r0"))
    assert rows < columns, "along wavefronts, neighbours in time are far apart in memory"


def test_searches_begin_with_them_and_offer_both(problem: Problem) -> None:
    space = make_reachable_space(problem.program, CPU, OPTIONS)
    first, *others = (walk.plan for walk in PARTS.starts(problem.program, CPU, OPTIONS))
    assert serial_of(first.scheduled) == ("S1",)
    assert any(not serial_of(plan.scheduled) for plan in others), "one start measures the launches"
    for plan in (first, *others):
        assert walk_to(space, plan).plan == plan
    rng, drawn = np.random.default_rng(0), set[tuple[str, ...]]()
    for _ in range(20):
        walk = OptimizationGraph().walk(space, uniform(rng))
        drawn |= {serial_of(walk.plan.scheduled)} if walk else set()
    assert drawn == {("S1",), ()}


def test_models_choose_them_too(problem: Problem) -> None:
    guided = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline", explorer="beam")
    (walk,) = PARTS.make_explorer("beam", PARTS.make_space(problem.program, CPU, guided), 0, ()).ask(1)
    assert serial_of(walk.plan.scheduled) == ("S1",)
    assert {serial_of(plan.scheduled) for plan in model_plans(problem.program, CPU, "sioutas", 2).plans} == {("S1",)}


def test_their_results_are_right(problem: Problem) -> None:
    device = device_named("pocl")
    found = [walk.plan for walk in PARTS.starts(problem.program, device.target, OPTIONS)]
    check_plans(device, problem, [plan for plan in found if serial_of(plan.scheduled)][:3])


def test_on_gpus_launches_with_more_work_stay(problem: Problem) -> None:
    """A launch has about 50 elements here: 64 are the least on a GPU, 1024 on a CPU."""
    large = program_of([distances(400, 300)], [400, 300])
    assert serial_of(usual_plan(problem.program, HOPPER, Stages()).scheduled) == ("S1",)
    assert not serial_of(usual_plan(large, HOPPER, Stages()).scheduled)
    assert serial_of(usual_plan(large, CPU, Stages()).scheduled) == ("S1",)


def test_plans_keep_and_show_them(problem: Problem) -> None:
    plan = usual_plan(problem.program, CPU, Stages())
    assert plan_from_json(plan.to_json()) == plan
    assert '"serial"' not in replace(plan, schedule=Stages()).to_json(), "digests of older plans stay the same"
    assert "loops that run in one thread, not on the host: those of S1" in explain(problem.program, plan, CPU)
    row, without = rows_of([plan, replace(plan, schedule=Stages())])
    assert (row["schedule_serial"], without["schedule_serial"]) == ("S1", "none")


def test_what_has_no_kernel_is_refused(problem: Problem) -> None:
    for schedule in (Stages(serial=("S7",)), Stages((("twice", "inline"),), serial=("S2",))):
        with pytest.raises(IllegalPlan, match=f"{schedule.serial[0]} cannot be chosen to run in one thread"):
            kernels_of(problem.program, schedule)
