"""Names of the exported function and of its parameters that C++, headers or the export itself use otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.exports.c_names import function_name, parameter_names
from experiments.exports.host_program import python_name
from experiments.exports.kinds import Kind
from tests.support.exports import AGREES, checked, exported, ran, stored_run
from tests.support.programs import write_c
from tests.support.slow import in_turn

HOSTILE = """
static void antune(int n, double class, double *template, double antune[12], double stderr[12], double class_[12]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    antune[i] = stderr[i] * class;
    class_[i] = antune[i] + stderr[0];
    *template += class_[i];
  }
#pragma endscop
}
static double first[12], second[12], third[12], sum;
int main(void) {
  for (int i = 0; i < 12; i++) second[i] = i;
  antune(12, 0.5, &sum, first, second, third);
  return 0;
}
"""


def test_names_that_an_export_cannot_use() -> None:
    assert parameter_names(["n", "linux", "class", "class_", "run", "run_error", "time"], "run") == {
        "n": "n", "linux": "linux_", "class": "class__", "class_": "class_", "run": "run_",
        "run_error": "own_run_error", "time": "time"}
    assert [function_name(name) for name in ("blur", "time", "sinf", "linux", "main", "3mm", "new", "norm")] == [
        "blur", "time_", "sinf_", "linux_", "main_scop", "_3mm", "new_", "norm_"]


@in_turn
def test_hostile_names(pocl: Mapping[str, str], tmp_path: Path) -> None:
    """In C, and the same header in C++; the sequential code keeps the names."""
    run = stored_run(tmp_path / "run", write_c(HOSTILE, tmp_path))
    folder = exported(run, Kind.opencl, tmp_path / "opencl")
    header = (folder / "antune.h").read_text()
    assert "`class__`: `class` of the original program." in header
    assert "void antune(int n, double class__, double template_[1], double antune_[12], " in header
    assert AGREES in checked(folder, pocl)
    folder = exported(run, Kind.c_header, tmp_path / "header")
    (folder / "main.cpp").write_text('#include "antune.h"\nint main() { return 0; }\n')
    done = ran(folder, pocl, "c++", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-function", "main.cpp")
    assert done.returncode == 0, done.stderr


def test_names_of_the_python_module(tmp_path: Path) -> None:
    """A function called like one that the module uses, and loops like names in its launches."""
    text = HOSTILE.replace("static void antune", "static void sum").replace("  antune(12", "  sum(12").replace(
        ", sum;", ", total;").replace("&sum", "&total")
    folder = exported(stored_run(tmp_path / "run", write_c(text, tmp_path)), Kind.python, tmp_path / "python")
    module = (folder / "sum_.py").read_text()
    assert "def sum_(" in module and "sum_(class_" in module and "def sum(" not in module
    names = ["t", "_div", "_mod", "_mod_", "int", "min", "class"]
    assert [python_name(name) for name in names] == ["t", "_div_", "_mod_", "_mod__", "int_", "min_", "class_"]
