"""Sums of products with rows and columns: which kernels have one, and what is left of them."""

from __future__ import annotations

from contextlib import suppress

import pytest

from generator.emit.cstyle import c_text
from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import kernel_shapes
from generator.polyhedral.memory.contractions import SUMS, Contraction, contraction_of
from generator.polyhedral.pipelines.sections import kernels_of
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import LANGUAGES
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import pipeline_program
from tests.support.tensor_cores import float_problem

ARRAYS = "float A[20][20], B[20][20], C[20][20], D[4][20][20], s[20]; double E[20][20]; int num[20];"
PLUTO = ScheduleChoice()
IJK = "for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) for (k = 0; k < 20; k++)"


def contractions(program: Program, schedule: Schedule = PLUTO) -> list[Contraction]:
    """Of all kernels that have one."""
    found = []
    for kernel in kernels_of(program, schedule):
        with suppress(IllegalPlan):
            found.append(contraction_of(kernel.section.program, kernel.part, schedule.reductions))
    return found


def words(found: Contraction) -> tuple[str, str, str]:
    """Both factors of its only product, and what the statement of the rest computes."""
    [product] = found.products
    return c_text(product.left), c_text(product.right), c_text(found.program.statement(found.statement).body.value)


@pytest.mark.parametrize(("name", "expected"), few([
    ("gemm", [("A[i][k]", "B[k][j]", f"C[i][j] + alpha * {SUMS}(i, j)")]),
    ("2mm", [("A[i][k]", "B[k][j]", f"tmp[i][j] + alpha * {SUMS}(i, j)"),
             ("tmp[i][k]", "C[k][j]", f"D[i][j] + {SUMS}(i, j)")]),
    ("covariance", [("data[k][i]", "data[k][j]", f"cov[i][j] + {SUMS}(i, j)")]), ("trmm", []), ("atax", []),
    ("syrk", [("A[i][k]", "A[j][k]", f"C[i][j] + alpha * {SUMS}(i, j)")]), ("symm", []), ("lu", []),
    ("correlation", [("data[k][i]", "data[k][j]", f"corr[i][j] + {SUMS}(i, j)")])], 5))
def test_programs(name: str, expected: list[tuple[str, str, str]]) -> None:
    assert [words(found) for found in contractions(float_problem(name).program)] == expected


def test_batches() -> None:
    [found] = contractions(float_problem("doitgen").program)
    assert [index.iterator for [index] in found.parallel] == ["r", "q", "p"]
    assert (found.rows, found.columns) == (1, 2)
    assert words(found)[:2] == ("A[r][q][s]", "C4[s][p]")


def test_pipelines() -> None:
    [found] = contractions(pipeline_program("matmul"))
    assert words(found)[:2] == ("a[y][r0]", "b[r0][x]")


def test_a_fourth_parallel_loop_is_one_of_columns() -> None:
    """Images and rows of pixels are counted by one dimension then; pixels are rows, channels columns."""
    [found] = contractions(pipeline_program("conv_layer"))
    assert [[index.iterator for index in behind] for behind in found.parallel] == [["n", "y"], ["x"], ["co"]]
    assert [one.extent for one in found.part.parallel] == [5 * 80, 100, 128]
    assert words(found)[:2] == ("image[n][y + r2][x + r1][r0]", "weights[r0][r2][r1][co]")


@pytest.mark.parametrize(("statement", "left", "right", "value"), [
    ("C[i][j] -= A[k][i] * B[j][k];", "A[k][i]", "B[j][k]", f"C[i][j] + -{SUMS}(i, j)"),
    ("C[i][j] -= A[i][k] * -B[k][j];", "A[i][k]", "B[k][j]", f"C[i][j] + {SUMS}(i, j)"),
    ("C[i][j] = B[k][j] * s[j] * A[i][k] + C[i][j];", "A[i][k]", "B[k][j]", f"C[i][j] + s[j] * {SUMS}(i, j)"),
    ("C[i][j] += s[k] * sqrtf(A[i][k]) * B[k][j];", "s[k] * sqrtf(A[i][k])", "B[k][j]", f"C[i][j] + {SUMS}(i, j)")])
def test_forms(statement: str, left: str, right: str, value: str) -> None:
    [found] = contractions(program_of(scop(f"{IJK} {statement}", ARRAYS)))
    assert words(found) == (left, right, value)
    assert found.program.statement("S0").iterators == ("i", "j")


@pytest.mark.parametrize(("statement", "products", "value"), [
    ("C[i][j] += 2.0f * A[i][k] * B[k][j] + B[i][k] * 2.0f * A[j][k];", ["A[i][k] x B[k][j]", "B[i][k] x A[j][k]"],
     f"C[i][j] + 2.0f * {SUMS}(i, j)"),
    ("C[i][j] -= A[i][k] * B[k][j] - B[i][k] * A[k][j];", ["A[i][k] x B[k][j]", "-B[i][k] x A[k][j]"],
     f"C[i][j] + -{SUMS}(i, j)"),
    ("C[i][j] += s[i] * A[i][k] * B[k][j] - s[j] * B[i][k] * A[k][j];",
     ["A[i][k] * s[i] x B[k][j]", "-B[i][k] x A[k][j] * s[j]"], f"C[i][j] + {SUMS}(i, j)")])
def test_sums_of_several_products(statement: str, products: list[str], value: str) -> None:
    [found] = contractions(program_of(scop(f"{IJK} {statement}", ARRAYS)))
    assert [f"{c_text(one.left)} x {c_text(one.right)}" for one in found.products] == products
    assert c_text(found.program.statement(found.statement).body.value) == value


