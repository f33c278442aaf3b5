"""Variables that conditions set in every iteration do not tie the iterations together; those that keep values do."""

from __future__ import annotations

import pytest

from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.expansion import expand
from tests.support.plans import TARGET, check_plan
from tests.support.programs import program_of, scop

INDEPENDENT = {
    "declared without a value": "for (i = 0; i < 9; i++) { double f; if (x[i] > 0) f = 1; if (x[i] <= 0) f = x[i + 9]; "
    "y[i] = f; }",
    "both parts": "for (i = 0; i < 9; i++) { double f, g; if (x[i] > 0) { f = x[i]; g = 2 * f; } else { f = 3; g = f; }"
    " y[i] = f - g; }",
    "declared outside": "double f; for (i = 0; i < 9; i++) { if (x[i] > 0) f = x[i]; else f = -x[i + 9]; y[i] = f; }",
    "a chain": "double f; for (i = 0; i < 9; i++) { if (x[i] > 0) f = 1; else if (x[i + 9] > 0) f = 2; else f = 3; "
    "y[i] = f; }",
    "in an inner loop": "for (i = 0; i < 9; i++) { double f; for (j = 0; j < 3; j++) { if (x[i] > j) f = j; else f = 1;"
    " A[i][j] = f; } }",
}
CARRIED = {
    "one part": "double f = 1; for (i = 0; i < 9; i++) { if (x[i] > 0) f = x[i]; y[i] = f; }",
    "read by the condition": "for (i = 0; i < 9; i++) { if (s > 3) s = x[i]; else s = 9; y[i] = s; }",
    "read before": "for (i = 0; i < 9; i++) { if (x[i] > 0) s = s + 1; else s = 0; y[i] = s; }",
    "a break": "for (i = 0; i < 9; i++) { if (x[i] > 0) { if (x[i] > 5) break; s = x[i]; } else s = -1; y[i] = s; }",
    "a loop that may not run": "for (i = 0; i < 9; i++) { if (x[i] > 0) { for (j = 5; j < i; j++) s = j; } else s = -1;"
    " y[i] = s; }",
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_iterations_are_independent(name: str) -> None:
    program = expand(program_of(scop(INDEPENDENT[name])))
    plan = default_plan(program, TARGET)
    assert all(kernel.tile for kernel in plan.kernels)
    check_plan(program, plan)


@pytest.mark.parametrize("name", CARRIED)
def test_a_value_that_is_read_later_stays(name: str) -> None:
    program = expand(program_of(scop(CARRIED[name])))
    assert not any(statement.text == "s = 0;" and statement.body.guard is None for statement in program.statements)
    plan = default_plan(program, TARGET)
    assert not all(kernel.tile for kernel in plan.kernels)
    check_plan(program, plan)
