"""Skewed schedules: walks reach them, the interpreter and PoCL compute what the program computes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import For, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.model import model
from generator.polyhedral.schedules.hyperplanes import MOST_BESIDE, O3
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.polyhedral.schedules.legality import check_host
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes, LoopNest
from generator.schedules.schedule import Schedule
from graph.node import Policy
from graph.o2 import apart
from graph.o3_answers import preferences_of_nests
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, first, prefer
from graph.space import Space
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named
from tests.support.hyperplanes import (
    SEIDEL_TILES,
    check,
    one,
    program,
    random_kernels,
    random_walk_plan,
)
from tests.support.plans import check_plan, lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.space_plans import random_plans
from tests.support.suite import ODD_SIZES, polybench_program, problem
from tests.support.suite import TARGET as DEVICE
from tests.support.targets import HOPPER

TOGETHER = ("S0", "S1")
SKEWED: dict[str, tuple[Hyperplanes, ...]] = {
    "seidel-2d": (Hyperplanes((SEIDEL_TILES,)), Hyperplanes((one(("S0",), (1, 0, 0, 0), (0, 2, 1, 0), (0, 1, 0, 0)),)),
                  Hyperplanes((one(("S0",), (2, 1, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0)),))),
    "jacobi-1d": (Hyperplanes((LoopNest(TOGETHER, (((1, 0, 0), (1, 0, 0)), ((2, 1, 0), (2, 1, 1))), (), (4, 32)),)),),
    "jacobi-2d": (Hyperplanes((LoopNest(TOGETHER, (((1, 0, 0, 0),) * 2, ((2, 1, 0, 0), (2, 1, 0, 1)),
                                                 ((2, 0, 1, 0), (2, 0, 1, 1))), (), (2, 8, 16)),)),
                  Hyperplanes((LoopNest(TOGETHER, (((2, 1, 0, 0), (2, 1, 0, 1)), ((0, 0, 1, 0),) * 2,
                                                   ((1, 0, 0, 0),) * 2)),))),
}
SELDOM_MIXED = ("atax", "bicg", "durbin", "gesummv", "mvt")
"""Programs that have no kernel with mixed loops in ten random plans."""


@pytest.mark.parametrize(("options", "words"), [
    ({"shared": True, "padding": 1}, "`shared`, `padding` of S0 have no effect: .* copies nothing"),
    ({"ahead": True, "asynchronous": True}, "`ahead`, `asynchronous` of S0 have no effect: .* copies nothing"),
    ({"uncopied": ("A",)}, "`uncopied` of S0 has no effect: .* copies nothing"),
    ({"registers": True}, "`registers` of S0 has no effect: a thread has no elements"),
    ({"combine": "shared"}, "`combine` of S0 has no effect: it has no updates in any order"),
    ({"points_inside": True}, "`points_inside` of S0 has no effect: a thread has one point"),
    ({"vector": 4}, "`vector` of S0 has no effect: a thread accesses no neighbours"),
    ({"inner_tile": 4}, "`inner_tile` of S0 has no effect: a thread has no loop"),
])
def test_options_without_effect_are_refused(options: dict[str, Any], words: str) -> None:
    """Of wavefronts and of other rows; an inner tile changes the loops of a thread that has some."""
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    for schedule in SKEWED["seidel-2d"]:
        [shape] = kernel_shapes(found, schedule)
        sizes = (4,) * len(shape.extents)
        plan = Plan(schedule, (KernelPlan(("S0",), sizes, sizes),))
        lower(found, plan, DEVICE)
        changed = replace(plan, kernels=(replace(plan.kernels[0], **options),))
        if shape.sequential and "inner_tile" in options:
            lower(found, changed, DEVICE)
        else:
            with pytest.raises(IllegalPlan, match=words):
                lower(found, changed, DEVICE)


def test_copies_by_hand_are_made_where_all_threads_reach_their_barriers() -> None:
    found = program_of(scop("for (k = 0; k < 3; k++) for (i = 1; i < 6; i++) for (j = 1; j < 7; j++) A[i][j] = "
                            "A[i-1][j] * w[j] + A[i][j-1] * w[j-1] + A[i+1][j] * w[j+1] + A[i][j+1];",
                            "double A[16][16], w[64];"))
    schedule = Hyperplanes((one(("S0",), (2, 1, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0)),))
    plan = Plan(schedule, (KernelPlan(("S0",), (4,), (4,), shared=True),))
    variant = lower(found, plan, HOPPER)
    assert variant.kernels[0].local_bytes and "__syncthreads();" in variant.source
    check_plan(found, plan, HOPPER)


@pytest.mark.parametrize("options", [
    {"shared": True, "prologue": True},
    {"shared": True, "swizzled": ("W",)},
    {"shared": True, "vector": 2, "aligned": 2},
    {"shared": True, "depth": 1},
    {"shared": True, "depth": 1, "inner_tile": 4, "unrolls": (("j_value", 2), ("m_tile", 2))},
    {"inner_tile": 4, "unrolls": (("j_tile", 2),)},
], ids=["prologue", "swizzled", "aligned", "depth", "unrolls of copies", "unrolls of tiles"])
def test_options_that_other_options_need_have_an_effect(options: dict[str, Any]) -> None:
    """Without shared copies, inner tiles or vectors there is no such plan."""
    found = program_of(scop("for (k = 0; k < 3; k++) for (i = 1; i < 6; i++) for (j = 1; j < 7; j++) "
                            "for (int m = 0; m < 8; m++) A[i][j] = A[i][j] + A[i-1][j] * (2.0 * W[j][m]) + A[i][j-1] "
                            "+ A[i+1][j] * (2.0 * W[j+1][m]) + A[i][j+1] + V[j][m] * V[j][m+1];",
                            "double A[16][16], V[16][16], W[16][16];"))
    rows = (2, 1, 0, 0, 0), (1, 0, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0)
    plan = Plan(Hyperplanes((one(("S0",), *rows),)), (KernelPlan(("S0",), (4,), (4,), **options),))
    plain = replace(plan, kernels=(KernelPlan(("S0",), (4,), (4,)),))
    sources = {lower(found, some, HOPPER).kernels[0].source for some in (plan, plain)}
    assert len(sources) == 2
    check_plan(found, plan, HOPPER)


@pytest.mark.parametrize("name", few([name for name in ODD_SIZES if name not in SELDOM_MIXED],
                                     ("seidel-2d", "jacobi-1d", "adi", "fdtd-2d")))
def test_what_the_space_offers_has_an_effect(name: str) -> None:
    """Or is accepted without."""
    found = polybench_program(name, ODD_SIZES[name])
    made = 0
    for plan in random_plans(found, replace(DEVICE, shares_host_cores=False), "o3", 10, 1):
        try:
            lower(found, plan, DEVICE)
        except IllegalPlan as error:
            assert "no effect" not in str(error), plan.to_json()
        made += any(shape.skewed for shape in kernel_shapes(found, plan.scheduled))
    assert made, "no kernel has mixed loops"


def space_of(found: Program) -> Space:
    return PARTS.make_space(found, DEVICE, RunOptions("x.c", Compilation(), Budget(evaluations=1), level="o3"))


def schedule_of(space: Space, policy: Policy) -> Schedule:
    walk = OptimizationGraph().walk(space, policy)
    assert walk is not None
    return walk.plan.scheduled


@pytest.mark.parametrize("name", SKEWED)
def test_walks_reach_the_skewed_schedules(name: str) -> None:
    space = space_of(polybench_program(name, ODD_SIZES[name]))
    for schedule in SKEWED[name]:
        assert schedule_of(space, prefer(preferences_of_nests(schedule.nests), first)) == schedule


@pytest.mark.parametrize("seed", range(3))
def test_diagonals_compute_what_the_program_computes(seed: int) -> None:
    wanted: Preferences = {("tile wavefront 1", ()): False, ("schedule kind 1", ()): "permute",
                           ("sweeps along diagonals 2", ()): True}
    rng = np.random.default_rng(seed)
    plan = random_walk_plan(program("sweeps"), rng, wanted)
    assert plan is not None and isinstance(plan.schedule, Hyperplanes) and mixed(plan.schedule.nests)
    assert check(program("sweeps"), plan, rng) == "right"


@pytest.mark.parametrize("name", few(["seidel", "jacobi", "waves"], 1))
def test_tiles_of_wavefronts_with_every_loop_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So isl writes them where loops for parts of the ranges take it too long."""
    monkeypatch.setattr("generator.polyhedral.kit.ast.MOST_OPERATIONS", 1)
    found, rng = program(name), np.random.default_rng(3)
    for _ in range(4):
        plan = random_walk_plan(found, rng, {("tile wavefront 1", ()): True})
        assert plan is not None
        assert check(found, plan, rng) == "right"
        for kernel in lowered_kernels(found, plan):
            loops = Counter(node.iterator for node in walk(kernel.body) if isinstance(node, For))
            assert max(loops.values(), default=0) <= len(kernel.statements), plan.to_json()


