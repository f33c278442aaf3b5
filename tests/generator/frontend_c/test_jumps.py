"""`continue` under an `if` is the rest of the body under the opposite condition; other jumps are refused with advice.
"""

from __future__ import annotations

import numpy as np
import pytest

from generator.errors import InputError
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import in_turn
from tests.support.suite import TARGET

# With `continue`, and what it means.
PAIRS = {
    "affine": ("if (i % 3 == 1) continue; x[i] += 1;", "if (!(i % 3 == 1)) x[i] += 1;"),
    "data": ("if (y[i] > 2) continue; x[i] = y[i] * 2;", "if (!(y[i] > 2)) x[i] = y[i] * 2;"),
    "with statements before": ("y[i] += 1; if (i < 4) { x[i] = 1; continue; } x[i] = y[i];",
                               "y[i] += 1; if (i < 4) x[i] = 1; else x[i] = y[i];"),
    "in the other part": ("if (i < 4) x[i] = 1; else continue; y[i] = x[i];", "if (i < 4) { x[i] = 1; y[i] = x[i]; }"),
    "twice": ("if (i < 2) continue; x[i] = 1; if (y[i] > 1) continue; x[i] += 3;",
              "if (!(i < 2)) { x[i] = 1; if (!(y[i] > 1)) x[i] += 3; }"),
    "the condition changes": ("if (y[i] > 1) { y[i] = 0; continue; } y[i] += 3; x[i] = y[i];",
                              "if (y[i] > 1) y[i] = 0; else { y[i] += 3; x[i] = y[i]; }"),
    "at the end": ("x[i] = 2; continue;", "x[i] = 2;"),
    "an inner loop": ("for (j = 0; j < 5; j++) { if (j == i) continue; x[i] += A[i][j]; } y[i] = x[i];",
                      "for (j = 0; j < 5; j++) { if (!(j == i)) x[i] += A[i][j]; } y[i] = x[i];"),
}


def made(body: str) -> Program:
    """The expanded program of a loop over i with this body."""
    return expand(program_of(scop(f"for (i = 0; i < 9; i++) {{ {body} }}")))


@in_turn
@pytest.mark.parametrize("name", PAIRS)
def test_continue_skips_the_rest_of_the_body(name: str) -> None:
    jumping, structured = (made(body) for body in PAIRS[name])
    assert run_original(jumping).global_values(jumping) == run_original(structured).global_values(structured)
    plan = default_plan(jumping, TARGET)
    assert not differences(jumping, run_plan(jumping, plan, np.random.default_rng(1)), run_original(jumping))


def test_a_variable_of_a_branch_keeps_no_loop_serial() -> None:
    jumping = made("if (y[i] > 1) { x[i] = 1; continue; } double t = y[i] * 2; x[i] = t * t;")
    plan = default_plan(jumping, TARGET)
    kernels = lower(jumping, plan, TARGET).kernels
    assert plan.kernels and all(kernel.tile for kernel in plan.kernels)  # parallel loops
    assert all("t" not in kernel.arrays for kernel in kernels)
    assert not differences(jumping, run_plan(jumping, plan, np.random.default_rng(2)), run_original(jumping))


# With `break`, and what it means where `on` begins as 1.
STOPS = {
    "at a number": ("if (i == 5) break; x[i] += 1;", "if (i == 5) on = 0; if (on) x[i] += 1;"),
    "data": ("if (y[i] > 2) break; x[i] = y[i] * 2;", "if (y[i] > 2) on = 0; if (on) x[i] = y[i] * 2;"),
    "with statements around": (
        "y[i] += 1; if (y[i] > 3) { x[i] = 1; break; } x[i] = y[i]; y[i] = 4;",
        "y[i] += 1; if (y[i] > 3) { x[i] = 1; on = 0; } if (on) { x[i] = y[i]; y[i] = 4; }",
    ),
    "at the end": (
        "x[i + 1] = x[i] + y[i]; if (x[i + 1] > 6) break;",
        "x[i + 1] = x[i] + y[i]; if (x[i + 1] > 6) on = 0;",
    ),
    "in the other part": (
        "if (y[i] < 3) x[i] = 1; else { y[i] = 7; break; } y[i] = x[i];",
        "if (y[i] < 3) x[i] = 1; else { y[i] = 7; on = 0; } if (on) y[i] = x[i];",
    ),
    "twice": (
        "if (y[i] > 3) break; x[i] = 1; if (x[i + 1] > 3) { break; } x[i] += 3;",
        "if (y[i] > 3) on = 0; if (on) { x[i] = 1; if (x[i + 1] > 3) on = 0; if (on) x[i] += 3; }",
    ),
    "nested": (
        "if (i > 2) { y[i] += 1; if (y[i] > 2) { x[i] = 5; break; } y[i] += 2; } x[i] = y[i];",
        "if (i > 2) { y[i] += 1; if (y[i] > 2) { x[i] = 5; on = 0; } if (on) y[i] += 2; } if (on) x[i] = y[i];",
    ),
    "with continue": (
        "if (y[i] < 1) continue; x[i] = 2; if (y[i] > 2) break; x[i] = 3;",
        "if (!(y[i] < 1)) { x[i] = 2; if (y[i] > 2) on = 0; if (on) x[i] = 3; }",
    ),
    "around a loop": (
        "for (j = 0; j < 5; j++) x[i] += A[i][j]; if (x[i] > 6) break; y[i] = x[i];",
        "for (j = 0; j < 5; j++) x[i] += A[i][j]; if (x[i] > 6) on = 0; if (on) y[i] = x[i];",
    ),
}


@in_turn
@pytest.mark.parametrize("name", STOPS)
def test_break_skips_the_iterations_that_follow(name: str) -> None:
    body, meant = STOPS[name]
    jumping = made(body)
    structured = expand(program_of(scop(f"{{ int on = 1; for (i = 0; i < 9; i++) {{ if (on) {{ {meant} }} }} }}")))
    assert run_original(jumping).global_values(jumping) == run_original(structured).global_values(structured)
    plan = default_plan(jumping, TARGET)
    assert not differences(jumping, run_plan(jumping, plan, np.random.default_rng(1)), run_original(jumping))


def test_break_leaves_the_inner_loop_alone() -> None:
    inner = "for (j = 0; j < 9; j++) {{ if (A[i][j] > 3) {0} {1} x[i] += A[i][j]; }} y[i] = x[i];"
    jumping = made(inner.format("break;", ""))
    structured = made("int on = 1; " + inner.format("on = 0;", "if (on)"))
    assert run_original(jumping).global_values(jumping) == run_original(structured).global_values(structured)
    plan = default_plan(jumping, TARGET)
    assert plan.kernels and all(kernel.tile for kernel in plan.kernels)  # the loop over i is parallel
    assert not differences(jumping, run_plan(jumping, plan, np.random.default_rng(3)), run_original(jumping))


def test_a_break_in_a_loop_whose_pointers_change_places_is_refused() -> None:
    with pytest.raises(InputError, match="which of them is which would then depend on data"):
        program_of(
            "void f(int n, float *a, float *b) {\n float *t;\n#pragma scop\n for (int s = 0; s < 9; s++) { for (int i "
            "= 0; i < 9; i++) "
            "b[i] = a[i] + 1; if (b[3] > 4) break; t = a; a = b; b = t; }\n#pragma endscop\n}\n"
        )


@pytest.mark.parametrize(("body", "words"), [
    ("if (y[i] > 1) { if (y[i] > 2) continue; x[i] = 0; } x[i] = 1;", "`continue;` is not static control here"),
])
def test_other_jumps_are_refused_with_advice(body: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(body)
