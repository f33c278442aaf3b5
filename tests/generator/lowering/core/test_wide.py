"""Vector accesses: where they come in, and that what kernels compute stays the same, checked in Python."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.errors import IllegalPlan
from generator.expr import Binary, Int, Load, Name
from generator.linear import residue
from generator.lowering.analysis.facts import kernel_facts
from generator.nest import Assign, For, walk
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from tests.support.plans import TARGET, check_plan, lowered_kernels, planned
from tests.support.programs import program_of, scop
from tests.support.slow import in_turn

ROWS = "for (i = 0; i < 8; i++) for (j = 0; j < 16; j++) "
RUNS = KernelPlan((), (2, 8), (1, 2), run=4, vector=4)
SUMS = KernelPlan((), (4,), (2,), unroll=4, vector=4)
DECLARED = "float A[8][16], B[8][16], D[8][18], s[8], t[16]; double W[8][16]; unsigned char P[8][16]; int idx[16];"


def accesses(text: str, kernel: KernelPlan, declared: str = DECLARED) -> list[tuple[int, str, str]]:
    """The vector accesses of a program by a plan (elements, target, source), which computes what the original does."""
    program, plan = planned(text, declared, kernel)
    check_plan(program, plan, seeds=2)
    [lowered] = lowered_kernels(program, plan)
    kernel_facts(program, plan, TARGET)
    return [(node.wide.lanes, node.target.array, node.value.array)
            for node in walk(lowered.body) if isinstance(node, Assign) and node.wide and isinstance(node.value, Load)]


@pytest.mark.parametrize(("text", "found"), [
    ("A[i][j] = B[i][j];", [(4, "B_wide", "B"), (4, "A", "A_wide")]),
    ("A[i][j] *= 2;", [(4, "A_wide", "A"), (4, "A", "A_wide")]),
    ("A[i][j] = B[i][j] + B[i][j] * t[j];", [(4, "B_wide", "B"), (4, "t_wide", "t"), (4, "A", "A_wide")]),
    ("A[i][j] = W[i][j];", [(2, "W_wide", "W"), (2, "W_wide", "W"), (4, "A", "A_wide")]),
    ("A[i][j] = P[i][j];", [(4, "P_wide", "P"), (4, "A", "A_wide")]),
    ("A[i][j] = D[i][j];", [(2, "D_wide", "D"), (4, "A", "A_wide")]),  # rows of 18
    ("A[i][j] = D[i][j + 2];", [(2, "D_wide", "D"), (4, "A", "A_wide")]),
    ("A[i][j] = D[i][j + 1];", [(4, "A", "A_wide")]),
    ("A[i][j] = t[15 - j];", [(4, "A", "A_wide")]),
    ("A[i][j] = B[i][idx[j] & 15];", [(4, "idx_wide", "idx"), (4, "A", "A_wide")]),
    ("A[i][j] = B[i][j] > 0 ? W[i][j] : s[i];", [(4, "B_wide", "B"), (4, "A", "A_wide")]),  # W is not always loaded
    ("if (B[i][j] > 0) A[i][j] = t[j];", []),
    ("if (i > 2) A[i][j] = t[j];", [(4, "t_wide", "t"), (4, "A", "A_wide")]),
    ("A[i][j] = i > 2 ? t[j] : s[i];", [(4, "t_wide", "t"), (4, "A", "A_wide")]),
])
def test_runs(text: str, found: list[tuple[int, str, str]]) -> None:
    assert sorted(set(accesses(ROWS + text, RUNS))) == sorted(set(found))


def test_neighbours_of_runs_stay_scalar() -> None:
    """Of a stencil, only what begins where the run does."""
    text = "for (i = 0; i < 8; i++) for (j = 4; j < 12; j++) A[i][j] = B[i][j - 1] + B[i][j] + B[i][j + 1];"
    assert accesses(text, RUNS) == [(4, "B_wide", "B"), (4, "A", "A_wide")]


@pytest.mark.parametrize(("first", "end"), [(1, 16), (1, 15), (3, 13), (5, 16), (1, 8), (2, 4), (5, 7)])
def test_grids_of_rows_that_begin_elsewhere_begin_at_a_vector(first: int, end: int) -> None:
    """Counted from the first element, no vector was aligned."""
    text = (f"for (i = 1; i < 7; i++) for (j = {first}; j < {end}; j++)"
            " A[i][j] = B[i][j - 1] + B[i][j] + B[i - 1][j] + B[i + 1][j];")
    found = sorted(set(accesses(text, RUNS)))
    if any(place >= first and place + 4 <= end for place in (0, 4, 8, 12)):
        assert found == [(4, "A", "A_wide"), (4, "B_wide", "B"), (4, "B_wide_", "B"), (4, "B_wide__", "B")]


@pytest.mark.parametrize("kernel", [
    replace(RUNS, shared=True), replace(RUNS, registers=True), replace(RUNS, vector=2), replace(RUNS, run=2, vector=2),
    replace(RUNS, tile=(2, 32)), replace(RUNS, order=(1, 0), tile=(8, 2), block=(2, 1), run=2, vector=2)])
def test_such_rows_are_right_with_other_decisions(kernel: KernelPlan) -> None:
    accesses("for (i = 1; i < 7; i++) for (j = 1; j < 14; j++) A[i][j] = B[i][j] + B[i][j + 1];", kernel)
    accesses("for (i = 1; i < 7; i++) for (j = -3; j < 7; j++) A[i][j + 3] = B[i][j + 3] + B[i - 1][j + 4];", kernel)


def test_a_run_that_may_end_early_is_there_in_both_forms() -> None:
    text = "for (i = 0; i < 8; i++) for (j = 0; j < 15; j++) A[i][j] = B[i][j];"
    assert (4, "A", "A_wide") in accesses(text, RUNS)


@in_turn
@pytest.mark.parametrize(("text", "found"), [
    ("for (i = 0; i < 8; i++) for (j = 0; j < 16; j++) s[i] += A[i][j] * t[j];",
     [(4, "A_wide", "A"), (4, "t_wide", "t")]),
    ("for (i = 0; i < 8; i++) for (j = 4; j < 12; j++) s[i] += A[i][j];", [(4, "A_wide", "A")]),
    ("for (i = 0; i < 8; i++) for (j = 2; j < 14; j++) s[i] += A[i][j + 2];", [(4, "A_wide", "A")]),
    ("for (i = 0; i < 8; i++) for (j = 0; j < 14; j++) s[i] += A[i][j];", [(2, "A_wide", "A")]),  # 7 pairs
    ("for (i = 0; i < 8; i++) for (j = 0; j < 16; j++) s[i] += A[j % 8][i];", []),
    ("for (i = 0; i < 8; i++) for (j = 1; j < 13; j++) A[i][j] = A[i][j - 1];", []),  # each round reads what one wrote
    ("for (i = 0; i < 8; i++) for (j = 0; j < 12; j++) A[i][j] = A[i][j + 1];", []),
    ("for (i = 0; i < 8; i++) for (j = i; j < 16; j++) s[i] += A[i][j];", []),
])
def test_unrolled_loops(text: str, found: list[tuple[int, str, str]]) -> None:
    assert sorted(set(accesses(text, SUMS))) == found


def test_steps_of_an_outer_product() -> None:
    """Four steps of the sum, in which each row of points has a vector of its own."""
    text = "for (i = 0; i < 8; i++) for (j = 0; j < 16; j++) for (k = 0; k < 8; k++) A[i][j] += B[i][k] * C[k][j];"
    kernel = replace(RUNS, tile=(4, 8), block=(2, 2), shared=True, inner_tile=4, unroll=4, points_inside=True,
                     registers=True)
    found = accesses(text, kernel, DECLARED + " float C[8][16];")
    assert {(4, "B_shared_wide", "B_shared"), (4, "C_shared_wide", "C_shared"), (4, "B_shared", "B"),
            (4, "C_shared", "C"), (4, "A_wide", "A"), (4, "A", "A_wide_")} == set(found)


@in_turn
@pytest.mark.parametrize(("extent", "lanes"), [(16, 4), (18, 2), (17, 1)])
def test_copies(extent: int, lanes: int) -> None:
    """Rows of the array decide how many neighbours a copy takes at once."""
    text = ("for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) "
            f"for (k = 0; k < {extent}; k++) A[i][j] += B[i][k] * C[k][j];")
    declared = f"float A[8][8], B[8][{extent}], C[{extent}][8];"
    kernel = KernelPlan((), (4, 4), (2, 2), shared=True, inner_tile=8, vector=max(2, lanes))
    copied = [one for one in accesses(text, kernel, declared) if one[1:] == ("B_shared", "B")]
    assert copied == ([(lanes, "B_shared", "B")] if lanes > 1 else [])


def test_padding_keeps_rows_aligned_or_copies_are_scalar() -> None:
    text = "for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) for (k = 0; k < 8; k++) s[i] += A[i][k] * A[j][k];"
    for padding, found in ((0, True), (1, False), (4, True)):
        kernel = KernelPlan((), (4,), (2,), shared=True, vector=4, padding=padding)
        assert any(one[1].startswith("A_shared") for one in accesses(text, kernel)) == found


def test_what_is_left_of_a_sum() -> None:
    k = Name("k")
    four = Binary("*", Int(4), Name("b"))
    assert residue(Binary("+", four, Int(6)), 4, {}) == 2
    assert residue(Binary("+", four, k), 4, {}) is None
    assert residue(Binary("+", four, k), 4, {"k": (1, 4)}) == residue(Binary("+", four, k), 4, {"k": (1, 8)}) == 1
    assert residue(Binary("+", four, k), 4, {"k": (0, 2)}) is None


def test_a_sum_in_whole_tiles_has_a_constant_number_of_steps() -> None:
    """Compilers unroll a loop completely only if they know how often it runs: its end is that of the tile, not the
    minimum with the end of the sum.
    """
    text = "for (i = 0; i < 8; i++) for (k = 0; k < 18; k++) s[i] += A[i][k];"
    program = program_of(scop(text, "float A[8][20], s[8];"))
    kernel = KernelPlan(("S0",), (4,), (2,), inner_tile=8, unroll=8, vector=4)
    [lowered] = lowered_kernels(program, Plan(ScheduleChoice(), (kernel,)))
    steps = [node for node in walk(lowered.body) if isinstance(node, For) and node.step == 4]
    ends = [node.condition.right for node in steps if isinstance(node.condition, Binary)]
    assert steps
    assert [end for end in ends if isinstance(end, Binary) and end.op == "min"] == []


def test_other_widths_are_refused() -> None:
    with pytest.raises(IllegalPlan, match="3 elements per access of S0; use 1, 2 or 4"):
        accesses(ROWS + "A[i][j] = 1;", replace(RUNS, vector=3))