def adi_schedule(found: Program) -> Hyperplanes:
    """Where a walk comes to that says yes to diagonals, takes the first of what is on offer, and fuses nothing."""
    schedule = schedule_of(space_of(found), prefer({("sweeps along diagonals 2", ()): True}, apart))
    assert isinstance(schedule, Hyperplanes)
    return schedule


def test_sweeps_of_adi_can_run_along_diagonals() -> None:
    """Inside its loop over time the six sweeps have one parallel row each; beside it are few others."""
    found, rng = polybench_program("adi", ("TSTEPS=2", "N=7")), np.random.default_rng(0)
    schedule = adi_schedule(found)
    assert schedule_of(space_of(found), prefer(preferences_of_nests(schedule.nests), apart)) == schedule
    assert check(found, Plan(schedule, random_kernels(found, schedule, rng)), rng) == "right"
    steps, = (nest for nest in schedule.nests if nest.rows)
    sweeps = {part.statements[0]: part.rows for part in steps.parts if len(part.rows) > 1}
    down, up = ((((0, 1, step, 0),), ((0, 1, 0, 0),)) for step in (1, -1))
    assert sweeps == {"S16": down, "S17": down, "S19": up, "S23": down, "S24": down, "S26": up}
    rows, place = O3(found), ((steps.statements, steps.rows[0]),)
    for name in sweeps:
        assert rows.offer((), place, (name,), True).permute == (((0, 1, 0, 0),),)
        assert 0 < len(rows.beside((), place, (name,))) <= MOST_BESIDE
        around = (*rows.within(place, (name,)), ((name,), sweeps[name][0]))
        assert not rows.beside((), around, (name,)), "once is enough"


