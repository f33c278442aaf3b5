"""Loops without `#pragma scop`: which nests are found, which one is taken, and that results are those of the program.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.errors import InputError
from generator.finding import choose_nest, doubt
from generator.frontend_c.detect import find_nests, read_loops
from generator.frontend_c.marks import marks_of
from generator.frontend_c.source import Compilation
from tests.support.cli import antune_command
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import in_turn

PROGRAM = """#include <stdio.h>
double a[300][300], b[300][300], row[300];
static void prepare(void) {
  for (int i = 0; i < 300; i++) /* } for ( */
    row[i] = i % 7;            // }
}
static void heavy(int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i][j] = i + row[j];
  b[0][0] = 1;
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        b[i][j] += a[i][k] * a[k][j];
  } // "the end
}
int main(void) {
  double left = 3;
  prepare();
  while (left > 0) {
    heavy(300);
    left -= 1;
  }
  for (int i = 0; i < 300; i++)
    printf("%g ", b[i][i]);
  for (int i = 0; i < 300; i++) row[i] = 2 * row[i];
  printf("%g\\n", row[1]);
  return 0;
}
"""
UNKNOWN_LENGTH = """int next[64];
double value[64];
int main(void) {
  for (int i = 0; i < 64; i = next[i])
    value[i] = 1;
  int i = 0;
  while (i < 5) { i++; }
  return 0;
}
"""
TWO_SIZES = """void f(int n, double x[n], double y[n][n]) {
  for (int i = 0; i < n; i++) x[i] = 1;
  x[0] = sizes();
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      y[i][j] = 2 * x[i];
}
"""
ALL_ELEMENTS = """void f(int n, double *a, double *b, double *x) {
  for (int e = 0; e < n * n; e++) a[e] = e % 7;
  for (int e = 0; e < n * n; e++) b[e] = 1;
  for (int i = 0; i < n; i++) x[i] = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      b[i * n + j] += a[j * n + i] + x[i];
  for (int i = 0; i < n; i++) b[i * n] = 2;
  for (int e = 0; e < n * n; e++) b[e] *= 2;
}
"""


def test_nests_are_the_largest_sequences_that_are_accepted(tmp_path: Path) -> None:
    file = write_c(PROGRAM, tmp_path)
    found = find_nests(file, Compilation())
    assert [(n.source.function, n.source.first_line, n.source.last_line, n.depth) for n in found.nests] == [
        ("prepare", 4, 5, 1), ("heavy", 8, 17, 3), ("main", 28, 28, 1)]
    assert file.read_text() == PROGRAM
    reasons = [left.reason for left in found.left_out]
    assert len(reasons) == 2
    assert "input.c:22: `while` loop on `left > 0`" in reasons[0]
    assert "input.c:27: " in reasons[1] and "printf" in reasons[1]


def test_loops_over_all_elements_spoil_no_rows(tmp_path: Path) -> None:
    found = find_nests(write_c(ALL_ELEMENTS, tmp_path), Compilation())
    assert [(n.source.first_line, n.source.last_line) for n in found.nests] == [(2, 4), (5, 8), (9, 9)]
    problem = read_untimed(tmp_path / "input.c", Compilation(), None, 2, {"n": 12}, 0)
    assert problem.program.array("a").extents == problem.program.array("b").extents == (12, 12)
    assert not [note for note in problem.reference.warnings if "used as a matrix" in note]


def test_the_program_says_where_its_time_goes(tmp_path: Path) -> None:
    file = write_c(PROGRAM, tmp_path)
    choice = choose_nest(file, Compilation(), None, None)
    assert choice is not None and choice.nest.source.function == "heavy"
    assert choice.watched is not None and choice.watched.entries == (1, 3, 1)
    assert sum(choice.watched.nests_s) <= choice.watched.program_s


@in_turn
def test_a_nest_is_captured_as_if_pragmas_stood_around_it(tmp_path: Path) -> None:
    bare = read_untimed(write_c(PROGRAM, tmp_path), Compilation(), None, None, {}, 0)
    lines = PROGRAM.splitlines()
    marked = [*lines[:7], "#pragma scop", *lines[7:17], "#pragma endscop", *lines[17:]]
    own = read_untimed(write_c("\n".join(marked) + "\n", tmp_path, "own.c"), Compilation(), None, None, {}, 0)
    assert [s.text for s in bare.program.statements] == [s.text for s in own.program.statements]
    assert bare.program.arrays == own.program.arrays and bare.program.schedule == own.program.schedule
    assert bare.reference.outputs.keys() == own.reference.outputs.keys()
    for name, value in own.reference.outputs.items():
        np.testing.assert_array_equal(bare.reference.outputs[name], value)
    assert "taking loop nest 2, lines 8 to 17 in heavy" in bare.reference.warnings[0]
    assert "taking" not in " ".join(own.reference.warnings)


def test_the_pragma_wins(tmp_path: Path) -> None:
    lines = PROGRAM.splitlines()
    text = "\n".join([*lines[:3], "#pragma scop", *lines[3:5], "#pragma endscop", *lines[5:]]) + "\n"
    file = write_c(text, tmp_path)
    assert choose_nest(file, Compilation(), None, None) is None
    assert read_loops(file, Compilation(), None, None).function == "prepare"


def test_files_whose_names_are_not_strings_of_c_as_they_are(tmp_path: Path) -> None:
    (folder := tmp_path / 'a\n"b"').mkdir()
    file = folder / "grö\\t\n.c"
    file.write_text(PROGRAM)
    found = find_nests(file, Compilation())
    assert [nest.source.function for nest in found.nests] == ["prepare", "heavy", "main"]
    other = file.with_name('x"\n.c')
    other.write_text(UNKNOWN_LENGTH)
    with pytest.raises(InputError) as caught:
        read_loops(other, Compilation(), None, None)
    assert f"{other}:4: " in str(caught.value)


def test_what_stands_in_the_way_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_untimed(write_c(UNKNOWN_LENGTH, tmp_path), Compilation(), None, None, {}, 0)
    message = str(caught.value)
    assert "no loop that could be tuned" in message and "input.c:4: " in message
    assert "input.c:7: `while` loop on `i < 5`" in message


def test_without_a_main_the_largest_nest_is_taken(tmp_path: Path) -> None:
    choice = choose_nest(write_c(TWO_SIZES, tmp_path), Compilation(), None, None)
    assert choice is not None and (choice.nest.number, choice.nest.depth) == (2, 2)
    assert choice.why == "the largest; the file has no `main` that could be timed"


def test_a_number_or_a_function_takes_another(tmp_path: Path) -> None:
    file = write_c(PROGRAM, tmp_path)
    assert read_loops(file, Compilation(), None, 3).first_line == 28
    assert read_loops(file, Compilation(), "prepare", None).first_line == 4
    with pytest.raises(InputError, match="there is no loop nest 4"):
        read_loops(file, Compilation(), None, 4)
    with pytest.raises(InputError, match="3 loop nests can be tuned; choose one with --scop N"):
        read_loops(file, Compilation(), None, None)


def test_what_a_block_declares_is_never_inside(tmp_path: Path) -> None:
    text = ("double x[9], y[9];\nint main(void) {\n  for (int i = 0; i < 9; i++) x[i] = 1;\n  double s = x[2];\n"
            "  for (int i = 0; i < 9; i++) y[i] = s;\n  return (int)s;\n}\n")
    found = find_nests(write_c(text, tmp_path), Compilation())
    assert [nest.source.first_line for nest in found.nests] == [3, 5]


def test_loops_in_included_files_are_not_of_this_file(tmp_path: Path) -> None:
    (tmp_path / "other.h").write_text(
        "double z[9];\nstatic void g(void) {\n  for (int i = 0; i < 9; i++)\n    z[i] = 1;\n}\n"
    )
    text = (
        '#include "other.h"\nint main(void) {\n  g();\n  for (int i = 0; i < 9; i++)\n    z[i] = 2;\n  return 0;\n}\n'
    )
    found = find_nests(write_c(text, tmp_path), Compilation())
    assert [nest.source.function for nest in found.nests] == ["main"]


@pytest.mark.parametrize(("text", "inside"), [
    ("for (;;) x = 1; y = 2;", "for (;;) x = 1;"),
    ("for (;;) { if (a) { b; } else c; } d;", "for (;;) { if (a) { b; } else c; }"),
    ("for (;;) if (a) b; else if (c) d; else { e; } f;", "for (;;) if (a) b; else if (c) d; else { e; }"),
    ("for (;;) do a; while (b); c;", "for (;;) do a; while (b);"),
    ("for (;;) x = \"}\"[0]; /* ; */ y;", "for (;;) x = \"}\"[0];"),
    ("for (;;) for (;;) x = (int[]){1, 2}[0]; y;", "for (;;) for (;;) x = (int[]){1, 2}[0];")])
def test_a_statement_ends_where_it_ends(text: str, inside: str) -> None:
    marks = marks_of(f"{{\n  {text}\n}}\n", 2, 2)
    assert marks is not None
    assert f"{{\n  {text}\n}}\n"[marks.start:marks.end] == inside


def test_a_loop_behind_other_text_is_not_marked() -> None:
    assert marks_of("int f() { for (;;) x = 1; }\n", 1, 1) is None
    assert marks_of("for (;;) { x = 1;\n", 1, 1) is None


@in_turn
def test_find_and_check_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    run = antune_command(monkeypatch)
    file = write_c(PROGRAM.replace("300", "40"), tmp_path)
    assert run("explain", file, "--find") == 0
    shown = capsys.readouterr().out
    assert "2: heavy, lines 8 to 17: 3 loops in each other, 3 statements, " in shown
    assert "line 16, in loops over i, j, k: b[i][j] += a[i][k] * a[k][j];" in shown
    assert "Left out:" in shown and "input.c:27: " in shown and "`antune tune` takes " in shown
    assert run("check", file, "--scop", 2) == 0
    shown = capsys.readouterr().out
    assert "taking loop nest 2, lines 8 to 17 in heavy (as --scop says)" in shown and ": right" in shown


@in_turn
def test_a_run_without_pragmas_is_a_run_like_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    run = antune_command(monkeypatch)
    file = write_c(PROGRAM.replace("300", "40"), tmp_path)
    assert (
        run("tune", file, "--function", "heavy", "--device", "deterministic", "--evaluations", 1, "--out",
            tmp_path / "run") == 0
    )
    assert "taking loop nest 1, lines 8 to 17 in heavy" in capsys.readouterr().out
    file.unlink()
    assert run("resume", tmp_path / "run", "--evaluations", 2) == 0
    assert run("export", tmp_path / "run", "--to", "opencl", "--out", tmp_path / "export") == 0
    assert "b[i][j] += a[i][k] * a[k][j]" in "".join(f.read_text() for f in (tmp_path / "export").glob("*.[ch]"))


@in_turn
def test_it_is_told_when_the_time_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = antune_command(monkeypatch)
    busy = "  double x = 1;\n  while (x < 5e7) { x += 1 + x * 0; }\n  row[2] = x;\n"
    file = write_c(
        PROGRAM.replace("300", "12").replace("  double left = 3;\n", busy + "  double left = 3;\n"), tmp_path
    )
    assert run("explain", file, "--find") == 0
    lines = " ".join(capsys.readouterr().out.split())
    assert (
        "The program's time is elsewhere: of " in lines
        and " 100 % are outside of all loops that can be tuned. A larger problem" in lines
    )
    warnings = read_untimed(file, Compilation(), None, None, {}, 0).reference.warnings
    assert any("The program's time is elsewhere" in note for note in warnings)
    heavy = choose_nest(write_c(PROGRAM, tmp_path, "heavy.c"), Compilation(), None, None)
    assert heavy is not None and heavy.watched is not None and doubt(file, heavy) == ""


def test_a_reason_is_given_once(tmp_path: Path) -> None:
    text = ("struct matrix { int n; double *data; };\nvoid f(struct matrix *m) {\n  for (int i = 0; i < 9; i++)\n"
            "    for (int j = 0; j < 9; j++)\n      m[1].data[9 * i + j] = 0;\n}\n")
    found = find_nests(write_c(text, tmp_path), Compilation())
    assert found.nests == ()
    assert len(found.left_out) == 1 and "(`double *data = s.data;`)" in found.left_out[0].reason
