"""Recurrences on GPUs: the value of the previous iteration is in a variable, wherever that is certain."""

from __future__ import annotations

import numpy as np
import pytest

from generator.lowering import lower
from generator.lowering.core.carried import AT_ONCE, with_carried
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.starts import start_plans
from generator.nest import Declare, walk
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.program import Program
from graph.stage_openings import openings
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_plan, run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET, pipeline_program
from tests.support.targets import CPU, HOPPER

DOWN = "for (i = 1; i < 12; i++) for (j = 0; j < 7; j++) A[i][j] = 2 * A[i-1][j] + B[i][j];"
CARRIED = {
    "down": DOWN,
    "from the first element on": "for (j = 0; j < 7; j++) for (i = 0; i < 12; i++) { A[i][j] = B[i][j]; "
                                 "if (i >= 1) A[i][j] = 2 * A[i-1][j] + A[i][j]; }",
    "up, in place": "for (i = 1; i < 12; i++) for (j = 0; j < 7; j++) A[11-i][j] = A[12-i][j] + 3 * A[11-i][j];",
    "two back, too": "for (i = 2; i < 12; i++) for (j = 0; j < 7; j++) A[i][j] = A[i-1][j] + 2 * A[i-2][j];",
    "the next, too": "for (i = 1; i < 12; i++) for (j = 0; j < 7; j++) A[i][j] = A[i-1][j] + 2 * A[i+1][j];",
    "two arrays": "for (j = 0; j < 7; j++) for (i = 1; i < 12; i++) { A[i][j] = A[i-1][j] + B[i-1][j]; "
                  "B[i][j] = A[i][j] + 2 * B[i-1][j]; }",
    "none": "for (j = 0; j < 7; j++) for (i = 1; i < 12 - 2 * j; i++) A[i][j] = 2 * A[i-1][j] + B[i][j];",
}
KEPT = {
    "two back": "for (i = 2; i < 12; i++) for (j = 0; j < 7; j++) A[i][j] = A[i-2][j] + B[i][j];",
    "written where data say so": "for (j = 0; j < 7; j++) for (i = 1; i < 12; i++) "
                                 "if (B[i][j] > 0) A[i][j] = A[i-1][j] + 1;",
    "read where data say so": "for (j = 0; j < 7; j++) for (i = 0; i < 12; i++) { A[i][j] = B[i][j]; "
                              "if (x[i] > 0) A[i][j] = A[i][j] + A[i > 0 ? i - 1 : 0][j]; }",
    "a place that data choose": "for (i = 1; i < 12; i++) for (j = 0; j < 7; j++) "
                                "A[i][j] = A[i-1][j] + A[idx[i] & 7][j];",
    "a sum": "for (j = 0; j < 7; j++) for (i = 0; i < 12; i++) x[j] = x[j] + B[i][j];",
}


def program(body: str) -> Program:
    return expand(program_of(scop(body)))


def carried(found: Program) -> tuple[int, int]:
    """Run the default plan with recurrences in variables; return the variables and the mistakes."""
    plan = default_plan(found, TARGET)
    kernels = tuple(map(with_carried, lowered_kernels(found, plan)))
    wrong = differences(found, run_plan(found, plan, np.random.default_rng(0), kernels), run_original(found))
    names = [node.name for kernel in kernels for node in walk(kernel.body) if isinstance(node, Declare)]
    return sum(name.endswith("_before") for name in names), len(wrong)


@pytest.mark.parametrize("name", CARRIED)
def test_a_value_is_carried_to_the_next_iteration(name: str) -> None:
    assert carried(program(CARRIED[name])) == (2 if name == "two arrays" else 1, 0)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_not_certain_stays_in_memory(name: str) -> None:
    assert carried(program(KEPT[name])) == (0, 0)


@in_turn
@pytest.mark.parametrize("seed", few(range(240), 12))
def test_random_plans_compute_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = program([*CARRIED.values(), *KEPT.values()][seed % (len(CARRIED) + len(KEPT))])
    plan = random_plan(found, rng)
    kernels = tuple(map(with_carried, lowered_kernels(found, plan)))
    assert not differences(found, run_plan(found, plan, rng, kernels), run_original(found))


def test_gpus_load_for_many_iterations_of_a_scan_at_once() -> None:
    """Each step of iir_blur waited for a load of what the step before it had stored: 259 instead of 100 us."""
    scan = pipeline_program("iir_blur")
    schedule = openings(stage_facts(scan), HOPPER, computed_arrays(scan))[0]
    text = lower(scan, start_plans(scan, HOPPER, schedule)[0], HOPPER).source
    assert text.count("_before = ") == 4 * 2, "four scans: before the first iteration, and in each"
    assert text.count("_before = 0;") == 2 and "if (1 <=" not in text, "two of them read what was there, always"
    assert text.count(f"#pragma unroll {AT_ONCE}\n") == 4


def test_cpus_compute_as_before() -> None:
    found = program(DOWN)
    assert "_before" in lower(found, default_plan(found, HOPPER), HOPPER).source
    assert "_before" not in lower(found, default_plan(found, CPU), CPU).source
