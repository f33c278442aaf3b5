"""Unroll factors of single loops, which plans name as the text does."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from generator.decisions.base import Known, Option, Question
from generator.decisions.deciding import decide, kernel_words, nearest
from generator.decisions.unrolls import UNROLLS
from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.plan import KERNEL_DECISIONS, KernelPlan, Plan, plan_from_json
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.target import LANGUAGES, Target
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, polybench_program
from tests.support.targets import CPU, HOPPER, RDNA
from tests.support.tensor_cores import float_problem

GEMM = KernelPlan(("S0", "S1"), (32, 32), (8, 16), shared=True, inner_tile=8, unroll=4)
ARRAYS = "float A[40][40], B[40][40], C[40][40], D[40][40]; int l;"
TWO_SUMS = ("for (i = 0; i < 40; i++) for (j = 0; j < 40; j++) { "
            "for (k = 0; k < 40; k++) C[i][j] += A[i][k] * B[k][j]; "
            "for (l = 0; l < 40; l++) D[i][j] += C[i][j] * A[l][j]; }")
VALUES = ("for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) { "
          "float t = x[i] - x[j]; y[i] += t * t; }")

OF_THREE = (
    '{"kernels": [{"statements": ["S0", "S2"], "tile": [8, 8], "block": [8, 8]}, '
    '{"statements": ["S1", "S3"], "tile": [16, 32, 8], "block": [2, 16, 8], "order": [1, 2, 0], "shared": true, '
    '"uncopied": ["D"], "unroll": 8, "unrolls": [["k_point", 4]]}, '
    '{"statements": ["S4"], "tile": [8, 8], "block": [8, 8]}, '
    '{"statements": ["S5"], "tile": [4, 64, 16], "block": [4, 2, 8]}], "schedule": {"nests": ['
    '{"rows": [[[0, 1, 0], [2, 1, 0]], [[1, 0, 0], [1, 0, 0]]], "statements": ["S0", "S2"]}, '
    '{"rows": [[[2, 1, 0]], [[1, 0, 0]]], "statements": ["S4"]}, '
    '{"rows": [[[0, 0, 1, 0], [1, 0, 0, 0]], [[1, 0, 0, 0], [0, 0, 1, 0]], [[0, 1, 0, 0], [0, 1, 0, 0]]], '
    '"statements": ["S1", "S3"]}, '
    '{"rows": [[[0, 0, 1, 0]], [[1, 0, 0, 0]], [[0, 1, 0, 0]]], "statements": ["S5"]}], '
    '"reductions": ["S1", "S3", "S5"]}}'
)
"""A plan of 3mm by hyperplanes."""


def pragmas(program: Program, kernel: KernelPlan, target: Target = HOPPER) -> dict[str, int]:
    """The factor of each loop that is to be unrolled."""
    text = lower(program, Plan(ScheduleChoice(), (kernel,)), target).source
    found = re.findall(r"#pragma unroll (\d+)\n *for \(int (\w+)", text)
    assert len(found) == text.count("#pragma unroll")
    return {loop: int(factor) for factor, loop in found}


@pytest.mark.parametrize(("unrolls", "expected"), [
    ((), {"k": 4}),
    ((("k_tile", 2),), {"k": 4, "k_tile": 2}),
    ((("i_point", 2), ("k", 8), ("k_tile", 4)), {"i_point": 2, "k": 8, "k_tile": 4}),
    ((("k", 1),), {})])
def test_loops_of_a_kernel_have_their_own_factors(unrolls: tuple[tuple[str, int], ...],
                                                  expected: dict[str, int]) -> None:
    assert pragmas(float_problem("gemm").program, replace(GEMM, unrolls=unrolls)) == expected


def test_so_have_inner_loops_beside_each_other() -> None:
    program = program_of(scop(TWO_SUMS, ARRAYS))
    kernel = KernelPlan(("S0", "S1"), (16, 16), (8, 16), unroll=2, unrolls=(("l", 8),))
    text = lower(program, Plan(Partition((Group(("S0", "S1")),)), (kernel,)), HOPPER).source
    assert re.findall(r"#pragma unroll (\d).*\n.*\n *([CD])\[", text) == [("2", "C"), ("8", "D")]


def test_registers_keep_their_loops_unrolled_completely() -> None:
    kernel = replace(GEMM, registers=True, points_inside=True, unrolls=(("k_tile", 2),))
    found = pragmas(float_problem("gemm").program, kernel)
    assert (found["i_point"], found["k_tile"], found["k"]) == (4, 2, 4)
    with pytest.raises(IllegalPlan, match=r"factor for i_point: .* it is unrolled completely; leave it out"):
        pragmas(float_problem("gemm").program, replace(kernel, unrolls=(("i_point", 2), ("k_tile", 2))))


PARTS = (KernelPlan(("S0",), (8, 8), (8, 8)), KernelPlan(("S1",), (32, 16, 32), (8, 4, 8), unroll=2))
"""gemm with its sums in parallel: a thread has parts of 4 x 4 sums, of 4 terms each."""
IN_PARALLEL = ScheduleChoice(reductions=("S1",))


def test_parts_of_sums_keep_their_loops_unrolled_completely() -> None:
    """So that their subscripts are constant, also without the decision about registers."""
    program = float_problem("gemm").program
    text = lower(program, Plan(IN_PARALLEL, PARTS), HOPPER).source
    assert "float C_here[4][4];" in text
    assert set(re.findall(r"#pragma unroll (\d)\n *for \(int [ij]_point = 0; [ij]_point <=? \w+;", text)) == {"4"}
    assert len(re.findall(r"for \(int [ij]_point", text)) == text.count("#pragma unroll 4") - 4
    many = replace(PARTS[1], tile=(128, 16, 128), block=(8, 4, 8))  # compilers would take long for all of them
    assert "[16][16]" in (rolled := lower(program, Plan(IN_PARALLEL, (PARTS[0], many)), HOPPER).source)
    assert not re.search(r"#pragma unroll 16\n *for \(int [ij]_point", rolled)
    wrong = replace(PARTS[1], unrolls=(("j_point", 2),))
    with pytest.raises(IllegalPlan, match=r"factor for j_point: .* it is unrolled completely; leave it out"):
        lower(program, Plan(IN_PARALLEL, (PARTS[0], wrong)), HOPPER)
    kept = lower(program, Plan(IN_PARALLEL, (PARTS[0], replace(PARTS[1], unrolls=(("k_point", 4),)))), HOPPER).source
    assert kept == re.sub(r"unroll 2(\n *for \(int k_point)", r"unroll 4\1", text) != text


def test_loops_with_barriers_are_refused_where_they_stay() -> None:
    program, on_gpu = float_problem("gemm").program, replace(RDNA, dialect="opencl")
    with pytest.raises(IllegalPlan, match=r"k_tile has barriers in it, and .* not unrolled in OpenCL"):
        pragmas(program, replace(GEMM, unrolls=(("k_tile", 2),)), CPU)
    assert pragmas(program, replace(GEMM, unrolls=(("k_tile", 1), ("k", 2))), CPU) == {"k": 2}
    assert pragmas(program, replace(GEMM, shared=False, unrolls=(("k_tile", 2),)), CPU) == {"k_tile": 2, "k": 4}
    assert pragmas(program, replace(GEMM, unrolls=(("k_tile", 2),)), on_gpu) == {"k_tile": 2, "k": 4}


def test_kernels_that_cannot_copy_keep_their_factors() -> None:
    """Barriers of a triangle would stand under its condition."""
    program = program_of(scop("for (i = 0; i < 64; i++) for (j = 0; j <= i; j++) for (k = 0; k < 64; k++) "
                              "C[i][j] += A[i][k] * B[k][j];", "float A[64][64], B[64][64], C[64][64];"))
    kernel = KernelPlan(("S0",), (16, 16), (8, 8), shared=True, inner_tile=8, unrolls=(("k", 4),))
    assert "__local" not in lower(program, Plan(ScheduleChoice(), (kernel,)), CPU).source
    assert pragmas(program, kernel, CPU) == {"k": 4}


def test_loops_that_only_copies_have_are_no_error_without_them() -> None:
    """With copies, S3 has loops of its own: over k where S1 has i. Their barriers would not be reached by all threads,
    so there are no copies, and one loop over points along i is for both statements.
    """
    program = polybench_program("3mm", ODD_SIZES["3mm"])
    plan = plan_from_json(OF_THREE)
    lower(program, plan, HOPPER)
    unknown = replace(plan.kernels[1], unrolls=(("l_point", 4),))
    with pytest.raises(IllegalPlan, match="no loop is called l_point; it has i_point, j_point, k_point"):
        lower(program, replace(plan, kernels=(plan.kernels[0], unknown, *plan.kernels[2:])), HOPPER)


def test_a_loop_with_a_factor_of_its_own_is_cut_into_vectors() -> None:
    """As it is by `unroll`."""
    program = program_of(scop("for (i = 0; i < 64; i++) for (k = 0; k < 64; k++) s[i] += A[i][k] * r[k];",
                              "float A[64][64], r[64], s[64];"))
    kernel = KernelPlan(("S0",), (32,), (32,), vector=4)

    def text(kernel: KernelPlan) -> str:
        return lower(program, Plan(ScheduleChoice(), (kernel,)), HOPPER).source

    assert "float4" not in text(kernel)
    assert "float4" in text(replace(kernel, unrolls=(("k", 4),))) == text(replace(kernel, unroll=4))


@pytest.mark.parametrize(("unrolls", "words"), [
    ((("l", 2),), r"no loop is called l; it has k_tile, i_point, j_point, k"),
    ((("c_tile", 2), ("k", 2)), "no loop is called c_tile")])
def test_unknown_loops_are_refused(unrolls: tuple[tuple[str, int], ...], words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        pragmas(float_problem("gemm").program, replace(GEMM, unrolls=unrolls))


def test_what_makes_its_loops_itself_has_none() -> None:
    plan = Plan(ScheduleChoice(), (KernelPlan(
        ("S0", "S1"), (32, 32), (2, 32), inner_tile=32, products="fp16", unrolls=(("k", 2),)),))
    with pytest.raises(IllegalPlan, match="leave out `unrolls`"):
        lower(float_problem("gemm").program, plan, HOPPER)


def test_json() -> None:
    old = Plan(ScheduleChoice(), (GEMM,))
    assert "unrolls" not in old.to_json() and plan_from_json(old.to_json()) == old
    new = replace(old, kernels=(replace(GEMM, unrolls=(("i_point", 2), ("k_tile", 2))),))
    assert plan_from_json(new.to_json()) == new and '"unroll":4,"unrolls":[["i_point",2],["k_tile",2]]' in new.to_json()
    assert "unroll factors of single loops i_point 2, k_tile 2" in kernel_words(new.kernels[0])
    for bad in ("4", '[["k", 0]]', '[["k", 2], ["i", 2]]', '[["k", 2], ["k", 4]]', '[["k"]]', '{"k": 2}'):
        with pytest.raises(InputError, match=r"plan.kernels\[0\].unrolls is .*; use a sorted list of \[loop, factor\]"):
            plan_from_json(old.to_json().replace('"unroll":4', f'"unroll":4,"unrolls":{bad}'))


def offered(program: Program, kernel: KernelPlan, target: Target) -> tuple[Option, ...]:
    """`asked` of the shape of `kernel`."""
    [shape] = [s for s in kernel_shapes(program, ScheduleChoice(), target.language)
               if s.statements == kernel.statements]
    return asked(shape, kernel, target)


def asked(shape: KernelShape, kernel: KernelPlan, target: Target = HOPPER) -> tuple[Option, ...]:
    """The options where `kernel` has decided everything before; none where nothing is asked."""
    given = {name: option for one in KERNEL_DECISIONS for name, option in one.answers(kernel).items()}
    options = dict[str, tuple[Option, ...]]()

    def answer(question: Question) -> Option:
        options[question.name] = question.options
        return given[question.name]

    decide(Known(shape, target, True), answer)
    return options.get(UNROLLS.name, ())


def test_what_is_offered() -> None:
    program = float_problem("gemm").program
    assert offered(program, GEMM, HOPPER) == offered(program, GEMM, replace(RDNA, dialect="opencl")) == (
        "as others", "k_tile 2", "k_tile 4", "i_point 2", "i_point 4", "j_point 2", "j_point 4", "k 1", "k 2")
    assert offered(program, replace(GEMM, registers=True, points_inside=True), HOPPER) == (
        "as others", "k_tile 2", "k_tile 4", "k 1", "k 2")
    assert offered(program, GEMM, CPU) == ()


def test_loops_over_points_with_variables_of_their_own_are_not_offered() -> None:
    """Parts of sums, and values that only one point needs, unless points come one after the other."""
    shape = next(one for one in kernel_shapes(float_problem("gemm").program, IN_PARALLEL) if one.reduces)
    assert asked(shape, PARTS[1]) == ()
    made = expand(program_of(scop(VALUES, "float x[64], y[64];")))
    [shape] = kernel_shapes(made, ScheduleChoice())
    kernel = KernelPlan(shape.statements, (16,), (8,), points_inside=True)
    assert asked(shape, kernel) == ("as others", "j 2", "j 4")
    assert "i_point 2" in asked(shape, replace(kernel, points_inside=False))
    assert "t_here[2]" in lower(made, Plan(ScheduleChoice(), (kernel,)), HOPPER).source


@pytest.mark.parametrize("name", few(["gemm", "2mm", "jacobi-2d", "correlation"], ["gemm", "jacobi-2d"]))
def test_all_that_is_offered_can_be_lowered(name: str) -> None:
    program, rng, count = polybench_program(name, ODD_SIZES[name]), np.random.default_rng(3), 0
    for shape in kernel_shapes(program, ScheduleChoice(), LANGUAGES["cuda"]) * 4:
        kernel = decide(Known(shape, HOPPER, True), lambda q: (
            q.options[int(rng.integers(len(q.options)))] if q.name != UNROLLS.name else q.options[-1]))
        kernels = sorted((kernel, *_others(program, shape.statements)), key=lambda k: k.statements)
        lower(program, Plan(ScheduleChoice(), tuple(kernels)), HOPPER)
        assert nearest(kernel, Known(shape, HOPPER, True)) == kernel
        count += bool(kernel.unrolls)
    assert count


@in_turn
@pytest.mark.parametrize("name", few(["gemm", "2mm", "jacobi-2d", "correlation"], ["gemm", "jacobi-2d"]))
def test_all_that_is_offered_changes_the_text(name: str) -> None:
    program, rng, count = polybench_program(name, ODD_SIZES[name]), np.random.default_rng(5), 0
    for shape in kernel_shapes(program, ScheduleChoice(), LANGUAGES["cuda"]) * 2:
        asked = list[Question]()

        def answer(question: Question, asked: list[Question] = asked) -> Option:
            asked.append(question)
            options = question.options
            return options[0 if question.name == UNROLLS.name else int(rng.integers(len(options)))]

        kernel, others = decide(Known(shape, HOPPER, True), answer), _others(program, shape.statements)
        texts = []
        for option in next((q.options for q in asked if q.name == UNROLLS.name), ()):
            loop, factor = str(option).rsplit(" ", 1)
            changed = kernel if factor == "others" else replace(kernel, unrolls=((loop, int(factor)),))
            kernels = sorted((changed, *others), key=lambda k: k.statements)
            texts.append(lower(program, Plan(ScheduleChoice(), tuple(kernels)), HOPPER).source)
        same = [k for k, text in enumerate(texts) if k and text == texts[0]]
        assert not same, (kernel, same)
        count += len(texts) > 1
    assert count


def _others(program: Program, but: tuple[str, ...]) -> list[KernelPlan]:
    return [nearest(KernelPlan(shape.statements, (16,) * len(shape.extents), (8,) * len(shape.extents)),
                    Known(shape, HOPPER, True))
            for shape in kernel_shapes(program, ScheduleChoice(), LANGUAGES["cuda"]) if shape.statements != but]