def mixed(nests: tuple[LoopNest, ...]) -> bool:
    """Whether a row follows several iterators."""
    return any(mixed(nest.parts) or any(sum(map(abs, v[:-1])) > 1 for row in nest.rows for v in row) for nest in nests)


@pytest.mark.parametrize("name", few([*SKEWED, "adi"], 1))
def test_skewed_schedules_run_on_pocl(name: str, tmp_path: Path) -> None:
    found = problem(name, ODD_SIZES[name])
    plans = []
    for schedule in [adi_schedule(found.program)] if name == "adi" else SKEWED[name]:
        shapes = kernel_shapes(found.program, schedule)
        assert any(shape.extents for shape in shapes), "nothing is parallel"
        assert mixed(schedule.nests)
        plans.append(Plan(schedule, tuple(KernelPlan(s.statements, (2,) * len(s.extents), (2,) * len(s.extents))
                                          for s in shapes)))
    outcomes = outcomes_of(device_named("pocl"), found, plans)
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes


@pytest.mark.parametrize("name", ["seidel-2d", "jacobi-1d", "jacobi-2d"])
def test_what_a_wavefront_leaves_to_its_tiles(name: str) -> None:
    found = polybench_program(name, ODD_SIZES[name])
    schedule = SKEWED[name][0]
    scheduled, dependences = schedule_kernels(found, schedule), model(found).dependences
    [part] = scheduled.kernels
    assert part.coarse
    [by_sums] = check_host(scheduled.host, dependences, {}).values()
    assert part.dependences.is_equal(by_sums)
    with pytest.raises(IllegalPlan, match="a host loop runs a dependence backwards"):
        check_host(scheduled.host, dependences.reverse(), {0: tuple(d.member for d in part.parallel)})
