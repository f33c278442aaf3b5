"""The distances between neighbours that subscripts tell are never less than those in the generated loops."""

from __future__ import annotations

from math import inf

import pytest

from experiments.search.parts import PARTS
from experiments.suites.image_pipelines import PIPELINES
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.along_rows import Distances, distances_in
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES
from metrics.device_model import device_model
from metrics.static_model import shared_efficiency
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import ALL_NAMES, large_program, pipeline_program
from tests.support.targets import HOPPER


def found(program: Program, plan: Plan) -> dict[tuple[str, ...], Distances]:
    return dict(distances_in(program, plan, LANGUAGES["cuda"], {kernel.statements for kernel in plan.kernels}))


@pytest.mark.parametrize(("read", "distance"), [
    ("a[i][j] + a[i + 1][j + 1] + a[i][5]", 1), ("a[i][63 - j]", 1), ("a[i / 2][j / 2]", 1),
    ("a[i][j / 2 + j % 2]", 1), ("a[i][2 * j]", 2), ("a[i][2 * j] + a[i][j]", 2), ("a[j][i]", inf), ("a[i][j + i]", 1),
    ("a[i][j % 3]", 2), ("a[i][j / 2 + 2 * (j % 2)]", 3), ("a[i + j][j]", inf), ("a[i][idx[j]]", inf),
    ("a[i][idx[i]]", 1),
    ("a[i][idx[j] / 2]", inf), ("a[i][(j % 3) / 2]", 1), ("a[i][idx[j] * 0]", inf),
    ("a[i][idx[j] / 2 + idx[j] % 2]", inf)])
def test_the_greatest_distance_counts(read: str, distance: float) -> None:
    text = scop(f"for (i = 0; i < 63; i++) for (j = 0; j < 63; j++) b[i][j] = {read};",
                "float a[128][128], b[64][64]; int idx[64];")
    program, kernel = program_of(text), KernelPlan(("S0",), (8, 32), (8, 32))
    [one] = found(program, Plan(ScheduleChoice(), (kernel,))).values()
    assert one == Distances(distance, 0)


@pytest.mark.parametrize("kernel", [
    KernelPlan(("S0",), (8, 64), (8, 16), run=4), KernelPlan(("S0",), (8, 32), (8, 1)),
    KernelPlan(("S0",), (8, 64), (8, 32), level="thread"), KernelPlan(("S0",), (8, 64), (8, 32), order=(1, 0))])
def test_other_distributions_are_unknown(kernel: KernelPlan) -> None:
    text = scop("for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) b[i][j] = a[i][j];", "float a[64][64], b[64][64];")
    [one] = found(program_of(text), Plan(ScheduleChoice(), (kernel,))).values()
    assert one.in_global == inf


def check(program: Program, plan: Plan) -> set[tuple[bool, bool]]:
    """Check a plan's kernels; return for which of both memories something was known."""
    known, model = found(program, plan), device_model(HOPPER)
    for facts in kernel_facts(program, plan, HOPPER):
        one = known[facts.statements]
        if one.in_global <= 1:
            assert all(access.coalesced for access in facts.accesses if access.space == "global"), facts.statements
        if one.in_shared <= 1 and facts.block[0] % model.warp == 0:
            assert shared_efficiency(facts, model) in (None, 1), facts.statements
    return {(one.in_global <= 1, one.in_shared <= 1) for one in known.values()}


@pytest.mark.parametrize("name", few([one.name for one in PIPELINES], ["blur"]))
def test_start_plans_of_pipelines_have_no_greater_distances(name: str) -> None:
    program = pipeline_program(name)
    options = RunOptions(name, Compilation(), Budget(evaluations=1), space="pipeline")
    checked = set[tuple[bool, bool]]()
    for walk in PARTS.starts(program, HOPPER, options):
        try:
            checked |= check(program, walk.plan)
        except IllegalPlan:
            continue
    assert (True, True) in checked, "the test would check nothing"


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_NAMES)
def test_default_plans_of_loops_have_no_greater_distances(name: str) -> None:
    program = large_program(name)
    check(program, default_plan(program, HOPPER))
