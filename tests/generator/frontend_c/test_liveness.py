"""Which local variables are dead after the SCoP."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.frontend_c.source import Compilation
from runners.data import initial_values
from tests.support.programs import program_of, write_c
from tests.support.reading import read_untimed

LOOP = "for (int i = 0; i < 4; i++) { w = x[i]; t[i % 2] = w; y[i] = w * w + t[i % 2]; }"


def roles(text: str) -> dict[str, str]:
    return {array.name: array.role for array in program_of(text, {"n": 2}).arrays}


def function(declarations: str, before: str = "", after: str = "", body: str = LOOP) -> str:
    return (f"double x[4], y[4], *kept;\ndouble g(double *);\ndouble f(int n) {{\n{declarations}\n{before}\n"
            f"#pragma scop\n{body}\n#pragma endscop\n{after}\nreturn 0;\n}}\n")


# Declarations, text before and after the SCoP, and the roles of w and t.
CASES = {
    "untouched outside": ("double w, t[2];", "", "", "temp", "temp"),
    "initialised": ("double w = 1, t[2] = {3, 4};", "", "", "temp", "temp"),
    "read after": ("double w, t[2];", "", "x[0] = w + t[0];", "out", "out"),
    "set after": ("double w, t[2];", "", "w = 1;", "out", "temp"),
    "returned": ("double w, t[2];", "", "if (n) return t[1];", "temp", "out"),
    "used before": ("double w, t[2];", "w = 2; x[0] = w;", "", "temp", "temp"),
    "array handed out before": ("double w, t[2];", "g(t);", "", "temp", "out"),
    "address taken": ("double w, t[2];", "kept = &w;", "", "out", "temp"),
    "address of an element": ("double w, t[2];", "kept = &t[0];", "", "temp", "out"),
    "used in a pragma": ("double w, t[2];", "", "\n#pragma omp flush(w)\n", "out", "temp"),
    "static": ("static double w; static double t[2];", "", "", "temp", "temp"),
    "static, used before": ("static double w; static double t[2];", "w = t[0] = 1;", "", "out", "out"),
    "volatile": ("volatile double w, t[2];", "", "", "out", "out"),
    "register": ("register double w; double t[2];", "", "", "temp", "temp"),
    "pointer": ("double w, *t = x;", "", "", "temp", "out"),
    "jump": ("double w, t[2];", "again: w = 1;", "if (n--) goto again;", "out", "temp"),
    "assembly": ("double w, t[2];", "", '__asm__ volatile ("" : : "g"(n) : "memory");', "out", "out"),
    "shadowed elsewhere": ("double w, t[2];", "{ double w = 3; x[1] = w; }", "", "out", "temp"),
    "only a global is left": ("double t[2];", "{ double w = 3; x[1] = w; }", "", "out", "temp"),
}


@pytest.mark.parametrize("name", CASES)
def test_roles_of_locals(name: str) -> None:
    declarations, before, after, scalar, array = CASES[name]
    text = ("double w;\n" if name == "only a global is left" else "") + function(declarations, before, after)
    found = roles(text)
    assert (found["w"], found["t"], found["y"]) == (scalar, array, "out")


def test_around_loops() -> None:
    looped = "double w, t[2]; {}while (n--) {{ {}"
    assert roles(function(looped.format("", ""), after="}"))["w"] == "temp"
    assert roles(function(looped.format("", "x[1] = w;"), after="}"))["w"] == "out"  # sees the last round's value
    assert roles(function(looped.format("", ""), after="} x[1] = w;"))["w"] == "out"


def test_what_is_read_first_is_live() -> None:
    body = "for (int i = 0; i < 4; i++) { y[i] = w + t[i % 2]; w = x[i]; t[1] = w; }"
    found = roles(function("double w = 0, t[2] = {1, 2};", body=body))
    assert (found["w"], found["t"]) == ("inout", "inout")


def test_parameters_are_seen_by_the_caller_or_at_least_named() -> None:
    text = "double y[4];\nvoid f(double w, double t[4]) {\n#pragma scop\n" \
        "for (int i = 0; i < 4; i++) { w = y[i]; t[i] = w; y[i] = t[i] * 2; }\n#pragma endscop\n}\n"
    assert roles(text) == {"t": "out", "w": "out", "y": "inout"}


def test_results_count_when_nothing_else_would_be_left() -> None:
    text = "int main(void) { double a[4];\n#pragma scop\nfor (int i = 0; i < 4; i++) a[i] = i;\n#pragma endscop\n}\n"
    assert roles(text) == {"a": "out"}


def test_a_temporary_has_no_data_and_is_not_compared(tmp_path: Path) -> None:
    text = ("#include <stdio.h>\nint main(void) { double w = 5, x[4] = {1, 2, 3, 4}, y[4];\n#pragma scop\n"
            "w = x[1];\nfor (int i = 0; i < 4; i++) y[i] = w * x[i];\n#pragma endscop\n"
            'printf("%f", y[2]); return 0; }\n')
    problem = read_untimed(write_c(text, tmp_path), Compilation(), None, None, {}, 0)
    assert [(a.name, a.role) for a in problem.program.arrays] == [("w", "temp"), ("x", "in"), ("y", "out")]
    assert set(problem.reference.inputs) == {"x", "y"}
    assert set(problem.reference.outputs) == {"y"}
    assert initial_values(problem)["w"] != initial_values(problem)["w"]  # NaN: whoever reads it first is found out
