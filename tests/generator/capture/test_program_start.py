"""How a user's program is compiled and started: arguments, input, definitions, missing libraries, files that are no C.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from antune.parsing import parse_scoped
from experiments.search.changes import notes
from experiments.search.reproducing import reproduce_command
from experiments.store import read_store
from experiments.values.environment import current_environment
from experiments.values.options import Budget, RunOptions
from experiments.values.program_json import from_json, to_json
from generator.errors import InputError
from generator.problem import Problem
from generator.reading import read_problem
from tests.support.exports import stored_run

READER = """
#include <stdio.h>
#include <stdlib.h>
static float a[100], b[100];
int main(int argc, char **argv) {
  float factor, offset;
  FILE *in = argc == 3 ? fopen(argv[2], "r") : NULL;
  if (!in) { fprintf(stderr, "usage: reader N FILE\\n"); return 1; }
  if (fscanf(in, "%f", &factor) != 1 || scanf("%f", &offset) != 1) return 2;
  int n = atoi(argv[1]);
  for (int i = 0; i < n; i++) a[i] = factor * i + offset;
#pragma scop
  for (int i = 0; i < n; i++) b[i] = a[i];
#pragma endscop
  return 0;
}
"""
FILL = """#include <stdio.h>
int main(void) {
  static float a[8];
#pragma scop
  for (int i = 0; i < 8; i++)
    a[i] = i;
#pragma endscop
  return END;
}
"""


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that needs two arguments and an input, beside its data."""
    (tmp_path / "factor.txt").write_text("2.5\n")
    (tmp_path / "offset.txt").write_text("1.5\n")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "reader.c"
    file.write_text(READER)
    return file


def problem_of(
    file: Path, args: str = "", stdin: Path | None = None, define: list[str] | None = None, cflags: str = ""
) -> Problem:
    """What `antune tune FILE` with these options reads."""
    scoped = parse_scoped(file, None, define, None, cflags, None, None, None, args=args, stdin=stdin)
    return read_problem(scoped.file, scoped.compilation, None, None, {}, 0)


def written(folder: Path, text: str, name: str = "fill.c") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def refusal(file: Path, args: str = "", cflags: str = "") -> str:
    with pytest.raises(InputError) as caught:
        problem_of(file, args, cflags=cflags)
    return str(caught.value)


def test_a_program_gets_its_arguments_and_its_input(reader: Path) -> None:
    """A relative path is that of the user's folder, although the program runs in another one."""
    problem = problem_of(reader, "'50' factor.txt", Path("offset.txt"))
    assert dict(problem.program.parameters)["n"] == 50
    assert problem.reference.outputs["b"][:3].tolist() == [1.5, 4.0, 6.5]


def test_without_them_the_message_names_the_options(reader: Path) -> None:
    assert (
        "run without arguments, it never reached the SCoP" in (message := refusal(reader))
        and "usage: reader N FILE" in message
    )
    assert "--args" in message and "--stdin" in message
    assert "run with the arguments 50 nothing.txt, it never" in refusal(reader, "50 nothing.txt")
    assert "balance the quotes" in refusal(reader, "50 'factor.txt")


def test_nothing_takes_the_place_of_a_program_that_fails_with_the_users_arguments(tmp_path: Path) -> None:
    """A function that is called by itself with random data is not what the user asked for."""
    text = FILL.replace("int main(void)", "void fill(void)").replace("return END;", "")
    assert "has no `main`" in refusal(written(tmp_path, text), "3")
    assert "the program cannot be run: run with the arguments 3" in refusal(
        written(tmp_path, f"{text}int main(void) {{ return 1; }}"), "3"
    )


def test_a_run_keeps_arguments_and_input_and_tells_when_the_input_changed(reader: Path) -> None:
    scoped = parse_scoped(
        reader, None, None, None, "", None, None, None, args="50 --in=factor.txt -v", stdin=Path("offset.txt")
    )
    options = RunOptions(str(reader), scoped.compilation, Budget(evaluations=1))
    assert from_json(to_json(options), RunOptions) == options
    folder = reader.parent
    run = stored_run(folder / "run", written(folder, FILL.replace("END", "0")))
    with read_store(run) as store:
        info = store.info()
    object.__setattr__(info, "options", options)
    command = reproduce_command(info)
    assert f"'--args=50 --in={folder}/factor.txt -v' --stdin {folder}/offset.txt" in command

    def told() -> list[str]:
        return [note for note in notes(info, current_environment(), run) if "--stdin) changed" in note]

    assert not told()
    (folder / "offset.txt").write_text("3.5\n")
    assert len(told()) == 1


def test_a_definition_that_the_file_overrides_is_warned_about(tmp_path: Path) -> None:
    file = written(
        tmp_path, "#define N 8\n#ifndef M\n#define M 1\n#endif\n" + FILL.replace("8", "N").replace("END", "M - M")
    )
    warnings = problem_of(file, define=["N=6", "M=3"]).reference.warnings
    assert [w for w in warnings if "overrides" in w] == [
        f"{file}:1: `#define N` overrides -D N=6, which has no effect; put `#ifndef N` before it and `#endif` behind it"
    ]


def test_a_line_break_in_the_name_of_a_file(tmp_path: Path) -> None:
    (folder := tmp_path / 'a\n"b').mkdir()
    assert problem_of(written(folder, FILL.replace("END", "8"), "x\ny.c")).program.statements


def test_missing_functions_come_with_a_remedy(tmp_path: Path) -> None:
    openmp = written(
        tmp_path, "#include <omp.h>\n" + FILL.replace("END", "omp_get_max_threads() + omp_get_num_procs() < 1")
    )
    said = refusal(openmp)
    assert (
        "the program cannot be run: it uses OpenMP, so add --cflags -fopenmp; " in said and said.count("-fopenmp") == 1
    )
    assert said.count("undefined reference") == 1
    assert problem_of(openmp, cflags="-fopenmp").reference.origin == "capture"
    assert "the C file that defines other with --source" in refusal(
        written(tmp_path, "int other(void);\n" + FILL.replace("END", "other()"))
    )


def test_a_missing_semicolon_is_told_in_the_compilers_words(tmp_path: Path) -> None:
    file = written(tmp_path, FILL.replace("= i;", "= i"))
    assert refusal(file).startswith(f"{file}:6: syntax error, the C compiler says: expected ';' before")


@pytest.mark.parametrize(("line", "word"), [
    ("#include <vector>", "#include <vector>"), ("template <typename T> T same(T x) { return x; }", "template <"),
    ("class Grid { int n; };", "class Grid {"), ("namespace grid { int n; }", "namespace grid {"),
    ('extern "C" void f(void);', 'extern "C"')])
def test_cplusplus_in_a_c_file_is_named(line: str, word: str, tmp_path: Path) -> None:
    file = written(tmp_path, f"/* std::vector */\n{line}\n{FILL}")
    assert refusal(file).startswith(
        f"{file}:2: `{word}` is C++, which antune does not read; move the loops into a C file"
    )


def test_a_cplusplus_file_is_named_and_c_with_its_words_is_not(tmp_path: Path) -> None:
    assert "fill.cpp is C++" in refusal(written(tmp_path, FILL, "fill.cpp"))
    guarded = '#ifdef __cplusplus\nextern "C" {\n#endif\nint class;\n#ifdef __cplusplus\n}\n#endif\n'
    good = written(tmp_path, guarded + FILL.replace("END", "class"))
    assert problem_of(good).reference.origin == "capture"
    broken = written(tmp_path, guarded + FILL.replace("= i;", "= i"))
    assert "expected ';'" in refusal(broken)
