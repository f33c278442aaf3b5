"""Sums whose terms may change places: which they are, the plans that add them in vectors, and that these are right on
devices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, LevelName, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.row_sums import row_sums, sums_products
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import parallel_reductions, reducible, sums
from generator.program import Program
from generator.schedules.partition import Group, Partition
from generator.target import Dialect, Target
from tests.support.devices import check_plans
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of
from tests.support.runners import needed_device
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, TARGET, polybench_program, problem
from tests.support.targets import CPU

PRAGMA = "  antune_any_order\n"


def sum_of(term: str, kind: str = "float", op: str = "+=") -> Program:
    """A program that adds up a term in x[i]."""
    return program_of(
        f"{kind} x[9], A[9][9], y[9];\nint p[9];\nvoid f(void) {{\n#pragma scop\nfor (int i = 0; i < 9; i++)\n"
        f"  for (int j = 0; j < 9; j++) x[i] {op} {term};\n#pragma endscop\n}}\n"
    )


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("A[i][j]", True),
        ("A[i][j] * y[j]", True),
        ("-A[i][j]", True),
        ("A[i][j] * (y[j] - 1)", True),
        ("A[i][j] * y[j] - A[j][i] / 2", True),
        ("-(A[i][j] * y[j] + y[i] * y[j])", True),
        ("A[i][j] - y[j]", False),
        ("A[i][j] * y[j] - y[i]", False),
    ],
)
def test_sums_of_what_is_not_rounded_keep_the_order_of_their_terms(term: str, found: bool) -> None:
    program = sum_of(term)
    assert reducible(program) == ("S0",)
    assert sums(program, ("S0",)) == ({"S0"} if found else set())


@pytest.mark.parametrize(("name", "statements"), [
    ("gemm", {"S1"}), ("2mm", {"S1", "S3"}), ("atax", set()), ("jacobi-2d", set()), ("mvt", set())])
def test_sums_of_products_share_factors_along_two_dimensions(name: str, statements: set[str]) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    assert {one.name for one in program.statements if sums_products(program, one)} == statements


@pytest.mark.parametrize(("term", "found"), [
    ("A[i][k] * A[k][j]", True), ("y[k] * A[k][j]", True), ("2 * A[i][k] * A[k][j]", True),
    ("A[i][k] + A[k][j]", False), ("A[i][j] * A[i][j]", False), ("A[i][k] * 2", False), ("y[k] * y[k]", False)])
def test_sums_of_other_terms_are_no_sums_of_products(term: str, found: bool) -> None:
    program = program_of("float x[9][9], A[9][9], y[9];\nvoid f(void) {\n#pragma scop\nfor (int i = 0; i < 9; i++)\n"
                         "  for (int j = 0; j < 9; j++)\n    for (int k = 0; k < 9; k++) x[i][j] += "
                         f"{term};\n#pragma endscop\n}}\n")
    assert sums_products(program, program.statement("S0")) is found


def test_integers_and_extrema_need_no_permission() -> None:
    assert sums(sum_of("p[j]", "int"), ("S0",)) == set()
    assert sums(sum_of("fminf(x[i], A[i][j])", op="="), ("S0",)) == set()


@pytest.mark.parametrize(
    ("name", "found"),
    few([
        ("mvt", ("S0",)),
        ("atax", ("S2",)),
        ("bicg", ("S3",)),
        ("gesummv", ("S2", "S3")),
        ("gemver", ("S3",)),
        ("syrk", ("S1",)),
        ("syr2k", ("S1",)),
        ("gemm", ()),
        ("covariance", ()),
        ("jacobi-2d", ()),
    ], (("mvt", ("S0",)), ("syrk", ("S1",)), ("gemm", ()), ("jacobi-2d", ()))),
)
def test_rows_that_are_summed_up(name: str, found: tuple[str, ...]) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    assert row_sums(program, parallel_reductions(program, False)) == found


def begun(name: str, level: LevelName, target: Target, strict: bool = False) -> list[Plan]:
    """The plans that a search begins with that sum up rows."""
    program = polybench_program(name, ODD_SIZES[name])
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level=level, strict_float=strict)
    space, starts = PARTS.make_space(program, target, options), PARTS.starts(program, target, options)
    plans = [walk.plan for walk in PARTS.make_explorer("colony", space, 0, starts).ask(len(starts))]
    return [
        plan
        for plan in plans
        if plan.scheduled.reductions == row_sums(program, parallel_reductions(program, False)) != ()
    ]


@pytest.mark.parametrize("level", few(["o1", "o2"], 1))
@pytest.mark.parametrize("name", few(["mvt", "gesummv", "syrk"], 1))
def test_searches_on_cpus_begin_with_a_plan_that_sums_up_whole_rows(name: str, level: LevelName) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    (plan,) = begun(name, level, CPU)
    assert lower(program, plan, CPU).source.count(PRAGMA) >= len(plan.scheduled.reductions)
    found = run_plan(program, plan, np.random.default_rng(0))
    assert not differences(program, found, run_original(program))


@in_turn
def test_gpus_and_those_who_want_the_order_of_the_program_do_not() -> None:
    assert not begun("syrk", "o2", TARGET) and not begun("syrk", "o2", CPU, strict=True)


def rows_plan(tile: tuple[int, int, int], block: tuple[int, int, int] = (1, 1, 1)) -> Plan:
    """syrk by rows times rows; the last dimension is summed over."""
    first = KernelPlan(("S0",), (8, 64), (1, 1))
    return Plan(Partition((Group(("S0",)), Group(("S1",))), ("S1",)),
                (first, KernelPlan(("S1",), tile, block, order=(0, 2, 1), registers=True)))


@pytest.mark.parametrize(("block", "dialect", "found"), [
    ((1, 1, 1), "opencl", True), ((1, 1, 1), "cuda", False), ((1, 4, 1), "opencl", False)])
def test_threads_that_are_alone_in_their_block_say_so(
    block: tuple[int, int, int], dialect: Dialect, found: bool
) -> None:
    program = polybench_program("syrk", ("N=41", "M=29"))
    text = lower(program, rows_plan((4, 4, 32), block), replace(TARGET, dialect=dialect)).source
    assert (PRAGMA in text) == found


def test_the_order_stays_where_the_plan_says_nothing() -> None:
    program = polybench_program("syrk", ("N=41", "M=29"))
    kernels = (KernelPlan(("S0",), (8, 64), (1, 1)), KernelPlan(("S1",), (4, 4), (1, 1), registers=True))
    assert PRAGMA not in lower(program, Plan(Partition((Group(("S0",)), Group(("S1",)))), kernels), TARGET).source


def test_what_registers_tell_apart_is_inside_of_what_is_summed_up(golden: Callable[[str, str], None]) -> None:
    program = polybench_program("syrk", ("N=41", "M=29"))
    text = lower(program, rows_plan((4, 4, 32)), TARGET).source
    golden("row-sums.cl", text)
    inner = text[text.index("if (b0 >= b1)"):]
    assert inner.index("k_point") < inner.index("#pragma unroll 4") < inner.index("i_point") < inner.index("j_point")
    assert "unroll 32" not in text, "the sum stays a loop, which compilers turn into vectors"


@pytest.mark.parametrize("tile", [(4, 4, 32), (2, 8, 8), (1, 1, 16)])
def test_they_are_right_whole_and_in_parts(tile: tuple[int, int, int]) -> None:
    """In parts, several blocks add to an element."""
    program = polybench_program("syrk", ("N=13", "M=11"))
    found = run_plan(program, rows_plan(tile), np.random.default_rng(1))
    assert not differences(program, found, run_original(program))


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize("kind", few(["float", "double"], 1))
def test_devices_compute_what_c_does(kind: str, platform: str, tmp_path: Path) -> None:
    device = needed_device(platform)
    found = problem("syrk", ("N=70", "M=61", f"DATA_TYPE_IS_{kind.upper()}"))
    plans = [rows_plan((4, 4, 64)), rows_plan((4, 4, 16)), rows_plan((2, 8, 64), (1, 2, 1))]
    check_plans(device, found, plans)
