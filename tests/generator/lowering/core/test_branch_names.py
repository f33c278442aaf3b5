"""Loops have the names and notes of their own branch where statements of a kernel have different loops."""

from __future__ import annotations

import re

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import Plan
from generator.program import Program
from tests.support.suite import polybench_program
from tests.support.targets import HOPPER


def start_plans(program: Program) -> list[Plan]:
    """Those of a search at level o2, where statements of a kernel follow each other in its blocks."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o2")
    return list(dict.fromkeys(walk.plan for walk in PARTS.starts(program, HOPPER, options)))


def loops(program: Program, plan: Plan) -> dict[str, str]:
    """The notes of loops by name; without the numbers of several of the same name."""
    found = re.findall(r"for \(int (\w+) = .*\{(?: // (.*))?\n", lower(program, plan, HOPPER).source)
    return {re.sub(r"_\d*$", "", name): note for name, note in found}


def test_loops_of_sums_have_their_own_names_behind_loops_that_set_them() -> None:
    program = polybench_program("gemm", ("SMALL_DATASET", "DATA_TYPE_IS_FLOAT"))
    plan = next(one for one in start_plans(program) if len(one.kernels) == 1 and one.kernels[0].run == 4
                and one.kernels[0].shared)
    found = loops(program, plan)
    assert found["k_tile"] == "tile of k" and found["k"] == ""
    assert found["i_point"] == "points of this thread along i"
    assert found["j_next"] == "neighbours of this thread along j"


def test_a_loop_over_points_along_different_iterators_has_none_in_its_name() -> None:
    """S0 has the neighbours along j where S1 has the points along i: registers have one name for both."""
    program = polybench_program("syrk", ("SMALL_DATASET", "DATA_TYPE_IS_FLOAT"))
    plans = [one for one in start_plans(program) if len(one.kernels) == 1 and one.kernels[0].run == 4]
    found = [loops(program, one) for one in plans]
    assert any("point" in one for one in found), found
    for one in found:
        for name, note in one.items():
            base, _, kind = name.rpartition("_")
            if note and base and kind in ("point", "next", "tile"):
                assert note.endswith(f" {base}"), (name, note)
