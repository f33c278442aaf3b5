"""Matrices in one dimension: `a[i*n + j]` has the model of `a[i][j]` where every access keeps within its row, else
none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.program import Program
from tests.support.cli import Antune, antune_command
from tests.support.programs import access_pairs, program_of
from tests.support.reading import read_untimed
from tests.support.runners import needed_device
from tests.support.slow import in_turn

MATMUL = """
#define N 40
{declarations}
int main(void) {{
  for (int i = 0; i < N * N; i++) {{ ((float *)a)[i] = i % 7; ((float *)b)[i] = i % 5; }}
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {{
      {c} = 0;
      for (int k = 0; k < N; k++)
        {c} += {a} * {b};
    }}
#pragma endscop
  return (int)((float *)c)[N];
}}
"""
DECLARED = MATMUL.format(declarations="static float a[N][N], b[N][N], c[N][N];", a="a[i][k]", b="b[k][j]", c="c[i][j]")
WAYS = {
    "subscripts": ("a[i * N + k]", "b[k * N + j]", "c[i * N + j]"),
    "pointers": ("*(a + i * N + k)", "(b + k * N)[j]", "(&c[i * N])[j]"),
    "casts": ("a[(long)i * N + k]", "b[j + N * (unsigned)k]", "*(i * N + j + c)"),
}


def read(tmp_path: Path, text: str) -> Program:
    (tmp_path / "program.c").write_text(text)
    return read_untimed(tmp_path / "program.c", Compilation(), None, None, {}, 0).program


@in_turn
@pytest.mark.parametrize("way", WAYS)
def test_however_it_is_written_it_is_the_matrix_that_it_means(way: str, tmp_path: Path) -> None:
    a, b, c = WAYS[way]
    flat = read(tmp_path, MATMUL.format(declarations="static float a[N * N], b[N * N], c[N * N];", a=a, b=b, c=c))
    whole = read(tmp_path, DECLARED)
    assert {x.name: x.extents for x in flat.arrays} == {x.name: x.extents for x in whole.arrays}
    assert {x.name: x.declared for x in flat.arrays} == dict.fromkeys("abc", (1600,))
    for one, other in zip(flat.statements, whole.statements, strict=True):
        assert [(x.relation, x.kind) for x in one.accesses] == [(x.relation, x.kind) for x in other.accesses]
    assert flat.poison == whole.poison
    device = needed_device("PoCL")
    assert default_plan(flat, device.target) == default_plan(whole, device.target)


def flat_text(loops: Sequence[str], size: int, *subscripts: str) -> str:
    sums = " + ".join(f"A[{one}]" for one in subscripts[1:]) or "1"
    return (
        f"static float A[{size}]; void f(void) {{\n#pragma scop\n{' '.join(loops)} A[{subscripts[0]}] = "
        f"{sums};\n#pragma endscop\n}}"
    )


@pytest.mark.parametrize(
    ("loops", "size", "subscripts", "shape"),
    [
        (("for (int i = 0; i < 6; i++)", "for (int j = 0; j < 5; j++)"), 30, ("i * 5 + j",), (6, 5)),
        (("for (int i = 0; i < 6; i++)", "for (int j = 0; j <= 5; j++)"), 36, ("i * 5 + j",), None),  # the next row
        (
            ("for (int i = 1; i < 5; i++)", "for (int j = 1; j < 4; j++)"),
            29,
            ("i * 5 + j", "(i - 1) * 5 + j + 1", "i * 5 + 5 + j - 1"),
            (6, 5),
        ),
        (("for (int i = 0; i < 6; i++)",), 36, ("i * 7",), None),  # a diagonal alone has no rows
        (
            ("for (int i = 0; i < 6; i++)", "for (int j = 0; j < 6; j++)"),
            36,
            ("i * 6 + j", "i * 7", "j * 6 + i"),
            (6, 6),
        ),
        (("for (int i = 0; i < 6; i++)", "for (int j = 0; j < 6; j++)"), 60, ("i * 6 + j", "i * 4 + j"), None),
        (
            ("for (int i = 0; i < 3; i++)", "for (int j = 0; j < 4; j++)", "for (int k = 0; k < 5; k++)"),
            60,
            ("i * 20 + j * 5 + k",),
            (3, 4, 5),
        ),
        (
            ("for (int y = 0; y < 4; y++)", "for (int x = 0; x < 5; x++)"),
            60,
            ("(y * 5 + x) * 3", "(y * 5 + x) * 3 + 2"),
            (4, 15),
        ),
        (("for (int i = 0; i < 9; i++)",), 18, ("2 * i", "2 * i + 1"), None),
        (("for (int i = 0; i < 4; i++)", "for (int j = 0; j < 5; j++)"), 20, ("19 - i * 5 - j",), (4, 5)),
        (("for (int i = 0; i < 4; i++)", "for (int j = 0; j < 5; j++)"), 20, ("i * 5 + j", "(i * j) % 20"), None),
    ],
)
def test_rows_are_found_exactly_where_they_are(loops: Sequence[str], size: int, subscripts: Sequence[str],
                                               shape: tuple[int, ...] | None) -> None:
    program = program_of(flat_text(loops, size, *subscripts))
    assert program.array("A").extents == (shape or (size,))


def test_a_subscript_beyond_the_array_is_still_refused() -> None:
    with pytest.raises(InputError, match="goes from 0 to 29 but the array has 25 elements"):
        program_of(flat_text(("for (int i = 0; i < 6; i++)", "for (int j = 0; j < 5; j++)"), 25, "i * 5 + j"))


SUBSCRIPT = st.tuples(
    st.integers(-2, 2), st.integers(-2, 2), st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 60)
)


@in_turn
@settings(max_examples=60, derandomize=True, database=None)
@given(
    st.integers(2, 9), st.lists(SUBSCRIPT, min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 6), st.booleans()
)
def test_every_element_is_the_one_that_c_means(
    row: int, subscripts: list[tuple[int, int, int, int, int]], rows: int, columns: int, triangle: bool
) -> None:
    """Whatever the shape that is found: flattened again, every access is what the subscript says."""
    formulas: list[tuple[str, Callable[[int, int], int]]] = []
    for a, b, c, d, e in subscripts:
        formulas.append(
            (
                f"({a * row + c}) * i + ({b * row + d}) * j + {e + 120}",
                lambda i, j, f=a * row + c, g=b * row + d, h=e + 120: f * i + g * j + h,  # type: ignore[misc]  # defaults bind the numbers
            )
        )
    size = 120 + 61 + 5 * (2 * row + 1) + 6 * (2 * row + 1) + 1
    bound = "i + 1" if triangle else str(columns)
    loops = (f"for (int i = 0; i < {rows}; i++)", f"for (int j = 0; j < {bound}; j++)")
    program = program_of(flat_text(loops, size, *(text for text, _ in formulas)))
    shape = program.array("A").extents
    assert math.prod(shape) >= size and math.prod(shape[1:]) * (shape[0] - 1) < size
    reads = {
        (instance[1], int(np.ravel_multi_index(element[1], shape)))
        for instance, element in access_pairs(program, "read")
    }
    writes = {
        (instance[1], int(np.ravel_multi_index(element[1], shape)))
        for instance, element in access_pairs(program, "write")
    }
    points = {point for point, _ in writes}
    assert writes == {(point, formulas[0][1](*point)) for point in points}
    assert reads == {(point, formula(*point)) for point in points for _, formula in formulas[1:]}


INCOMPLETE = """
#include <stdlib.h>
static void smooth(int n, const float *in, float *out) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      out[i * n + j] = in[(i - 1) * n + j] + in[(i + 1) * n + j];
#pragma endscop
}
int main(void) {
  float *in = malloc(sizeof(float) * 900), *out = malloc(sizeof(float) * 900);
  for (int i = 0; i < 900; i++) in[i] = i % 11, out[i] = 1;
  smooth(30, in, out);
  return (int)out[31];
}
"""


@in_turn
def test_exports_take_the_flat_array_also_where_its_last_row_is_not_complete(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    needed_device("PoCL")
    monkeypatch.chdir(tmp_path)
    program = read(tmp_path, INCOMPLETE)
    array = program.array("in")
    assert (array.extents, array.declared, array.own_bytes) == ((30, 30), (899,), 4 * 899)
    antune: Antune = antune_command(monkeypatch)
    assert antune("tune", "program.c", "--device", "pocl", "--evaluations", 1, "--finalists", 0, "--out", "run") == 0
    assert antune("export", "run", "--to", "python", "--out", "python") == 0
    monkeypatch.syspath_prepend(str(tmp_path / "python"))
    from importlib import import_module

    module = import_module("smooth")
    given, result = np.arange(899, dtype=np.float32), np.zeros(869, np.float32)
    assert module.selfcheck()
    assert module.smooth(given, result, inplace=True) is result
    assert result[31] == given[1] + given[61]
    assert antune("export", "run", "--to", "opencl", "--out", "c") == 0
    assert "const float in[899]" in (tmp_path / "c" / "smooth.h").read_text()


def test_a_matrix_that_must_stay_flat_is_told(tmp_path: Path) -> None:
    text = MATMUL.format(
        declarations="static float a[N * N], b[N * N], c[N * N];", a="a[i * N + k]", b="b[k * N + j]", c="c[i * N + j]"
    ).replace("#pragma scop\n", "#pragma scop\n  for (int i = 0; i < N * N; i++) c[i] = 1;\n")
    (tmp_path / "program.c").write_text(text)
    warnings = read_untimed(tmp_path / "program.c", Compilation(), None, None, {}, 0).reference.warnings
    assert len(warnings) == 1
    assert "`c` is used as a matrix with rows of 40, but `c[i] = 1;` in line 7 does not keep within them" in warnings[0]
    assert "declare it as `c[...][40]`" in warnings[0]


@pytest.mark.parametrize(("body", "message"), [
    ("const float *row = A + i * 5; row = A; A[i] = row[0];", "`row` is assigned to in the SCoP"),
    ("float *row = A + k; k = 3; A[i] = row[0];", "`k` is assigned to in the SCoP"),
    ("float *row = A + idx[i]; idx[i] = 0; row[0] = 1;", "depends on data, which may change"),
    ("int *p = idx + idx[i]; p[0] = 7; p[1] = 8;", "depends on data, which may change"),
    ("float *row = A + k; for (k = 0; k < 3; k++) row[0] += k;", "`k` is assigned to in the SCoP"),
])
def test_a_pointer_that_moves_is_refused(body: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_of(
            f"static float A[30]; static int idx[30]; void f(int k) {{\n#pragma scop\nfor (int i = 0; i < 5; i++) {{ "
            f"{body} }}\n#pragma endscop\n}}"
        )


def test_a_pointer_may_be_declared_before_all_loops_and_in_several() -> None:
    text = ("static float A[40]; void f(void) {\n#pragma scop\nconst float *p = A + 5;\n"
            "for (int i = 0; i < 4; i++) { float *row = A + i * 5 + 20; for (int j = 0; j < 5; j++) row[j] = p[j]; }\n"
            "for (int i = 0; i < 4; i++) { float *row = A + 35 - i * 5; row[0] = 1; }\n#pragma endscop\n}")
    program = program_of(text)
    written = {(i, int(np.ravel_multi_index(element, program.array("A").extents)))
               for (name, i), (_, element) in access_pairs(program, "write") if name == "S1"}
    assert written == {((i,), 35 - i * 5) for i in range(4)}