def test_syr2k_is_two_products_of_a_triangle() -> None:
    [found] = contractions(float_problem("syr2k").program)
    assert [(c_text(one.left), c_text(one.right)) for one in found.products] == [
        ("B[i][k]", "A[j][k]"), ("A[i][k]", "B[j][k]")]
    assert c_text(found.program.statement("S1").body.value) == f"C[i][j] + alpha * {SUMS}(i, j)"


@pytest.mark.parametrize(("text", "reason"), [
    (f"{IJK} C[i][j] += C[i][k] * A[k][j];", "adds up numbers whose order matters|no two parallel dimensions"),
    (f"{IJK} E[i][j] += A[i][k] * A[k][j];", "computes with double and float: tensor cores take float"),
    (f"{IJK} C[i][j] += num[i] * A[i][k] * B[k][j];", "has a factor of type int"),
    (f"{IJK} C[i][j] += A[i][k] + B[k][j];", "adds up numbers whose order matters"),
    (f"{IJK} C[i][j] += A[i][k] * D[0][i][j];", "has no factor that only rows"),
    (f"{IJK} C[i][j] += A[i][k] * B[(i + j + k) / 3][j];", "has no factor that only rows"),
    (f"{IJK} C[i][j] += A[i][k] * B[k][j] + D[0][i][j] * A[i][k] * B[k][j];", "has no factor that only rows"),
    (f"{IJK} C[i][j] += A[i][num[k]] * B[k][j];", "reads elements of A that data decide"),
    (f"{IJK} if (s[j] > 0) C[i][j] += A[i][k] * B[k][j];", "adds nothing to its target in all its instances"),
    ("for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) for (k = 0; k <= i; k++) C[i][j] += A[i][k] * B[k][j];",
     "has sums that differ in their terms"),
    ("for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) for (k = 0; k < 9; k++) C[i][j] = A[i][k] * B[k][j];",
     "it has no two parallel dimensions|adds nothing")])
def test_what_is_no_sum_of_products_is_refused_with_the_reason(text: str, reason: str) -> None:
    program = program_of(scop(text, ARRAYS))
    with pytest.raises(IllegalPlan, match=reason):
        for kernel in kernels_of(program, ScheduleChoice()):
            contraction_of(program, kernel.part)


def test_reductions_by_several_threads_have_no_tile() -> None:
    program = float_problem("gemm").program
    schedule = ScheduleChoice(reductions=("S1",))
    with pytest.raises(IllegalPlan, match="threads share the updates of S1"):
        for kernel in kernels_of(program, schedule):
            contraction_of(program, kernel.part, schedule.reductions)


def test_a_factor_must_exist_for_all_rows() -> None:
    """Copies would leave the array: rows of D[1] exist where r is 1 only."""
    text = ("for (int r = 0; r < 4; r++) for (i = 0; i <= r; i++) for (j = 0; j < 20; j++) for (k = 0; k < 9; k++) "
            "D[r][i][j] += A[i][k] * B[k][j];")
    program = program_of(scop(text, ARRAYS))
    with pytest.raises(IllegalPlan, match="does not run for all combinations of its iterators but j"):
        for kernel in kernels_of(program, ScheduleChoice()):
            contraction_of(program, kernel.part)


def test_elements_of_a_triangle_are_those_of_the_rest() -> None:
    [found] = contractions(float_problem("syrk").program)
    assert str(found.rest.domain) == "{ S0[i, j] : i <= 52 and 0 <= j <= i; S1[v0, v2] : v0 <= 52 and 0 <= v2 <= v0 }"


STEP = ("for (t = 0; t < 5; t++) {{ for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) {{ C[i][j] = 0; "
        "for (k = 0; k < 20; k++) C[i][j] += A[i][k] * B[k][j]; }} "
        "for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) {0} = C[19 - i][19 - j] * 0.1f + C[i][j]; }}")


def test_errors_that_add_up_from_launch_to_launch_have_no_tolerance() -> None:
    """Five steps of a host loop: what becomes of C is the next step's factor A, at once or through D."""
    [found] = contractions(program_of(scop(STEP.format("D[0][i][j]"), f"{ARRAYS} int t;")))
    assert [index.iterator for index in found.outer] == ["t"]
    later = "for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) A[i][j] += D[0][i][j]; }"
    for step in (STEP.format("A[i][j]"), STEP.format("D[0][i][j]").removesuffix("}") + later):
        program = program_of(scop(step, f"{ARRAYS} int t;"))
        [kernel, *_] = kernels_of(program, PLUTO)
        with pytest.raises(IllegalPlan, match="reads A, which depends on its own sums of earlier launches"):
            contraction_of(program, kernel.part)


def test_what_changes_between_terms_is_no_sum() -> None:
    """D is halved after each term, so that the statement cannot run after all of them."""
    program = program_of(scop(f"{IJK} {{ C[i][j] += D[0][i][j] * A[i][k] * B[k][j]; D[0][i][j] *= 0.5f; }}", ARRAYS))
    [kernel] = kernels_of(program, PLUTO)
    with pytest.raises(IllegalPlan, match=r"S0 cannot have all its terms at once: .* backwards"):
        contraction_of(program, kernel.part)
    [shape] = kernel_shapes(program, PLUTO, LANGUAGES["cuda"])
    assert shape.contraction is None
